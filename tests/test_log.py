"""Log messages during a run: tuning changes, slow elements, and stalled iterators."""

import asyncio
import itertools
import logging
import os
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock as ps
from penstock import log
from scripts import run_script

LOGGER = "penstock"
QUICK = 1e-4  # seconds per slow call here, many times longer than a fast one


@pytest.fixture(autouse=True)
def every_level(caplog):
    caplog.set_level(logging.INFO, LOGGER)


def with_options(dataset, **values):
    options = ps.Options()
    for name, value in values.items():
        setattr(options, name, value)
    return dataset.with_options(options)


def warned(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


class Step:
    """A function that blocks until a warning has been logged, or the test has waited too long."""

    def __init__(self, caplog, stuck=3):
        self.caplog = caplog
        self.stuck = stuck
        self.done = threading.Event()

    def __call__(self, x):
        return self.stand(x)

    def stand(self, x):
        if x == self.stuck:
            for _ in range(2000):
                if warned(self.caplog) or self.done.wait(0.01):  # HERE
                    break
        return x


def line_of(marked):
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, text in enumerate(lines, 1) if text.endswith(marked))


# Without a GIL, threads keep running while their frames are read, so no lines are reported.
LINES = getattr(sys, "_is_gil_enabled", lambda: True)()
HERE = f"{__file__}:{line_of('# HERE')} in stand"


def stalled(dataset, seconds=0.1, **values):
    return list(with_options(dataset, stall_seconds=seconds, **values))


def slow(x):
    done = threading.Event()
    done.wait(200 * QUICK)
    return x


def test_a_move_is_logged_as_information_while_the_run_goes_on(caplog):
    options = ps.Options()
    options.dataset_name = "squares"
    ds = ps.Dataset.range(4).map(slow, num_parallel_calls=2, executor="auto")
    options.autotune.enabled = False
    list(ds.with_options(options))
    (record,) = (each for each in caplog.records if "executor" in each.getMessage())
    assert (record.name, record.levelno) == (LOGGER, logging.INFO)
    assert record.getMessage().startswith("dataset squares: parallel_map(slow): executor thread")


@pytest.mark.parametrize("calls", [None, 2])
def test_a_slow_call_is_named_with_its_element_and_seconds(caplog, calls):
    ds = ps.Dataset.from_tensor_slices(["a", "b"]).map(slow, calls)
    list(with_options(ds, slow_element_seconds=QUICK))
    first, second = sorted(warned(caplog))
    assert first.startswith("map(slow), element 0 ('a') took 0.")
    assert "element 1 ('b')" in second
    assert "Options.slow_element_seconds: 0.0001 s" in first


def test_a_slow_call_names_the_file_of_its_element(caplog, tmp_path):
    (tmp_path / "lines.txt").write_text("one\n")
    list(
        with_options(
            ps.TextLineDataset(tmp_path / "lines.txt").map(slow), slow_element_seconds=QUICK
        )
    )
    assert f"of {tmp_path / 'lines.txt'} took" in warned(caplog)[0]


