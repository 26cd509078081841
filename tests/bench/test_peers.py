"""The benchmark against other loaders: small runs of its workloads, and its page."""

import copy
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace as Namespace

import numpy as np
import pytest
from bench.peers import child, environments, offers, report, results, rounds, targets, workloads
from bench.peers.environments import PEERS
from bench.peers.loaders.limit import waiting
from bench.peers.results import Cell, Measured
from bench.peers.workload import Undone
from bench.peers.workloads import checkpoint, csv, elements, latency, padded, tfrecord
from bench.peers.workloads import install as installing

import penstock as ps

ROOT = Path(__file__).resolve().parents[2]
NEEDED = dict.fromkeys(("jpeg", "jpeg_records"), ("PIL", "matplotlib"))  # by the data writers
PLAIN = {  # by plain Python
    "jpeg": ("cv2", "simplejpeg"),
    "jpeg_records": ("cv2", "simplejpeg", "google_crc32c"),
    "tfrecord": ("google_crc32c",),
    "stream": ("google_crc32c",),
}


def lacking(packages):
    return [name for name in packages if importlib.util.find_spec(name) is None]


@pytest.fixture
def place(tmp_path):
    environ = dict(os.environ, PENSTOCK_PEERS_TINY="1", XDG_CACHE_HOME=str(tmp_path / "cache"))
    return rounds.Place(lambda peer: Path(sys.executable), lambda peer: "", tmp_path, environ, 30)


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Return a function that makes the small task of a case, with its data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(name, case):
        workload = workloads.load(name)
        task = workload.task(case, tmp_path, tmp_path, tiny=True)
        workload.prepare(task)
        return workload, task

    return make


def is_tested(name, case, peer):
    if name not in offers.configurations(peer) or case.startswith("final"):
        return False
    # The other limits need a compiler, a CRC package or several seconds.
    loops = offers.module(peer, name) in ("limit.memory", "limit.functions")
    return peer != "limit" or (loops and name not in ("gil", "imports") and case != "file")


CELLS = [
    (name, case, peer)
    for name in workloads.NAMES
    for case in workloads.load(name).cases
    for peer in ("penstock", "plain", "limit")
    if is_tested(name, case, peer)
]
try:
    ps.Dataset.range(1).cache("name")
except ValueError:  # cache files do not exist yet
    CELLS.remove(("cache", "file", "penstock"))


@pytest.mark.parametrize(("name", "case", "peer"), CELLS)
def test_a_workload_does_what_it_says(tasks, name, case, peer):
    lacks = lacking(NEEDED.get(name, ()) + (PLAIN.get(name, ()) if peer == "plain" else ()))
    if lacks:
        pytest.skip(f"needs {', '.join(lacks)}")
    workload, task = tasks(name, case)
    loader = importlib.import_module(f"bench.peers.loaders.{offers.module(peer, name)}")
    try:
        epoch = getattr(loader, name)(task)
    except NotImplementedError as missing:
        pytest.skip(str(missing))
    if isinstance(epoch, float):  # checked by the code that timed it
        assert epoch > 0
        return
    workload.check((child.as_numpy(element) for element in epoch()), task)
    if workload.fresh:
        epoch = getattr(loader, name)(task)
    assert workload.take(epoch(), task) == task.n


@pytest.mark.slow
def test_processes_are_run_in_turn_and_their_numbers_kept(place):
    said = []
    found = rounds.measure("generator", ["images"], ["penstock", "plain"], 2, place, said.append)
    assert [line.split(": ")[1].split()[0] for line in said] == ["penstock", "plain"] * 2
    for peer in ("penstock", "plain"):
        cell = found.cases["images"][peer]
        assert not cell.failures
        assert len(cell.seconds) == 2
        assert all(1e-7 < seconds < 1 for seconds in cell.seconds)
        assert all(10 < megabytes < 4000 for megabytes in cell.megabytes)
    assert list(place.data.glob("run-*")) == []


@pytest.mark.slow
def test_a_peer_that_crashes_is_a_result(place, tmp_path):
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\necho something broke >&2\nkill -SEGV $$\n")
    crashing.chmod(0o755)
    python = {"plain": crashing}
    place = place._replace(python=lambda peer: python.get(peer, Path(sys.executable)))
    found = rounds.measure("overhead", ["map"], ["penstock", "plain"], 1, place, lambda line: None)
    assert found.cases["map"]["plain"].failed == "failed: killed by SIGSEGV; something broke"
    assert found.cases["map"]["penstock"].seconds


