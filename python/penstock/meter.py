"""How far a loop or a task is: a line in a terminal or notebook."""

from __future__ import annotations

import contextlib
import functools
import importlib
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

from penstock import _core
from penstock.arguments.checked import checked
from penstock.counters import totals
from penstock.printable import printable

__all__ = ["progress"]

_T = TypeVar("_T")

_INTERVAL = 0.1  # seconds between two drawings, at least
_LOG_INTERVAL = 10.0  # seconds before the first line in a log file; each later one doubles it
_MAX_LOG_INTERVAL = 300.0
_SHARE = 0.005  # of the time goes to drawing, at most
_WIDTH = 24  # characters of the bar
_KEEPING = {"cache", "snapshot"}  # stages that give later passes what they have kept


@checked
def progress(iterable: Iterable[_T], description: str | None = None) -> Progress[_T]:
    """Show how far a loop is while it runs.

    Parameters
    ----------
    iterable : iterable
        A dataset, or any loader.
    description : str, optional
        What the line begins with.

    Returns
    -------
    iterable
        Gives the same elements. While it does, a line on standard error shows how many there were,
        of how many where that is known, elements/s, the share of the time in which the loop
        waited for the next element (or made it, where nothing runs ahead), and the time left. A
        pass that fills a cache or a snapshot says so.

    Notes
    -----
    Without a terminal or a notebook, such as in a log file, it writes plain lines instead: one
    after 10 seconds, further ones at intervals that double up to 5 minutes, and one at the end of
    the loop. Nothing more is shown once a line could not be written. In a terminal, the line is
    drawn by Rich or tqdm where they are installed, at most ten times a second and by a thread of
    its own. Elements of a dataset are counted by the engine, without any cost; a loop over another
    iterable takes some 0.3 us longer for each element.

    Examples
    --------
    >>> for batch in ps.progress(ps.Dataset.range(1000).batch(100), "training"):
    ...     pass
    """
    if not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
        raise TypeError(f"progress: iterable must be one, got {iterable!r:.200}")
    if not isinstance(description, (str, type(None))):
        raise TypeError(f"progress: description must be a str, got {description!r:.200}")
    return Progress(iterable, description)


class Progress(Iterable[_T]):
    """An iterable whose loops are shown; made by `progress`."""

    def __init__(self, iterable: Iterable[_T], description: str | None) -> None:
        self._iterable = iterable
        self._description = description

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[_T]:
        iterator = iter(self._iterable)
        meter = Meter(self._description, total_of(self._iterable), ends=True)
        if isinstance(iterator, _core.Iterator):
            # What watches it holds no reference: dropped by the loop, the iterator ends.
            watched = weakref.ref(iterator)
            iterator._on_end(functools.partial(_end, watched, meter))
            meter.watch(lambda: _counted(watched()))
            return iterator
        return _timed(iterator, meter)


class Reading(NamedTuple):
    """What a line shows.

    Attributes
    ----------
    done : int
        How many elements there were.
    waited : float, optional
        The seconds of waiting for them; None for what is no loop.
    fills : str
        What keeps the elements for later passes meanwhile.
    """

    done: int
    waited: float | None = None
    fills: str = ""