def test_a_slow_read_is_named_with_its_file_and_byte(caplog, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as pool:
        ds = with_options(ps.TextLineDataset(tmp_path / "pipe"), slow_element_seconds=QUICK)
        reading = pool.submit(list, ds)
        with (tmp_path / "pipe").open("w") as pipe:
            slow(0)
            pipe.write("one")
        assert reading.result() == [b"one"]
    assert warned(caplog)[0].startswith(f"text_line of {tmp_path / 'pipe'}, a read at byte 0 took")


def test_a_slow_generator_is_named(caplog):
    def numbers():
        yield slow(7)

    list(with_options(ps.Dataset.from_generator(numbers), slow_element_seconds=QUICK))
    assert warned(caplog)[0].startswith("from_generator(numbers), element 0 took")


def test_a_slow_filter_is_named(caplog):
    list(
        with_options(ps.Dataset.range(1).filter(lambda x: slow(x) == 0), slow_element_seconds=QUICK)
    )
    assert warned(caplog)[0].startswith("filter, element 0 (0) took")


@pytest.mark.parametrize("calls", [None, 4])
def test_a_slow_coroutine_is_named(caplog, calls):
    async def load(x):
        await asyncio.sleep(0.05 if x == 5 else 0)
        return x

    ds = ps.Dataset.range(7).skip(2).map(load, calls)
    assert list(with_options(ds, slow_element_seconds=0.04)) == [2, 3, 4, 5, 6]
    first = next(text for text in warned(caplog) if "element 3" in text)
    assert first.startswith("map(load), element 3")


def test_a_run_that_is_slow_throughout_says_how_many_were_left_out(caplog):
    list(with_options(ps.Dataset.range(30).map(slow), slow_element_seconds=QUICK))
    *named, rest = warned(caplog)
    assert len(named) == 5
    assert rest.startswith("of slow calls and reads, 25 more were left out, which took up to 0.")


def test_nothing_is_slow_unless_the_options_say_so(caplog):
    list(ps.Dataset.range(3).map(slow))
    list(with_options(ps.Dataset.range(3).map(slow), slow_element_seconds=100))
    assert warned(caplog) == []


@pytest.mark.parametrize("form", ["inline", "parallel", "prefetch", "filter"])
def test_a_stall_names_the_element_and_the_line_where_the_function_stands(caplog, form):
    step = Step(caplog)
    ds = ps.Dataset.range(5)
    ds = {
        "inline": lambda: ds.map(step),
        "parallel": lambda: ds.map(step, num_parallel_calls=2),
        "prefetch": lambda: ds.map(step).prefetch(2),
        "filter": lambda: ds.filter(lambda x: step(x) >= 0),
    }[form]()
    assert stalled(ds, dataset_name="squares") == list(range(5))
    (text,) = warned(caplog)
    assert text.startswith("dataset squares: no element has come for 0.")
    stage = "filter" if form == "filter" else "map(Step)"
    assert f"everything waits for {stage}, element 3 (3), which has run for 0." in text
    assert (HERE in text) == LINES


def test_a_generator_that_stands_is_named_with_its_line(caplog):
    step = Step(caplog)

    def numbers():
        yield 1
        yield step(3)  # GENERATOR

    assert stalled(ps.Dataset.from_generator(numbers)) == [1, 3]
    (text,) = warned(caplog)
    assert "everything waits for from_generator(numbers), element 1" in text
    at = f"at {__file__}:{line_of('yield step(3)  # GENERATOR')} in numbers > "
    assert (at in text) == LINES
    assert (HERE in text) == LINES


class Coroutines:
    """Coroutine functions that block at their third element until a warning has been logged."""

    def __init__(self, caplog):
        self.caplog = caplog

    async def load(self, x):
        if x == 3:
            await self.wait()  # LOAD
        return x

    async def wait(self):
        for _ in range(2000):
            if warned(self.caplog):
                break
            await asyncio.sleep(0.01)  # WAIT

    async def block(self, x):
        if x == 3:
            await asyncio.sleep(0)
            Step(self.caplog)(3)  # BLOCK
        elif x > 3:
            await asyncio.sleep(1e-3)
        return x

    async def test(self, x):
        return await self.load(x) >= 0

    async def values(self):
        for i in range(5):
            yield await self.load(i)  # VALUES


@pytest.mark.parametrize("form", ["one by one", "together", "ahead", "filter"])
def test_a_coroutine_that_stands_is_named_with_its_line(caplog, form):
    made = Coroutines(caplog)
    ds = ps.Dataset.range(5)
    ds = {
        "one by one": lambda: ds.map(made.load),
        "together": lambda: ds.map(made.load, num_parallel_calls=4),
        "ahead": lambda: ds.map(made.load).prefetch(2),
        "filter": lambda: ds.filter(made.test, num_parallel_calls=2),
    }[form]()
    assert stalled(ds) == list(range(5))
    (text,) = warned(caplog)
    stage = "filter(Coroutines.test)" if form == "filter" else "map(Coroutines.load)"
    assert f"everything waits for {stage}, element 3 (3), which has run for 0." in text
    standing = f"{__file__}:{line_of('# LOAD')} in load > {__file__}:{line_of('# WAIT')} in wait"
    assert (f"{standing} > " in text) == LINES


def test_a_coroutine_that_does_not_let_others_go_on_is_named(caplog):
    made = Coroutines(caplog)
    assert stalled(ps.Dataset.range(6).map(made.block, num_parallel_calls=6)) == list(range(6))
    (text,) = warned(caplog)
    assert "everything waits for map(Coroutines.block), element 3 (3), which has run" in text
    at = f"at {__file__}:{line_of('(3)  # BLOCK')} in block > "
    assert (at in text) == LINES
    assert (HERE in text) == LINES


def test_an_asynchronous_generator_that_stands_is_named_with_its_line(caplog):
    made = Coroutines(caplog)
    assert stalled(ps.Dataset.from_generator(made.values)) == list(range(5))
    (text,) = warned(caplog)
    assert "everything waits for from_generator(Coroutines.values), element 3" in text
    standing = (
        f"{__file__}:{line_of('# VALUES')} in values > {__file__}:{line_of('# LOAD')} in load"
    )
    assert (f"at {standing} > " in text) == LINES


def test_another_dataset_is_not_blamed_for_its_coroutines(caplog):
    made = Coroutines(caplog)
    other = iter(with_options(ps.Dataset.range(5).map(made.load, 4), stall_seconds=0))
    assert next(other) == 0  # the call of element 3 is in progress
    step = Step(caplog)
    assert stalled(ps.Dataset.range(5).map(step)) == list(range(5))
    (text,) = warned(caplog)
    assert "everything waits for map(Step), element 3 (3)" in text
    assert list(other) == [1, 2, 3, 4]


def test_each_wait_is_told_once(caplog):
    step = Step(caplog, stuck=0)
    it = iter(with_options(ps.Dataset.range(3).map(step), stall_seconds=0.1))
    next(it)
    assert len(warned(caplog)) == 1
    caplog.clear()
    step.stuck = 1
    assert list(it) == [1, 2]
    assert len(warned(caplog)) == 1


def test_a_stage_that_gives_nothing_of_what_it_takes_is_named(caplog):
    ds = ps.Dataset.counter().filter(lambda x: bool(warned(caplog))).take(1)
    stalled(ds)
    (text,) = warned(caplog)
    assert "everything waits for filter, which has taken" in text
    assert "elements meanwhile and given none" in text


def test_a_pipe_without_a_writer_is_named(caplog, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    it = iter(with_options(ps.TextLineDataset(tmp_path / "pipe"), stall_seconds=0.1))
    waiting = threading.Thread(target=lambda: next(it, None))
    waiting.start()
    for _ in range(2000):
        if warned(caplog):
            break
        threading.Event().wait(0.01)
    (tmp_path / "pipe").write_text("")
    waiting.join()
    (text,) = warned(caplog)
    assert "everything waits for text_line, which has given nothing" in text


@pytest.mark.parametrize("seconds", [0, 100])
def test_without_a_stall_nothing_is_said(caplog, seconds):
    stalled(ps.Dataset.range(3).map(slow), seconds)
    assert warned(caplog) == []


def test_in_debug_mode_a_breakpoint_is_no_stall(caplog):
    with ps.experimental.debug_mode():
        it = iter(with_options(ps.Dataset.range(3).map(slow), stall_seconds=QUICK))
    list(it)
    assert warned(caplog) == []


def test_where_logging_has_no_handler_the_user_is_warned(monkeypatch):
    monkeypatch.setattr(log.logger, "propagate", False)
    with pytest.warns(RuntimeWarning, match="penstock: map.slow., element 0 .0. took"):
        list(with_options(ps.Dataset.range(1).map(slow), slow_element_seconds=QUICK))


def test_a_warning_that_is_an_error_leaves_the_elements(monkeypatch):
    monkeypatch.setattr(log.logger, "propagate", False)
    it = iter(with_options(ps.Dataset.range(2).map(slow), slow_element_seconds=QUICK))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="element 0"):
            next(it)
    assert next(it) == 0


def test_a_stalled_worker_process_is_named():
    done = run_script(
        """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        def load(x):
            if x == 2:
                time.sleep(2)
            return os.getpid()
        options = ps.Options()
        options.stall_seconds = 0.3
        ds = Dataset.range(3).map(load, num_parallel_calls=1, executor="process")
        for pid in ds.with_options(options):
            print("came", pid)
        """,
        timeout=100,
    )
    assert done.stderr == ""
    texts = [line for line in done.stdout.splitlines() if "element 2" in line]
    (pid,) = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("came")}
    assert texts
    assert "map(load), element 2, which has run for" in texts[0]
    assert f"in worker process {pid}" in texts[0]


