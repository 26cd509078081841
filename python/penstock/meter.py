"""Progress bars in terminals and notebooks, and progress lines in log files."""

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

_INTERVAL = 0.1  # minimum seconds between two updates
_LOG_INTERVAL = 10.0  # seconds before the first line in a log file; doubled after each line
_MAX_LOG_INTERVAL = 300.0
_SHARE = 0.005  # maximum fraction of the time that is spent on drawing
_WIDTH = 24  # characters of the bar
_KEEPING = {"cache", "snapshot"}  # stages that save elements for later epochs


@checked
def progress(iterable: Iterable[_T], description: str | None = None) -> Progress[_T]:
    """Show the progress of a loop.

    Parameters
    ----------
    iterable : iterable
        A dataset, or any loader.
    description : str, optional
        Text at the beginning of the line.

    Returns
    -------
    iterable
        Yields the same elements. Meanwhile, a line on standard error shows the number of elements,
        the total if it is known, elements/s, the fraction of the time that the loop waited for the
        next element (or computed it, if nothing is prefetched), and the time left. The line also
        shows if a cache or a snapshot is being filled.

    Notes
    -----
    Without a terminal or notebook, for example in a log file, plain lines are written instead: the
    first after 10 seconds, more at intervals that double up to 5 minutes, and one at the end of the
    loop. If a line cannot be written, no further ones are. In a terminal, the line is drawn by Rich
    or tqdm if installed, at most ten times a second, in a separate thread. The engine counts the
    elements of a dataset at no cost; a loop over another iterable takes about 0.3 us longer for
    each element.

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
    """An iterable that shows the progress of loops over it, created by `progress`."""

    def __init__(self, iterable: Iterable[_T], description: str | None) -> None:
        self._iterable = iterable
        self._description = description

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[_T]:
        iterator = iter(self._iterable)
        meter = Meter(self._description, total_of(self._iterable), ends=True)
        if isinstance(iterator, _core.Iterator):
            # A weak reference, so that the iterator ends when the loop drops it.
            watched = weakref.ref(iterator)
            iterator._on_end(functools.partial(_end, watched, meter))
            meter.watch(lambda: _counted(watched()))
            return iterator
        return _timed(iterator, meter)


class Reading(NamedTuple):
    """The values that a line shows.

    Attributes
    ----------
    done : int
        Number of elements so far.
    waited : float, optional
        Seconds spent waiting for them. None if the task is not a loop.
    fills : str
        The stages that are saving elements for later epochs.
    """

    done: int
    waited: float | None = None
    fills: str = ""


class Meter:
    """The progress line of one task.

    Parameters
    ----------
    description : str or None
        Text at the beginning of the line.
    total : int or None
        Number of elements, or other units, in the task.
    unit : str
        The unit, in the plural.
    shown : bool, optional
        Whether to show a line. None means yes.
    ends : bool
        Whether to write a final line to a log file even if there was no other line.
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
        self._cost = 0.0  # seconds that the last update took
        self._last = Reading(0)
        self._read: Callable[[], Reading | None] | None = None
        # Reentrant: drawing may run the garbage collector, which ends lines of abandoned loops.
        self._lock = threading.RLock()
        self._ended = threading.Event()

    def update(self, done: int) -> None:
        """Show the number of finished elements, unless the line was updated a moment ago."""
        self._last = Reading(done)
        now = time.perf_counter()
        if now - self._drawn >= self._interval():
            self._drawn = now
            self._draw()

    def watch(self, read: Callable[[], Reading | None]) -> None:
        """Update the line from a thread, which calls `read`, until `finish`."""
        self._read = read
        if self._line is not None:
            with contextlib.suppress(RuntimeError):  # the system may refuse another thread
                threading.Thread(target=self._watch, name="penstock-progress", daemon=True).start()

    def finish(self, result: str | None = None, last: Reading | None = None) -> None:
        """Draw the final values, and end the line.

        Parameters
        ----------
        result : str, optional
            Text to show at the end instead of the values. It is written even if no line is shown.
        last : Reading, optional
            The final values. None reads them.
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
            # Without progress nothing is drawn: an error may have ended the loop.
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
                except Exception:  # the line is gone (a closed terminal), but the task continues
                    line, self._line = self._line, None
                    with contextlib.suppress(Exception):  # Rich has also redirected standard output
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
    """Return whether a line is shown, which requires a terminal or a notebook."""
    if _in_notebook():
        return True
    try:
        return sys.stderr.isatty()
    except Exception:  # None, closed, or of a class without such a method
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
    if delivered is None:  # `next` is running: use the count of the last stage
        delivered = stages["0"]["elements"] if "0" in stages else 0
    # A stage with a running input is still being filled.
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
    """Yield the elements of an iterator; a thread reads the count and the waiting time."""
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
    """Return the number of elements of an iterable, or None if it is unknown."""
    if hasattr(iterable, "cardinality"):
        count = int(iterable.cardinality())
        return count if count >= 0 else None
    try:
        return len(iterable)
    except (TypeError, NotImplementedError):
        return None


class _Line(Protocol):
    """Draws a line repeatedly."""

    def draw(self, done: int, text: str) -> None:
        """Show a count and the text after it."""

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
        except Exception as error:  # for example, Rich supports only one live display
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
        # Return to the first column, and clear the previous text.
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
        # Without a delay, tqdm draws immediately and, if that fails, keeps the lock of all bars.
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
