"""Remote files and the life of processes: forks, exits, Ctrl-C."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("obstore")


def run(code, **more):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        **more,
    )


FORKS = """
import os, penstock as ps
if {before}:
    ps.io.read_file({url!r})
child = os.fork()
if child == 0:
    try:
        print(ps.io.read_file({url!r}), flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(ps.io.read_file({url!r}))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_reads_unless_its_parent_has(server):
    server.files = {"a": b"one"}
    done = run(FORKS.format(before=False, url=server.urls()[0]))
    assert done.stdout.splitlines() == ["b'one'", "b'one'"]
    done = run(FORKS.format(before=True, url=server.urls()[0]))
    said, read = done.stdout.splitlines()
    assert "forked after its parent had read URLs" in said
    assert read == "b'one'"


EXITS = """
import penstock as ps
it = iter(ps.FixedLengthRecordDataset([{url!r}] * 9, 1000, num_parallel_reads=3).prefetch(9))
next(it)
print("read", flush=True)
"""


@pytest.mark.parametrize("latency", [0.0, 0.2])
def test_a_process_ends_while_requests_are_under_way(server, latency):
    server.files = {"a": bytes(30 << 20)}
    server.latency = latency
    done = run(EXITS.format(url=server.urls()[0]))
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n", "")


@pytest.mark.parametrize(
    "reads",
    [
        "list(ps.TextLineDataset(url))",
        "ps.io.read_file(url)",
        "ps.NumpyDataset(url, 'x')",
        "ps.Dataset.load(url)",
        "ps.index(url, '.', format='text')",
        "ps.ParquetDataset([url] * 3)",
        "ps.ArrowDataset(url)",
    ],
)
def test_ctrl_c_ends_a_wait(server, tmp_path, reads):
    if "Parquet" in reads or "Arrow" in reads:
        pytest.importorskip("pyarrow")
    server.files = {"a": b"one"}
    server.latency = 60
    code = f"import penstock as ps\nurl = {server.urls()[0]!r}\n{reads}"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as child:
        server.wait_for_a_request()
        child.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in child.stderr.read()
    assert server.open  # it has not answered yet


READS_ROW_GROUPS = """
import sys, penstock as ps
ds = ps.ParquetDataset({url!r})
print("made", flush=True)
sys.stdin.readline()
list(ds)
"""


STALLED = """
import threading
import penstock as ps
ps.remote.configure(storage_options={{"timeout": 600}})
threading.Thread(target=ps.io.read_file, args=[{url!r}], daemon=True).start()
input()
"""


def test_a_stalled_reply_without_a_length_does_not_delay_the_end_of_the_process(server):
    server.files = {"a": b"one\n"}
    server.faults = {"chunked_stall": 1.0}
    code = STALLED.format(url=server.urls()[0])
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stderr=pipe) as child:
        while len(server.asked) < 3:  # the last request is not made by obstore
            server.wait_for_a_request()
            assert child.poll() is None
        err = child.communicate(b"\n", timeout=60)[1]
        assert child.returncode == 0, err.decode()


def test_ctrl_c_ends_the_wait_for_a_row_group(server):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    content = pa.BufferOutputStream()
    parquet.write_table(pa.table({"x": list(range(100_000))}), content, compression="none")
    server.files = {"a": content.getvalue().to_pybytes()}
    code = READS_ROW_GROUPS.format(url=server.urls()[0])
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as child:
        assert child.stdout.readline() == "made\n"
        server.asked.clear()
        server.latency = 60
        child.stdin.write("\n")
        child.stdin.flush()
        server.wait_for_a_request()
        child.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in child.stderr.read()
    assert server.open


MISSING = """
import sys
sys.modules[{library!r}] = None
import penstock as ps
try:
    ps.io.read_file({url!r})
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("library", "url", "command"),
    [
        ("obstore", "s3://bucket/a", "pip install 'penstock[remote]'"),
        ("fsspec", "memory://a", "pip install 'penstock[fsspec]'"),
    ],
)
def test_a_library_that_is_missing_is_named(library, url, command):
    done = run(MISSING.format(library=library, url=url))
    assert command in done.stdout
    assert url in done.stdout


MISSING_TO_WRITE = """
import sys
sys.modules["obstore"] = None
import penstock as ps

ds = ps.Dataset.range(3).map(lambda n: print("called") or b"a")
url = "s3://bucket/a"
for write in (ds.write_tfrecords, ds.write_tar, ds.write_jsonl, ds.save, ps.io.TFRecordWriter):
    try:
        write(url)
    except ImportError as error:
        print("pip install" in str(error))
"""


def test_a_library_that_is_missing_is_named_before_elements_are_made():
    assert run(MISSING_TO_WRITE).stdout.split() == ["True"] * 5