def test_a_process_may_exit_while_an_iterator_stalls():
    done = run_script("""
        import logging
        logging.basicConfig(format="%(message)s")
        options = ps.Options()
        options.stall_seconds = 0.05
        begun = threading.Event()
        def work():
            ds = Dataset.from_generator(lambda: iter(lambda: begun.set() or time.sleep(0.3), 1))
            for x in ds.map(lambda x: time.sleep(30)).with_options(options):
                pass
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
        time.sleep(0.2)
    """)
    assert done.returncode == 0


def test_a_fork_child_has_stalls_of_its_own():
    done = run_script(
        """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.WARNING)
        options = ps.Options()
        options.stall_seconds = 0.1
        ds = Dataset.range(2).map(lambda x: time.sleep(0.5) or x).with_options(options)
        list(ds)
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            print("child", flush=True)
            list(ds)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
    """,
        "-W",
        "ignore",
    )
    assert done.stderr == ""
    before, _, after = done.stdout.partition("child\n")
    assert before.count("everything waits for map") == 2
    assert after.count("everything waits for map") == 2


def test_options_are_numbers_of_seconds():
    options = ps.Options()
    options.stall_seconds = 5
    options.slow_element_seconds = 0.5
    assert (options.stall_seconds, options.slow_element_seconds) == (5.0, 0.5)
    for name, wrong in itertools.product(
        ["stall_seconds", "slow_element_seconds"], [-1, float("nan"), float("inf")]
    ):
        with pytest.raises(ValueError, match=name):
            setattr(options, name, wrong)
    for wrong in ["1", True, [1]]:
        with pytest.raises(TypeError, match="a number was expected"):
            options.stall_seconds = wrong


