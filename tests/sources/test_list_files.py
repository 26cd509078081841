"""list_files: names that match patterns."""

import glob

import pytest

import penstock as ps
from compare import assert_same


@pytest.fixture
def folder(tmp_path):
    for name in ("b.txt", "a.txt", "c.csv", "sub/d.txt", "sub/deep/e.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(folder, *ends):
    return [str(folder / end) for end in ends]


def test_names_come_sorted_within_each_pattern(folder):
    ds = ps.Dataset.list_files([str(folder / "*.txt"), str(folder / "c.*")], shuffle=False)
    assert_same(list(ds), names(folder, "a.txt", "b.txt", "c.csv"))
    assert len(ds) == 3
    assert ds.element_spec == ps.TensorSpec((), str)


@pytest.mark.parametrize(
    ("pattern", "ends"),
    [
        ("?.txt", ["a.txt", "b.txt"]),
        ("[ac].*", ["a.txt", "c.csv"]),
        ("**/*.txt", ["a.txt", "b.txt", "sub/d.txt", "sub/deep/e.txt"]),
        ("sub/d.txt", ["sub/d.txt"]),
    ],
)
def test_patterns_are_those_of_the_shell(folder, pattern, ends):
    came = list(ps.Dataset.list_files(str(folder / pattern), shuffle=False))
    assert sorted(came) == names(folder, *ends)


def test_paths_can_be_given(folder):
    assert_same(list(ps.Dataset.list_files(folder / "a.*", shuffle=False)), names(folder, "a.txt"))
    assert_same(
        list(ps.Dataset.list_files([folder / "a.*"], shuffle=False)), names(folder, "a.txt")
    )


@pytest.mark.parametrize("patterns", ["none*", ["a.*", "none*"]])
def test_a_pattern_that_matches_nothing_is_an_error_at_the_call(folder, patterns):
    patterns = str(folder / patterns) if isinstance(patterns, str) else names(folder, *patterns)
    with pytest.raises(FileNotFoundError, match=r"list_files: .*none"):
        ps.Dataset.list_files(patterns)


def test_no_pattern_at_all_is_an_error():
    with pytest.raises(ValueError, match="list_files: at least one pattern"):
        ps.Dataset.list_files([])


def test_names_are_shuffled_by_default_and_anew_in_each_epoch(tmp_path):
    for i in range(30):
        (tmp_path / f"{i:02}").touch()
    ds = ps.Dataset.list_files(str(tmp_path / "*"), seed=1)
    first, second = list(ds), list(ds)
    assert first != sorted(first)
    assert first != second
    assert sorted(first) == sorted(second)
    again = ps.Dataset.list_files(str(tmp_path / "*"), seed=1)
    assert [list(again), list(again)] == [first, second]
    other = list(ps.Dataset.list_files(str(tmp_path / "*"), seed=2))
    assert other != first
    assert list(ps.Dataset.list_files(str(tmp_path / "*"), shuffle=True)) != sorted(first)


PATTERNS = [
    "**",
    "**/",
    "**/*",
    "**/*.txt",
    "**/deep/*",
    "**/**/*.txt",
    "sub/**",
    "sub/**/e.txt",
    "*/**/*.txt",
    "s*/**/deep/**/*",
    "./**/*.txt",
    "**.txt",
    "**/.x/*",
    ".x/**",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_stars_match_the_same_files_as_in_glob(folder, monkeypatch, pattern):
    (folder / ".x" / "y").mkdir(parents=True)
    (folder / ".x" / "y" / "z.txt").touch()
    (folder / "sub" / ".hidden.txt").touch()
    (folder / "odd[1]").mkdir()
    (folder / "odd[1]" / "f.txt").touch()
    monkeypatch.chdir(folder)
    for each in (pattern, f"{folder}/{pattern}"):
        wanted = sorted(set(glob.glob(each, recursive=True)) - {""})  # noqa: PTH207
        assert list(ps.io.matching_files(each)) == wanted


def test_cyclic_links_are_followed_once(folder):
    wanted = names(folder, "a.txt", "b.txt", "sub/d.txt", "sub/deep/e.txt")
    (folder / "sub" / "up").symlink_to(folder, target_is_directory=True)
    (folder / "sub" / "deep" / "here").symlink_to(folder / "sub" / "deep")
    (folder / "also").symlink_to(folder / "sub", target_is_directory=True)
    assert list(ps.Dataset.list_files(str(folder / "**" / "*.txt"), shuffle=False)) == wanted


def test_a_folder_outside_is_found_through_its_link(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "in").mkdir()
    (other / "in" / "z.txt").touch()
    (folder / "sub" / "link").symlink_to(other, target_is_directory=True)
    found = list(ps.Dataset.list_files(str(folder / "**" / "z.txt"), shuffle=False))
    assert found == names(folder, "sub/link/in/z.txt")


def test_directories_are_skipped_on_request(tmp_path):
    for name in ("a.txt", "more/inner.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def listed(pattern, **options):
        return list(ps.Dataset.list_files(tmp_path / pattern, shuffle=False, **options))

    here, folder, inner = (str(tmp_path / name) for name in ("a.txt", "more", "more/inner.txt"))
    assert listed("*") == [here, folder]
    assert listed("*", include_directories=False) == [here]
    assert listed("**/*", include_directories=False) == [here, inner]
    with pytest.raises(FileNotFoundError, match="list_files: no file matches"):
        listed("mor*", include_directories=False)
