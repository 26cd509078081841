"""Object stores: S3 through a moto server, and fsspec file systems."""

import uuid

import numpy as np
import pytest

import penstock as ps

pytest.importorskip("obstore")
fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def memory():
    """Return the URL of a folder in fsspec's memory file system."""
    url = f"memory://{uuid.uuid4().hex[:8]}"
    yield url
    if fsspec.filesystem("memory").exists(url):
        fsspec.filesystem("memory").rm(url, recursive=True)


@pytest.fixture(params=["s3", "memory"])
def folder(request):
    """Return the URL of a folder, and a function that writes a file to it."""
    if request.param == "s3":
        url, made = request.getfixturevalue("bucket")
        return url, lambda name, content: made.put_object(Key=name, Body=content)
    url = request.getfixturevalue("memory")
    system = fsspec.filesystem("memory")
    return url, lambda name, content: system.pipe_file(f"{url}/{name}", content)


def test_sources_read_stores(folder):
    url, put = folder
    put("lines.txt", b"one\ntwo\n")
    put("empty", b"")
    put("many", bytes(5 << 20))
    assert list(ps.TextLineDataset(f"{url}/lines.txt")) == [b"one", b"two"]
    assert ps.io.read_file(f"{url}/empty") == b""
    assert ps.io.read_file(f"{url}/many") == bytes(5 << 20)
    assert list(ps.Dataset.from_tensors(f"{url}/lines.txt").map(ps.io.read_file)) == [b"one\ntwo\n"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.txt", ["a.txt", "b.txt"]),
        ("a.txt", ["a.txt"]),
        ("?.txt", ["a.txt", "b.txt"]),
        ("[!a].txt", ["b.txt"]),
        ("*/*.txt", ["deep/c.txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "deep/c.txt", "deep/er/d.txt"]),
        ("deep/*.txt", ["deep/c.txt"]),
        ("d*/**/d.txt", ["deep/er/d.txt"]),
        ("*.none", []),
        ("none.txt", []),
        (".h*", [".hidden.txt"]),
        ("[.]*", []),
        (".x/*", [".x/y.txt"]),
        ("**/.h*", [".hidden.txt"]),
    ],
)
def test_patterns_find_what_they_find_in_folders(folder, pattern, found, tmp_path):
    url, put = folder
    hidden = (".hidden.txt", ".x/y.txt", "deep/.x/y.txt")
    for name in ("a.txt", "b.txt", "c.csv", "deep/c.txt", "deep/er/d.txt", *hidden):
        put(name, b"x\n")
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for where in (url, tmp_path):
        names = ps.io.matching_files(f"{where}/{pattern}")
        assert [name.removeprefix(f"{where}/") for name in names] == found
    if found:
        names = ps.Dataset.list_files(f"{url}/{pattern}", shuffle=False)
        assert len(list(ps.TextLineDataset(names))) == len(found)
    else:
        with pytest.raises(FileNotFoundError, match="no file matches"):
            ps.Dataset.list_files(f"{url}/{pattern}")


def test_a_bucket_that_is_not_there(endpoint):
    ps.remote.configure(
        storage_options={"key": "a", "secret": "b", "endpoint_url": endpoint, "max_attempts": 2}
    )
    with pytest.raises(FileNotFoundError, match="s3://no-such-bucket/a: cannot read"):
        ps.io.read_file("s3://no-such-bucket/a")


def test_a_scheme_that_is_not_known():
    with pytest.raises(ValueError, match="nosuch"):
        ps.io.read_file("nosuch://bucket/a")


def test_the_longest_prefix_counts():
    from penstock.remote.settings import settings_of

    ps.remote.configure("s3://a/", storage_options={"anon": True, "timeout": 3})
    ps.remote.configure("s3://a/b/", storage_options={"timeout": 4.5})
    assert settings_of("s3://a/c").options == {"anon": True}
    assert settings_of("s3://a/c").limits.timeout == 3
    assert settings_of("s3://a/b/c").limits.timeout == 4.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"storage_options": {"timeout": 0}},
        {"storage_options": {"max_attempts": 1.5}},
        {"storage_options": {"hedge": 1}},
        {"cache_bytes": 5},
        {"cache_dir": "a", "cache_bytes": 0},
    ],
)
def test_limits_must_be_positive(wrong):
    with pytest.raises(ValueError, match="configure: "):
        ps.remote.configure(**wrong)


def test_numbers_of_a_table_in_a_store(folder):
    url, put = folder
    put("table.csv", b"x,y\n1,2.5\n3,4.5\n")
    batch = next(
        iter(ps.experimental.make_csv_dataset(f"{url}/*.csv", 2, num_epochs=1, shuffle=False))
    )
    np.testing.assert_array_equal(batch["x"], [1, 3])


KEYS = ["a/1.txt", "a/sub//2 +%.txt", "/lead.txt", "b//3.txt", "b/4.txt", "zero", "c/\x01\t"]


@pytest.fixture
def odd_bucket(bucket):
    """Return a bucket with empty key parts, an empty object, and folder markers."""
    url, made = bucket
    for key in KEYS:
        made.put_object(Key=key, Body=b"" if key == "zero" else key.encode())
    for key in ("a/", "a/sub/", "empty/"):
        made.put_object(Key=key, Body=b"")
    return url


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ["zero"]),
        ("a/*", ["a/1.txt"]),
        ("a/**/*.txt", ["a/1.txt", "a/sub//2 +%.txt"]),
        ("*/*.txt", ["/lead.txt", "a/1.txt", "b/4.txt"]),
        ("b//*.txt", ["b//3.txt"]),
        ("/*.txt", ["/lead.txt"]),
        ("empty/*", []),
    ],
)
def test_keys_with_empty_parts_and_folder_markers_are_listed(odd_bucket, pattern, expected):
    assert sorted(ps.io.matching_files(f"{odd_bucket}/{pattern}")) == sorted(
        f"{odd_bucket}/{key}" for key in expected
    )


@pytest.mark.parametrize("key", KEYS)
def test_keys_with_empty_parts_are_read_and_written(odd_bucket, key):
    url = f"{odd_bucket}/{key}"
    content = b"" if key == "zero" else key.encode()
    assert ps.io.read_file(url) == content
    assert list(ps.TextLineDataset(url)) == [content][: len(content)]
    with ps.io.TFRecordWriter(url) as writer:
        writer.write(b"one")
    assert list(ps.TFRecordDataset(url)) == [b"one"]


@pytest.mark.slow
def test_many_pages_of_keys_with_empty_parts_are_listed(bucket):
    url, made = bucket
    for i in range(1010):
        made.put_object(Key=f"many//{i}", Body=b"x")
    assert len(ps.io.matching_files(f"{url}/many//*")) == 1010