def test_a_handler_may_close_the_iterator_that_stalls():
    """The handler holds a lock, which the waiting thread may need in order to log."""
    done = run_script("""
        import logging
        options = ps.Options()
        options.stall_seconds = 0.05
        options.slow_element_seconds = 0.01
        told = threading.Event()
        it = iter(Dataset.range(3).map(lambda x: told.wait(60) and x).with_options(options))

        class Closes(logging.Handler):
            def emit(self, record):
                it.close()
                told.set()

        logging.getLogger("penstock").addHandler(Closes())
        print(list(it))
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in ("[]\n", "[np.int64(0)]\n")


def test_a_process_may_exit_while_a_handler_waits_for_the_iterator():
    done = run_script("""
        import logging
        options = ps.Options()
        options.stall_seconds = 0.05
        waits, go = threading.Event(), threading.Event()
        it = iter(Dataset.range(3).map(lambda x: go.wait(60) and x).with_options(options))

        class Asks(logging.Handler):
            def emit(self, record):
                waits.set()
                try:
                    it.get_state()
                except (ValueError, RuntimeError):  # closed or stopped while Python exits
                    pass

        logging.getLogger("penstock").addHandler(Asks())
        threading.Thread(target=next, args=(it,), daemon=True).start()
        waits.wait()
        time.sleep(0.05)
        go.set()
    """)
    assert (done.returncode, done.stderr) == (0, "")
