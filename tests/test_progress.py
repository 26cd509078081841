"""ps.progress: what a terminal shows of a loop, and what a loop without one does not pay."""

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

MODULES = {"rich": "rich.progress", "tqdm": "tqdm.auto"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(params=["plain", "rich", "tqdm"])
def terminal(request, monkeypatch):
    """Have one way of drawing, and everything that is drawn."""
    for kind, name in MODULES.items():
        if kind == request.param:
            pytest.importorskip(name)
        else:
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("COLUMNS", "120")
    return Terminal()


def drawn(terminal, iterable, description=None):
    """Return what a loop has seen; pytest has a standard error of its own."""
    with contextlib.redirect_stderr(terminal):
        return [x for x in ps.progress(iterable, description)]  # noqa: C416 - a loop


def threads():
    return [each for each in threading.enumerate() if each.name == "penstock-progress"]


def wait_until(holds):
    limit = time.monotonic() + 20
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
    assert closed.wait(20)
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


def test_without_a_terminal_the_loop_is_the_datasets_own(capfd):
    shown = ps.progress(ps.Dataset.range(4).batch(2))
    assert len(shown) == 2
    iterator = iter(shown)
    assert type(iterator) is ps.Iterator
    assert len(list(iterator)) == 2
    assert type(iter(ps.progress([1]))) is type(iter([1]))
    assert not threads()
    assert capfd.readouterr().err == ""


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
