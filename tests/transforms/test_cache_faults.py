"""cache(filename) with a damaged file, a full disk, a killed process, or several processes."""

import contextlib
import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same


@pytest.fixture
def name(tmp_path):
    return tmp_path / "cache"


def files(name):
    return sorted(path.name for path in name.parent.iterdir() if path.name.startswith(name.name))


# --- damage ---


def make_damaged(name):
    return ps.Dataset.range(40).map(lambda x: (np.full(3, x), str(x))).cache(name)


def passes_as_if_it_were_not_there(name, count=40):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        came = list(make_damaged(name))
    assert_same(came, [(np.full(3, x), str(x)) for x in range(count)])
    return [str(w.message) for w in caught]


def test_a_file_truncated_anywhere_is_made_anew(name):
    list(make_damaged(name))
    whole = name.read_bytes()
    for length in [*range(0, 200, 7), *range(200, len(whole), 61), len(whole) - 1]:
        name.write_bytes(whole[:length])
        told = passes_as_if_it_were_not_there(name)
        assert len(told) == 1, (length, told)
        assert "made again" in told[0]
        assert passes_as_if_it_were_not_there(name) == []


@pytest.mark.slow
@settings(max_examples=150)
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed_or_does_not_matter(at, bit):
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder, "cache")
        list(make_damaged(name))
        data = bytearray(name.read_bytes())
        data[int(at * len(data))] ^= 1 << bit
        name.write_bytes(bytes(data))
        told = passes_as_if_it_were_not_there(name)
        assert len(told) <= 1
        assert passes_as_if_it_were_not_there(name) == []


def test_damage_in_the_middle_costs_no_element(name):
    rows = np.arange(5000 * 256).reshape(5000, 256)
    ds = ps.Dataset.from_tensor_slices(rows).cache(name)
    list(ds)
    data = bytearray(name.read_bytes())
    data[len(data) // 2] ^= 1
    name.write_bytes(bytes(data))
    with pytest.warns(RuntimeWarning, match=r"checksum.*computed again") as told:
        came = np.stack(list(ds))
    assert (came == rows).all()
    assert len(told) == 1
    assert (np.concatenate(list(ds.batch(64))) == rows).all()


def test_a_file_that_shrinks_while_it_is_read_costs_no_element(name):
    rows = np.arange(5000 * 256).reshape(5000, 256)
    ds = ps.Dataset.from_tensor_slices(rows).cache(name)
    list(ds)
    it = iter(ds)
    came = [next(it) for _ in range(10)]
    os.truncate(name, 100_000)
    with pytest.warns(RuntimeWarning, match="shorter"):
        came += list(it)
    assert (np.stack(came) == rows).all()


# --- the disk ---


def run_python(script, *arguments, **options):
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.slow
def test_a_full_disk_costs_the_cache_and_not_the_pass(name):
    # A file size limit: writes fail as on a full disk.
    script = """
    import resource, sys, warnings
    import numpy as np, penstock as ps
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
    ds = ps.Dataset.range(5000).map(lambda x: np.full(1024, x % 256, np.uint8)).cache(sys.argv[1])
    for _ in range(2):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert [int(x[0]) for x in ds] == [x % 256 for x in range(5000)]
        assert len(told) == 1 and "cannot write" in str(told[0].message), told
    """
    run = run_python(script, name)
    assert run.returncode == 0, run.stderr
    assert files(name) == []


@pytest.mark.slow
def test_saving_to_a_full_disk_is_an_error_that_leaves_nothing(tmp_path):
    script = """
    import resource, sys, penstock as ps
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        ps.Dataset.range(50_000).save(sys.argv[1])
    except OSError as error:
        print(error.errno)
    """
    run = run_python(script, tmp_path / "saved")
    assert run.stdout.strip() == str(errno.EFBIG), run.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_permission_is_an_error(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        list(ps.Dataset.range(3).cache(tmp_path / "cache"))


# --- other processes ---

WRITER = """
import sys, numpy as np, penstock as ps
ds = ps.Dataset.range(3000).map(lambda x: np.full(1024, x % 256, np.uint8)).cache(sys.argv[1])
for i, x in enumerate(ds):
    assert x[0] == i % 256
    if i == 2000:
        print("there", flush=True)
        sys.stdin.readline()
"""


def start_writer(name):
    command = [sys.executable, "-c", WRITER, str(name)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "there\n"
    return child


@pytest.mark.slow
def test_a_killed_writer_leaves_nothing_that_matters(name):
    child = start_writer(name)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    left = files(name)
    assert len(left) == 1
    assert left[0].startswith("cache.tmp-")
    list(ps.Dataset.range(3).cache(name))
    assert files(name) == ["cache"]


@pytest.mark.slow
def test_a_running_writer_is_not_disturbed(name):
    child = start_writer(name)
    list(ps.Dataset.range(3).cache(name))
    assert len(files(name)) == 2
    child.communicate("go on\n")
    assert child.returncode == 0
    assert files(name) == ["cache"]


@pytest.mark.slow
def test_two_processes_write_the_same_name(name):
    first, second = start_writer(name), start_writer(name)
    assert len(files(name)) == 2
    for child in (first, second):
        child.communicate("go on\n")
        assert child.returncode == 0
    assert files(name) == ["cache"]
    before = name.stat().st_mtime_ns
    third = start_writer(name)  # reads
    third.communicate("go on\n")
    assert third.returncode == 0
    assert name.stat().st_mtime_ns == before


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_a_fork_child_neither_removes_nor_breaks_what_the_parent_writes(name):
    ds = ps.Dataset.range(5000).cache(name)
    it = iter(ds)
    came = [next(it) for _ in range(10)]
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            del it
            code = 0 if len(list(ds)) == 5000 else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    came += list(it)
    assert_same(came, list(range(5000)))
    assert files(name) == ["cache"]
    assert_same(list(ds), list(range(5000)))
