"""ps.progress: a progress line in a terminal, and plain lines in a log file."""

import contextlib
import gc
import io
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import penstock as ps
from penstock import meter
from scripts import run_script

MODULES = {"rich": "rich.progress", "tqdm": "tqdm.auto"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(params=["plain", "rich", "tqdm"])
def terminal(request, monkeypatch):
    """Select one way of drawing, and return everything that is drawn."""
    for kind, name in MODULES.items():
        if kind == request.param:
            pytest.importorskip(name)
        else:
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("COLUMNS", "120")
    return Terminal()


def drawn(terminal, iterable, description=None):
    """Return the output of a loop; pytest replaces standard error."""
    with contextlib.redirect_stderr(terminal):
        return [x for x in ps.progress(iterable, description)]  # noqa: C416 - a loop


def threads():
    return [each for each in threading.enumerate() if each.name == "penstock-progress"]


def wait_until(holds):
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_whole_loop_is_shown_to_its_end(terminal):
    assert drawn(terminal, ps.Dataset.range(12), "counting") == list(range(12))
    assert "counting" in terminal.getvalue()
    assert "12/12" in terminal.getvalue().replace(" ", "")
    assert "elements/s" in terminal.getvalue()
    wait_until(lambda: not threads())


def test_any_iterable_is_shown(terminal):
    assert drawn(terminal, [1, 2, 3]) == [1, 2, 3]
    assert "3/3" in terminal.getvalue().replace(" ", "")
    assert drawn(terminal, iter("ab")) == ["a", "b"]


def test_a_loop_that_is_left_ends_its_line_and_its_run(terminal):
    closed = threading.Event()

    def numbers():
        try:
            yield from range(1000)
        finally:
            closed.set()

    with contextlib.redirect_stderr(terminal):
        for x in ps.progress(ps.Dataset.from_generator(numbers)):
            if x == 5:
                break
    gc.collect()
    assert closed.wait(60)
    wait_until(lambda: not threads())
    length = len(terminal.getvalue())
    time.sleep(0.25)
    assert len(terminal.getvalue()) == length


def test_an_error_of_the_data_and_one_of_the_loop_arrive(terminal):
    def fails(x):
        if x == 3:
            raise ValueError("three")
        return x

    seen = []

    def loop(iterable):
        with contextlib.redirect_stderr(terminal):
            for x in ps.progress(iterable):
                seen.append(int(x))

    with pytest.raises(ValueError, match="three"):
        loop(ps.Dataset.range(5).map(fails))
    assert seen == [0, 1, 2]
    with pytest.raises(ValueError, match="invalid literal"):
        loop(["a", "b"])
    gc.collect()
    wait_until(lambda: not threads())


def test_a_pass_that_fills_says_what(terminal, tmp_path):
    def slow(x):
        time.sleep(0.1)
        return x

    kept = {
        "cache": ps.Dataset.range(4).map(slow).cache(tmp_path / "cache"),
        "snapshot": ps.Dataset.range(4).map(slow).snapshot(tmp_path / "kept"),
    }
    for name, ds in kept.items():
        drawn(terminal, ds)
        assert f"filling the {name}" in terminal.getvalue()
        terminal.truncate(0)
        drawn(terminal, ds)
        assert "filling" not in terminal.getvalue()


def test_saving_is_shown(terminal, tmp_path):
    with contextlib.redirect_stderr(terminal):
        ps.Dataset.range(12).batch(4).save(tmp_path / "a")
        assert "save" in terminal.getvalue()
        assert "3/3" in terminal.getvalue().replace(" ", "")
        terminal.truncate(0)
        ps.Dataset.range(12).save(tmp_path / "b", progress=False)
        assert not terminal.getvalue()
        with pytest.raises(ValueError, match="no such"):
            ps.Dataset.range(12).map(lambda x: int("no such")).save(tmp_path / "c")
    ps.Dataset.range(2).save(tmp_path / "d", progress=True)
    wait_until(lambda: not threads())


def test_waiting_for_data_is_measured():
    slow = iter(ps.Dataset.range(6).map(lambda x: time.sleep(0.02) or x))
    assert slow._fetching_seconds() == 0
    assert sum(1 for _ in slow) == 6
    assert slow._fetching_seconds() >= 0.12
    ready = iter(ps.Dataset.from_tensor_slices(np.arange(4)))
    for _ in ready:
        time.sleep(0.02)
    assert ready._fetching_seconds() < 0.08


def test_a_loop_over_a_dataset_is_the_datasets_own():
    shown = ps.progress(ps.Dataset.range(4).batch(2))
    assert len(shown) == 2
    iterator = iter(shown)
    assert type(iterator) is ps.Iterator
    assert len(list(iterator)) == 2


@pytest.mark.parametrize("kind", [list, ps.Dataset.from_tensor_slices])
def test_a_log_file_has_a_plain_line_at_the_end(kind):
    log = io.StringIO()
    assert len(drawn(log, kind(range(1200)), "training")) == 1200
    (line,) = log.getvalue().splitlines()
    assert line.startswith("training 1,200/1,200 100%, ")
    assert "elements/s" in line
    assert line.isprintable()  # neither colours nor carriage returns
    wait_until(lambda: not threads())


def test_intervals_between_lines_of_a_log_file_grow(monkeypatch):
    monkeypatch.setattr(meter, "_LOG_INTERVAL", 0.001)
    monkeypatch.setattr(meter, "_MAX_LOG_INTERVAL", 0.004)
    log = io.StringIO()
    with contextlib.redirect_stderr(log):
        for x in ps.progress(ps.Dataset.range(10**9), "training"):
            if log.getvalue().count("\n") >= 3:
                break
            assert x < 10**8
    lines = log.getvalue().splitlines()
    assert all(line.startswith("training ") and line.isprintable() for line in lines)
    found = meter._LogLines("", None, True)
    intervals = [found.interval]
    for _ in range(3):
        with contextlib.redirect_stderr(log):
            found.draw(1, "")
        intervals.append(found.interval)
    assert intervals == [0.001, 0.002, 0.004, 0.004]


def test_a_task_that_is_quick_writes_nothing_to_a_log_file(tmp_path):
    log = io.StringIO()
    with contextlib.redirect_stderr(log):
        ps.Dataset.range(12).save(tmp_path / "quick")
        task = meter.Meter("work", 3)
        task.update(2)
        task.finish()
    assert log.getvalue() == ""


def test_the_end_is_said_once():
    said = []
    iterator = iter(ps.Dataset.range(2))
    iterator._on_end(lambda *numbers: said.append(numbers))
    assert next(iterator) == 0
    assert not said
    assert list(iterator) == [1]
    assert list(iterator) == []
    assert [delivered for delivered, waited in said] == [2]


def test_what_is_called_at_the_end_may_hold_the_iterator():
    class Watched:
        def end(self, delivered, waited):
            pass

    def watch(gone):
        watched = Watched()
        watched.iterator = iter(ps.Dataset.range(2))
        watched.iterator._on_end(watched.end)
        weakref.finalize(watched, gone.append, 1)

    gone = []
    watch(gone)
    gc.collect()
    assert gone == [1]


def test_a_task_says_its_result_with_and_without_a_terminal(terminal):
    streams = [terminal, io.StringIO()]
    for stream in streams:
        with contextlib.redirect_stderr(stream):
            task = meter.Meter("work", 10, "files")
            task.update(5)
            task.finish("well done")
            task.finish("twice")
    assert "5/10" in streams[0].getvalue().replace(" ", "")
    assert "files/s" in streams[0].getvalue()
    assert "well done" in streams[0].getvalue()
    assert streams[1].getvalue() == "work well done\n"


def test_texts():
    line = meter._PlainLine("a", 200)
    assert meter._number(1234.5) == "1,234"
    assert meter._number(0.123) == "0.12"
    assert [meter._duration(x) for x in (0, 61, 3700)] == ["00:00", "01:01", "1:01:40"]
    assert line is not None


class Broken(Terminal):
    """A terminal that accepts several lines, and then fails."""

    def __init__(self, lines, error):
        super().__init__()
        self.lines = lines
        self.error = error

    def write(self, text):
        self.lines -= 1
        if self.lines < 0:
            raise self.error
        return super().write(text)


@pytest.mark.parametrize("lines", [0, 2])
@pytest.mark.parametrize("error", [OSError("gone"), ValueError("closed"), RuntimeError("mine")])
@pytest.mark.parametrize("kind", [list, ps.Dataset.from_tensor_slices])
def test_a_line_that_cannot_be_written_leaves_the_loop(terminal, monkeypatch, lines, error, kind):
    monkeypatch.setattr(meter, "_INTERVAL", 0.001)
    broken = Broken(lines, error)
    with contextlib.redirect_stderr(broken):
        for x in ps.progress(kind(range(100)), "counting"):
            if x % 10 == 0:
                time.sleep(0.002)
        assert x == 99
        task = meter.Meter("work", 10)
        task.update(5)
        task.finish("well done")
    wait_until(lambda: not threads())
    assert sys.stdout is not broken  # Rich has restored it


@pytest.mark.parametrize("instead", [None, object(), "closed"])
@pytest.mark.parametrize("at", [0, 5])
def test_standard_error_may_go(terminal, monkeypatch, instead, at):
    if instead == "closed":
        instead = Terminal()
        instead.close()
    monkeypatch.setattr(meter, "_INTERVAL", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal if at else instead)
    seen = []
    for x in ps.progress(list(range(10))):
        seen.append(x)
        if x == at:
            monkeypatch.setattr(sys, "stderr", instead)
    assert seen == list(range(10))
    meter.Meter("work", None).finish("well done")


@pytest.mark.parametrize("ends", ["break", "error", "close"])
def test_the_last_line_counts_what_was_taken(terminal, monkeypatch, ends):
    monkeypatch.setattr(meter, "_INTERVAL", 100.0)  # so that it is the only line

    def loop():
        for x in ps.progress(ps.Dataset.range(10**9)):
            if x == 41 and ends == "break":
                break
            if x == 41 and ends == "error":
                raise KeyError(x)
            if x == 41:
                return

    with contextlib.redirect_stderr(terminal), contextlib.suppress(KeyError):
        loop()
    assert "42/" in terminal.getvalue().replace(" ", "")


def test_the_loop_goes_on_when_the_descriptor_is_closed():
    done = run_script("""
        from penstock import meter
        meter._INTERVAL = 0.001
        sys.stderr.isatty = lambda: True
        sys.modules["rich.progress"] = sys.modules["tqdm.auto"] = None
        for x in ps.progress(Dataset.range(20).map(lambda x: time.sleep(0.002) or x)):
            if x == 5:
                os.close(2)
        print(x)
    """)
    assert done.stdout == "19\n"
