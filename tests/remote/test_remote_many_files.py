"""Many small remote files are requested in advance, with the same order and states."""

import random

import pytest

import penstock as ps
from contract import steps

pytest.importorskip("obstore")

COUNT = 40
FILES = {f"{i}": b"".join(b"%d %d\n" % (i, j) for j in range(5)) for i in range(COUNT)}
LINES = [line for content in FILES.values() for line in content.splitlines()]

FORMS = {
    "sequence": lambda urls: ps.TextLineDataset(urls),
    "parallel": lambda urls: ps.TextLineDataset(urls, num_parallel_reads=2),
    "cycle": lambda urls: ps.Dataset.from_tensor_slices(urls).interleave(
        ps.native(ps.TextLineDataset), cycle_length=3
    ),
    "shuffled": lambda urls: (
        ps.Dataset.from_tensor_slices(urls)
        .shuffle(COUNT, seed=3, reshuffle_each_iteration=False)
        .flat_map(ps.native(ps.TextLineDataset))
    ),
}


@pytest.fixture
def local_urls(tmp_path):
    """Return the same files as local paths."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return [str(tmp_path / name) for name in FILES]


@pytest.mark.parametrize("form", FORMS)
def test_small_files_are_requested_ahead_in_the_same_order(server, local_urls, form):
    server.files = FILES
    server.latency = 0.05
    list(FORMS["parallel"](server.urls()))  # raises the request limit
    server.wait_until_quiet()
    server.most_open = 0
    assert list(FORMS[form](server.urls())) == list(FORMS[form](local_urls))
    assert server.most_open >= 8


@pytest.mark.parametrize("form", FORMS)
def test_a_state_is_continued_at_each_element(server, form):
    server.files = FILES
    ds = FORMS[form](server.urls())
    expected = list(ds)
    assert sorted(expected) == sorted(LINES)
    it = iter(ds)
    for at in range(0, len(expected), 17):
        state = it.get_state()
        again = iter(ds)
        again.set_state(state)
        assert list(again) == expected[at:]
        for _ in range(17):
            next(it, None)


@pytest.mark.parametrize("form", FORMS)
def test_files_are_requested_ahead_after_a_state_was_restored(server, form):
    server.files = FILES
    server.latency = 0.05
    ds = FORMS[form](server.urls())
    expected = list(ds)
    it = iter(ds)
    for _ in range(12):
        next(it)
    state = it.get_state()
    it.close()
    again = iter(ds)
    again.set_state(state)
    server.wait_until_quiet()
    server.most_open = 0
    assert list(again) == expected[12:]
    assert server.most_open >= 8


@pytest.mark.parametrize("form", ["sequence", "parallel"])
def test_a_missing_file_is_an_error_at_its_position(server, form):
    server.files = dict(FILES)
    urls = server.urls()
    del server.files["7"]
    found = steps(iter(FORMS[form](urls)))
    errors = [at for at, step in enumerate(found) if not isinstance(step, bytes)]
    assert len(errors) == 1
    assert "/7" in found[errors[0]].text
    if form == "sequence":
        assert found[:35] == LINES[:35]
        assert found[36:] == LINES[40:]


def test_functions_of_the_user_are_not_called_ahead(server):
    server.files = FILES
    calls = []

    def name(url):
        calls.append(url)
        return url

    it = iter(ps.TextLineDataset(ps.Dataset.from_tensor_slices(server.urls()).map(name)))
    next(it)
    assert len(calls) == 1


def test_large_files_are_requested_ahead_within_a_limit(server):
    content = random.Random(5).randbytes(5 << 20)
    server.files = {f"{i}": content for i in range(30)}
    it = iter(ps.FixedLengthRecordDataset(server.urls(), 1 << 20))
    assert next(it) == content[: 1 << 20]
    server.wait_until_quiet()
    asked = {asked.path for asked in server.asked}
    assert 2 <= len(asked) <= 10  # 32 MiB, in requests of 4 MiB, and the first file
    it.close()
    options = ps.Options()
    options.memory_limit = 8 << 20
    server.asked.clear()
    it = iter(ps.FixedLengthRecordDataset(server.urls(), 1 << 20).with_options(options))
    next(it)
    server.wait_until_quiet()
    assert len({asked.path for asked in server.asked}) <= 3


def test_copies_are_kept_of_files_that_are_requested_ahead(server, tmp_path):
    ps.remote.configure(cache_dir=tmp_path / "copies")
    server.files = FILES
    ds = ps.TextLineDataset(server.urls())
    assert list(ds) == LINES
    server.wait_until_quiet()
    asked = len(server.asked)
    assert list(ds) == LINES
    assert len(server.asked) == asked