class Meter:
    """The line of one task.

    Parameters
    ----------
    description : str or None
        What the line begins with.
    total : int or None
        How many elements, or other units, the task has.
    unit : str
        What is counted, in the plural.
    shown : bool, optional
        Whether there is a line; None means yes.
    ends : bool
        Whether a log file gets a line at the end even if it has no other one.
    """

    def __init__(
        self,
        description: str | None,
        total: int | None,
        unit: str = "elements",
        shown: bool | None = None,
        *,
        ends: bool = False,
    ) -> None:
        self._description = printable(description or "")
        self._total = total
        self._unit = unit
        self._line: _Line | None = None
        self._log: _LogLines | None = None
        if shown is not False:
            with contextlib.suppress(Exception):  # standard error cannot be written to
                if is_shown():
                    self._line = _line(self._description, total)
                elif sys.stderr is not None and not sys.stderr.closed:
                    self._log = _LogLines(self._description, total, ends or bool(shown))
                    self._line = self._log
        self._began = time.perf_counter()
        self._drawn = 0.0 if self._log is None else self._began
        self._cost = 0.0  # seconds that the last drawing took
        self._last = Reading(0)
        self._read: Callable[[], Reading | None] | None = None
        # A drawing may set off the collector, which ends the line of a loop that was left.
        self._lock = threading.RLock()
        self._ended = threading.Event()

    def update(self, done: int) -> None:
        """Show how many are done, unless that was shown a moment ago."""
        self._last = Reading(done)
        now = time.perf_counter()
        if now - self._drawn >= self._interval():
            self._drawn = now
            self._draw()

    def watch(self, read: Callable[[], Reading | None]) -> None:
        """Draw from a thread, which reads the numbers, until `finish`."""
        self._read = read
        if self._line is not None:
            with contextlib.suppress(RuntimeError):  # the system refuses another thread
                threading.Thread(target=self._watch, name="penstock-progress", daemon=True).start()

    def finish(self, result: str | None = None, last: Reading | None = None) -> None:
        """Draw for the last time, and end the line.

        Parameters
        ----------
        result : str, optional
            What is said at the end, instead of figures. It is written where no line is shown, too.
        last : Reading, optional
            The numbers at the end; None reads them.
        """
        with self._lock:
            if self._ended.is_set():
                return
            self._ended.set()
        if self._line is None or (self._log is not None and result is not None):
            if result is not None:
                with contextlib.suppress(Exception):
                    print(f"{self._description} {result}", file=sys.stderr, flush=True)
            return
        if last is None and self._read is not None:
            last = self._read()
        self._last = last or self._last
        if self._log is None or self._log.ends:
            self._draw(result)
        with self._lock:
            if self._line is not None:
                with contextlib.suppress(Exception):
                    self._line.close()

    def _interval(self) -> float:
        if self._log is not None:
            return self._log.interval
        return max(_INTERVAL, self._cost / _SHARE)

    def _watch(self) -> None:
        while not self._ended.wait(self._interval()):
            found = self._read() if self._read is not None else None
            # Where nothing moves nothing is drawn: an error may have ended the loop.
            if found is not None and found != self._last:
                self._last = found
                self._draw()

    def _draw(self, result: str | None = None) -> None:
        with self._lock:
            if self._line is not None:
                began = time.thread_time()
                text = result or self._text(self._last)
                try:
                    self._line.draw(self._last.done, text)
                except Exception:  # the line is gone (a closed terminal), and the task goes on
                    line, self._line = self._line, None
                    with contextlib.suppress(Exception):  # Rich has taken standard output, too
                        line.close()
                self._cost = time.thread_time() - began

    def _text(self, last: Reading) -> str:
        done, waited, fills = last
        took = max(time.perf_counter() - self._began, 1e-9)
        rate = done / took
        parts = [f"{_number(rate)} {self._unit}/s"]
        if waited is not None:
            parts.append(f"{min(waited / took, 1):.0%} waiting for data")
        if self._total is not None and 0 < done < self._total:
            parts.append(f"{_duration((self._total - done) / rate)} left")
        else:
            parts.append(_duration(took))
        if fills:
            parts.append(f"filling the {fills}")
        return ", ".join(parts)


def is_shown() -> bool:
    """Return whether a line is shown: in a terminal, or in a notebook."""
    if _in_notebook():
        return True
    try:
        return sys.stderr.isatty()
    except Exception:  # it is None, closed, or of a class that has no such method
        return False


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _counted(iterator: Any) -> Reading | None:
    if iterator is None:
        return None
    waited = iterator._fetching_seconds()
    stages = {each["path"]: each for each in iterator._stage_stats()}
    delivered = iterator._position()[0]
    if delivered is None:  # the loop is inside: what the last stage has given counts
        delivered = stages["0"]["elements"] if "0" in stages else 0
    # What has been kept needs no input that runs.
    filled = {
        each["kind"]
        for path, each in stages.items()
        if each["kind"] in _KEEPING and f"{path}.0" in stages
    }
    return Reading(delivered, waited, " and the ".join(sorted(filled)))


def _end(watched: Callable[[], Any], meter: Meter, done: int, waited: float) -> None:
    """Finish the line of an iterator, and keep its last counters for `penstock.metrics`."""
    totals.see(watched())
    meter.finish(last=Reading(done, waited))