def test_a_peer_that_hangs_is_a_result_and_is_not_tried_again(place, tmp_path):
    tried = tmp_path / "tried"
    hanging = tmp_path / "python"
    hanging.write_text(f"#!/bin/sh\necho once >> {tried}\nsleep 60 & sleep 60\n")
    hanging.chmod(0o755)
    place = place._replace(python=lambda peer: hanging, limit=0.2)
    found = results.Measured(
        "overhead", "", {}, {}, {"plain": ""}, {"map": {"plain": results.Cell()}}
    )
    for _ in range(2):
        rounds._one(found, "plain", ["map"], place)
    assert found.cases["map"]["plain"].failed == "failed: took more than 0 s"
    assert tried.read_text() == "once\n"


@pytest.mark.parametrize(
    ("name", "case", "wrong"),
    [
        ("overhead", "range", lambda n: [np.int64(x) for x in range(n - 1)]),
        ("overhead", "map", lambda n: [np.arange(n)]),
        ("shuffle", "integers", lambda n: np.arange(n).reshape(4, -1)),
        ("shuffle", "integers", lambda n: np.zeros((4, n // 4), np.int64)),
        ("cache", "memory", lambda n: np.zeros((4, n // 4, 1024), np.uint8)),
        ("generator", "images", lambda n: np.zeros((n // 16, 16, 224, 224, 3), np.uint8)),
        ("gil", "holds the GIL", lambda n: np.zeros(n)),
        ("jpeg", "uint8", lambda n: np.zeros((n // 8, 8, 224, 224, 3), np.uint8)),
        ("parse", "batched", lambda n: [{"x": np.zeros((n, 8)), "label": np.zeros(n, int)}]),
        ("jpeg_records", "float32", lambda n: np.zeros((n // 8, 8, 224, 224, 3), np.float32)),
        ("tfrecord", "300 B", lambda n: [[bytes(300)] * 16] * (n // 16)),
        ("elements", "strings", lambda n: [dict.fromkeys(elements.FIELDS, ["a"] * 256)] * 2),
        ("elements", "nested", lambda n: [elements.columns(elements.made("nested")[:200])]),
        ("text", "words", lambda n: np.zeros((n // 256, 256, 24), np.int64)),
        ("csv", "columns", lambda n: [dict.fromkeys(csv.NAMES, np.arange(n))]),
        ("slices", "scalars", lambda n: np.arange(n).reshape(-1, 1024)),
        ("slices", "embeddings", lambda n: np.ones((n // 256, 256, 256), np.float32)),
        ("stream", "1 KB records", lambda n: [[record(i) for i in range(n)]]),
        ("stream", "1 KB records", lambda n: unshuffled(n)),
        ("padded", "padded", lambda n: [padded.padded(padded.rows(Namespace(n=n)))]),
        ("padded", "bucketed", lambda n: in_order(n)),
        ("interleave", "uneven", lambda n: [0] * n),
        ("start", "next epoch", lambda n: np.zeros((4, 64, 28, 28), np.float32)),
    ],
)
def test_doing_less_is_noticed(tmp_path, name, case, wrong):
    workload = workloads.load(name)
    task = workload.task(case, tmp_path, tmp_path, tiny=True)
    with pytest.raises(Undone):
        workload.check(iter(wrong(task.n)), task)


def record(number):
    return number.to_bytes(8, "little") + bytes(1015) + bytes([number % 251])


def unshuffled(n):
    return [[record(i) for i in range(start, start + 256)] for start in range(0, n, 256)]


def in_order(n):
    rows = padded.rows(Namespace(n=n))
    return [padded.padded(rows[start : start + 32]) for start in range(0, n, 32)]


def test_sleeps_are_measured_as_the_limit_of_a_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds, sleep=time.sleep: sleep(seconds / 10))
    found = child.measure(waiting, "latency", ["naive"], tmp_path, tmp_path, tiny=False)
    slept = sum(times * seconds for times, seconds in latency.WORKLOAD.cases["naive"]["path"])
    assert slept / 10 < found["naive"]["seconds"] < slept


def test_a_restored_iterator_is_checked(tmp_path):
    workload = workloads.load("checkpoint")
    task = workload.task("save", tmp_path, tmp_path, tiny=True)
    start = lambda: iter(range(1000))  # noqa: E731
    assert checkpoint.measured(task, start, copy.copy, copy.copy) > 0
    with pytest.raises(Undone, match="behind a restore"):
        checkpoint.measured(task, start, copy.copy, lambda state: start())


def test_critical_paths_of_readers_are_those_of_their_sleeps(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.append(clock.pop() + 2 * seconds))
    workload = workloads.load("interleave")
    known = {
        case: waiting.interleave(workload.task(case, tmp_path, tmp_path)) for case in workload.cases
    }
    each = 2 * (0.020 + 10 * 0.004)  # all sleeps end late
    assert known["even"] == pytest.approx(3 * each)  # 48 readers, 16 concurrently
    assert known["uneven"] == pytest.approx((12 * 4 + 36) * each / 16)


def test_a_target_is_met_or_not():
    def measured(**seconds):
        cells = {peer: Cell(seconds=[value], megabytes=[100.0]) for peer, value in seconds.items()}
        cells["penstock"].megabytes = [120.0]
        return Measured("parse", "", {}, {}, {}, {"batched": cells})

    quick = measured(penstock=1.0, tfdata=5.5, grain=2.0, limit=0.5)
    assert targets.table([quick]).splitlines()[2].split("|")[2:6] == [
        " tf.data ",
        " 5 x      ",
        " 5.5 x    ",
        " yes ",
    ]
    assert "**no**" in targets.table([measured(penstock=1.0, tfdata=4.9)])
    assert "not measured" in targets.table([measured(penstock=1.0)])
    assert "1.20" in targets.memory([quick])
    assert targets.memory([measured(penstock=1.0)]) == ""


def test_targets_are_of_cases_that_there_are():
    for target in targets.TARGETS:
        assert set(target.cases) <= set(workloads.load(target.workload).cases)
        assert target.against in (*PEERS, targets.BEST)


def test_an_installation_is_counted_with_what_it_requires(tmp_path, monkeypatch):
    def install(name, size, *requires):
        folder = tmp_path / f"{name.replace(chr(45), chr(95))}-1.dist-info"
        folder.mkdir()
        lines = [f"Requires-Dist: {line}\n" for line in requires]
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
        (folder / "METADATA").write_text(head + "".join(lines))
        (folder / "RECORD").write_text(f"{name}.py,,{size}\n")
        (tmp_path / f"{name}.py").touch()  # newer Pythons skip files that do not exist

    install(
        "top", 1_000_000, "numpy>=1.2", "below_it ; python_version > '3'", "never; extra == 'x'"
    )
    install("below-it", 2_000_000, "top", "absent")
    install("never", 4_000_000)
    monkeypatch.syspath_prepend(tmp_path)
    assert installing.measured("top") == pytest.approx(3)
    with pytest.raises(NotImplementedError, match="absent is not installed"):
        installing.measured("absent")


def test_crc_of_the_records_is_that_of_the_format(tmp_path):
    # CRC-32C's check value, the CRC of "123456789" with the polynomial of RFC 3720.
    digits = np.frombuffer(b"123456789", np.uint8).reshape(1, 9)
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert tfrecord._masked_crc(digits).tolist() == [masked]
    tfrecord.write(tmp_path / "records", 3, 20)
    assert (tmp_path / "records").stat().st_size == 3 * 36


def test_every_loader_says_its_configuration():
    files = {file.stem for file in offers.LOADERS.glob("[!_]*")}
    assert files == set(environments.PEERS)
    for peer in environments.PEERS:
        assert set(offers.configurations(peer)) & set(workloads.NAMES)


MACHINE = {"processor": "a processor", "cpus": 2, "memory": "24 GiB", "system": "Linux"}


def made_up(name, **speeds):
    """Return equal results for all cases of a workload, in seconds per unit; text is a failure."""
    cells = {}
    for peer, seconds in speeds.items():
        failed = isinstance(seconds, str)
        cells[peer] = {
            "seconds": [] if failed else [seconds, 2 * seconds, 4 * seconds],
            "megabytes": [] if failed else [100.0],
            "failures": [seconds] if failed else [],
        }
    cases = {
        case: {peer: results.Cell(**cell) for peer, cell in cells.items()}
        for case in workloads.load(name).cases
    }
    texts = {peer: f"as {peer} does" for peer in speeds}
    versions = {peer: {"numpy": "2.4.6"} for peer in speeds}
    return results.Measured(name, "2026-01-02", MACHINE, versions, texts, cases)


RESULTS = [
    made_up("shuffle", limit=1e-8, penstock=2e-8, tfdata=1e-6, grain="killed by SIGSEGV; oops"),
    made_up("overhead", limit=1e-8, plain=2e-8, penstock=4e-8),
    made_up("latency", limit=0.2, penstock=0.25, tfdata=0.3),
    made_up("slices", limit=1e-8, penstock=2e-8, tfdata=1e-6, torch=1e-7, plain=3e-8),
    made_up("install", penstock=3.0, tfdata=1400.0),
]


def test_results_are_kept_by_workload(tmp_path):
    file = tmp_path / "results.json"
    results.save(file, RESULTS[:2])
    results.save(file, [dataclasses.replace(RESULTS[1], date="2026-01-03")])
    kept = results.load(file)
    assert [(one.name, one.date) for one in kept] == [
        ("shuffle", "2026-01-02"),
        ("overhead", "2026-01-03"),
    ]
    assert kept[0] == RESULTS[0]
    assert json.loads(file.read_text())


@pytest.mark.slow
def test_the_page_has_wins_losses_and_failures(tmp_path):
    page = tmp_path / "benchmarks.md"
    page.write_text(f"# By hand\n\n{report.BEGIN}\nbefore this run\n")
    files = report.write(RESULTS, page)
    text = page.read_text()
    assert text.startswith(f"# By hand\n\n{report.BEGIN}\n\n## Results of 2026-01-02\n")
    assert "before this run" not in text
    tables = [line for line in text.splitlines() if "|" in line]
    lines = {line.split("|")[1].strip(): line for line in reversed(tables)}
    cells = [cell.strip() for cell in lines["Shuffle: integers"].split("|")]
    assert cells[2:7] == ["million elements/s", "25.0", "0.5 (tf.data)", "50.00 x", "50 %"]
    assert "0.50 x" in lines["Overhead per element: map"]  # a loss is reported too
    assert lines["**penstock**"]
    assert "Grain, integers: failed: killed by SIGSEGV; oops." in text
    assert "- tf.data: as tfdata does." in text
    assert cells[7] == "100; 100 (tf.data)"  # memory: penstock's, and the minimum of the others
    assert "Limit: ." not in text
    for found in RESULTS:
        assert f"**What bounds penstock.** {workloads.load(found.name).bound}" in text
    assert "| range.map(native).batch(256) " in text  # instructions
    for file in files[1:]:
        assert f"({report.PLOTS}/{file.name})" in text


@pytest.mark.parametrize("name", workloads.NAMES)
def test_every_workload_says_what_bounds_it(name):
    assert workloads.load(name).bound


@pytest.mark.slow
def test_plots_are_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    from bench.peers import plots
    from matplotlib import pyplot

    for found in RESULTS:
        picture = pyplot.imread(plots.draw(found, tmp_path))
        height, width = picture.shape[:2]
        assert 100 < height < 1000 < 2 * width < 4000
        assert picture.std() > 0.05


def test_the_page_begins_with_the_rates_of_jpegs():
    text = report.markdown([RESULTS[0], made_up("jpeg", limit=1e-4, penstock=2e-4, grain=3e-4)])
    assert text.count("benchmarks/jpeg.png") == text.count("benchmarks/shuffle.png") == 1
    assert text.index("benchmarks/jpeg.png") < text.index("|") < text.index("shuffle.png")


def test_terminal_tables_name_the_unit_and_the_failure():
    text = report.terminal(RESULTS[0])
    assert "million elements/s" in text
    assert "failed: killed by SIGSEGV; oops" in text


@pytest.mark.slow
def test_the_command_lists_and_refuses():
    command = [sys.executable, "-m", "bench.peers"]
    listed = subprocess.run([*command, "--list"], capture_output=True, text=True, cwd=ROOT)
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in (*workloads.NAMES, *environments.PEERS))
    refused = subprocess.run([*command, "jpg"], capture_output=True, text=True, cwd=ROOT)
    assert refused.returncode == 2
    assert "no workload 'jpg'; there are: jpeg" in refused.stderr


def test_versions_are_pinned():
    for peer in environments.PEERS.values():
        assert all("==" in package for package in (*peer.packages, *peer.alone))
        assert not (peer.environment and peer.packages)
    assert environments.PEERS["torch"].packages[1] == "torch==2.13.0"
    assert ps.__version__
