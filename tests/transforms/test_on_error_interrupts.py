"""ignore_errors and on_error never drop exceptions that end a program or a run."""

import signal
import threading

import pytest

import penstock as ps


def _fail(x):
    if x == 1:
        raise ValueError("bad 1")
    return x


@pytest.mark.parametrize("what", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("calls", [None, 2])
def test_what_ends_the_program_is_never_left_out(what, calls):
    def check(x):
        if x == 1 and not raised:
            raised.append(x)
            raise what("now")
        return x

    for on_error in ("skip", "log", lambda error, info: None):
        raised = []
        ds = ps.Dataset.range(3).map(check, calls, on_error=on_error)
        with pytest.raises(what):
            list(ds)


def test_ctrl_c_ends_a_loop_that_leaves_everything_out():
    ready = threading.Event()

    def broken(x):
        if x == 1000:
            ready.set()
        raise ValueError("no")

    def interrupt():
        ready.wait()
        signal.raise_signal(signal.SIGINT)

    ds = ps.Dataset.range(10**15).map(broken).ignore_errors(max_errors=None)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        next(iter(ds))
    thread.join()


def test_ctrl_c_in_the_handler_asks_it_again():
    asked = []

    def handler(error, info):
        asked.append(info.element)
        if len(asked) == 1:
            raise KeyboardInterrupt

    it = iter(ps.Dataset.range(3).map(_fail, on_error=handler))
    assert next(it) == 0
    with pytest.raises(KeyboardInterrupt):
        next(it)
    assert next(it) == 2
    assert asked == [1, 1]


def test_closing_ends_an_endless_failure():
    begun = threading.Event()

    def broken(x):
        begun.set()
        raise ValueError("no")

    it = iter(ps.Dataset.range(10**15).map(broken).ignore_errors(max_errors=None).prefetch(1))
    thread = threading.Thread(target=lambda: list(it))
    thread.start()
    begun.wait()
    it.close()
    thread.join(60)
    assert not thread.is_alive()