def _timed(iterator: Iterator[_T], meter: Meter) -> Generator[_T, None, None]:
    """Give the elements of an iterator; what has been counted and timed is read by a thread."""
    clock = time.perf_counter
    done, waited, asked = 0, 0.0, 0.0
    meter.watch(lambda: Reading(done, waited + (clock() - asked if asked else 0)))
    try:
        while True:
            asked = began = clock()
            try:
                element = next(iterator)
            except StopIteration:
                return
            finally:
                waited += clock() - began
                asked = 0.0
            done += 1
            yield element
    finally:
        meter.finish()


def total_of(iterable: Any) -> int | None:
    """Return how many elements an iterable has, where that is known."""
    if hasattr(iterable, "cardinality"):
        count = int(iterable.cardinality())
        return count if count >= 0 else None
    try:
        return len(iterable)
    except (TypeError, NotImplementedError):
        return None


class _Line(Protocol):
    """What draws a line, again and again."""

    def draw(self, done: int, text: str) -> None:
        """Show a count and what is said of it."""

    def close(self) -> None:
        """End the line."""


def _line(description: str, total: int | None) -> _Line:
    kinds: list[tuple[str, Callable[..., _Line]]] = [("tqdm.auto", _TqdmLine)]
    if not _in_notebook():
        kinds.insert(0, ("rich.progress", _RichLine))
    for name, kind in kinds:
        try:
            return kind(importlib.import_module(name), description, total)
        except ImportError:
            pass
        except Exception as error:  # Rich draws one thing at a time, for example
            if type(error).__module__.split(".")[0] not in ("rich", "tqdm"):
                raise
    return _PlainLine(description, total)


class _PlainLine:
    def __init__(self, description: str, total: int | None) -> None:
        self._description = f"{description} " if description else ""
        self._total = total

    def draw(self, done: int, text: str) -> None:
        columns = shutil.get_terminal_size().columns - 1
        shown = f"{self._description}{done:,}"
        if self._total:
            share = min(done / self._total, 1.0)
            shown += f"/{self._total:,} {share:.0%}, {text}"
            width = min(_WIDTH, columns - len(shown) - 3)
            if width > 0:
                shown = f"[{'#' * round(share * width):.<{width}}] {shown}"
        else:
            shown += f", {text}"
        # Back to the first column, and clear what stood there.
        sys.stderr.write(f"\r\x1b[K{shown[:columns]}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


class _LogLines:
    """Plain lines for a log file, at growing intervals."""

    def __init__(self, description: str, total: int | None, ends: bool) -> None:
        self._description = f"{description} " if description else ""
        self._total = total
        self.interval = _LOG_INTERVAL
        self.ends = ends

    def draw(self, done: int, text: str) -> None:
        shown = f"{done:,}"
        if self._total:
            shown += f"/{self._total:,} {min(done / self._total, 1.0):.0%}"
        sys.stderr.write(f"{self._description}{shown}, {text}\n")
        sys.stderr.flush()
        self.interval = min(2 * self.interval, _MAX_LOG_INTERVAL)
        self.ends = True

    def close(self) -> None:
        """Do nothing: each line is complete."""


class _RichLine:
    def __init__(self, rich: Any, description: str, total: int | None) -> None:
        console = importlib.import_module("rich.console").Console(stderr=True)
        columns = [
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[text]}", markup=False),
        ]
        self._progress = rich.Progress(*columns, console=console, auto_refresh=False)
        self._progress.start()
        self._task = self._progress.add_task(description, total=total, text="")

    def draw(self, done: int, text: str) -> None:
        self._progress.update(self._task, completed=done, text=text, refresh=True)

    def close(self) -> None:
        self._progress.stop()


class _TqdmLine:
    def __init__(self, tqdm: Any, description: str, total: int | None) -> None:
        form = "{desc}{n_fmt} {postfix}"
        if total is not None:
            form = "{desc}{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} {postfix}"
        # It would draw at once, and keep its lock, which all bars share, where that fails.
        self._bar = tqdm.tqdm(
            total=total, desc=description or None, file=sys.stderr, bar_format=form, delay=1
        )
        self._bar.delay = 0

    def draw(self, done: int, text: str) -> None:
        self._bar.n = done
        self._bar.set_postfix_str(text, refresh=False)
        with self._bar.get_lock():
            self._bar.refresh(nolock=True)

    def close(self) -> None:
        self._bar.close()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
