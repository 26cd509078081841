"""Elements written to several files concurrently, which appear once all are complete."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from penstock.meter import Meter, total_of
from penstock.paths import is_url, naming
from penstock.printable import printable
from penstock.writers.staged import staged

_TOGETHER = 64  # maximum number of elements in a queue item
_BYTES = 1 << 20  # after which a queue item takes no further elements of the size of its first
_AHEAD = 4  # maximum number of queue items per thread
_ENDINGS = (".gz", ".zst")  # suffixes that follow another suffix


class Writer(Protocol):
    """The writer of one file."""

    def write(self, number: int, element: Any) -> None:
        """Append an element; `number` is its index among all elements."""

    def close(self) -> None:
        """Finish and close the file."""

    def abandon(self) -> None:
        """Close the incomplete file, without writing the rest."""


def shard_names(path: str, shards: int) -> list[str]:
    """Return the file names: the path itself, or with a shard number before the suffix."""
    if shards == 1:
        return [path]
    folder, _, name = path.rpartition("/" if is_url(path) else os.sep)
    stem, ending = os.path.splitext(name)  # noqa: PTH122
    if ending in _ENDINGS:
        stem, inner = os.path.splitext(stem)  # noqa: PTH122
        ending = inner + ending
    names = (f"{stem}-{i:05d}-of-{shards:05d}{ending}" for i in range(shards))
    return [os.path.join(folder, each) if folder else each for each in names]  # noqa: PTH118


def write_shards(
    stage: str,
    elements: Iterable[Any],
    path: str,
    shards: int,
    progress: bool | None,
    opens: Callable[[str], Writer],
) -> list[str]:
    """Write element i to file ``i % shards``, each file in its own thread.

    Parameters
    ----------
    stage : str
        The name to use in errors and progress reports.
    elements : iterable
        The elements; iterated in the calling thread.
    path : str
        The file, or the base of the shard names.
    shards : int
        Number of files.
    progress : bool or None
        Whether to show a progress line; None shows it in a terminal or a notebook.
    opens : callable
        Takes a file name, and returns its `Writer`.

    Returns
    -------
    list of str
        The names of the files.
    """
    if not os.path.basename(path):  # noqa: PTH119
        raise ValueError(f"{stage}: path must be the name of a file, got {path!r}")
    names = shard_names(path, shards)
    meter = Meter(stage, total_of(elements), shown=progress)
    with _short_of_files(stage, shards), staged(names) as files:
        threads: list[_Thread] = []
        try:
            for name, path in zip(names, files.paths, strict=True):
                with naming(name, path):
                    writer = opens(path)
                threads.append(_Thread(stage, name, path, writer))
            _deal(elements, threads, meter)
            for thread in threads:
                thread.finish()
        except BaseException:
            for thread in threads:
                thread.abandon()
            failures = [thread.failure for thread in threads if thread.failure is not None]
            if failures:  # raise the one with the lowest element number
                raise min(failures, key=lambda failure: failure[0])[1] from None
            raise
        files.complete()
    meter.finish()
    return names


@contextlib.contextmanager
def _short_of_files(stage: str, shards: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.EMFILE or shards == 1:
            raise
        raise OSError(
            errno.EMFILE,
            f"{stage}: {shards} files are written at a time, each open twice, and this process may "
            "not have as many; raise its limit (ulimit -n), or ask for fewer shards",
        ) from error


def _deal(elements: Iterable[Any], threads: list[_Thread], meter: Meter) -> None:
    """Distribute elements among the threads round-robin, in groups."""
    waiting: list[list[tuple[int, Any]]] = [[] for _ in threads]
    most = [_TOGETHER] * len(threads)
    count = 0
    for element in elements:
        mine = waiting[count % len(threads)]
        if not mine:
            size = max(1, _bytes_in(element))
            most[count % len(threads)] = min(max(1, _BYTES // size), _TOGETHER)
        mine.append((count, element))
        if len(mine) == most[count % len(threads)]:
            threads[count % len(threads)].put(mine[:])
            mine.clear()
            meter.update(count)
        count += 1
    for thread, rest in zip(threads, waiting, strict=True):
        thread.put(rest)
    meter.update(count)


def _bytes_in(value: Any) -> int:
    """Return the approximate size of an element in memory."""
    if isinstance(value, dict):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes_in, value))
    if isinstance(value, (bytes, str)):
        return len(value)
    return int(getattr(value, "nbytes", 8))


class _Thread:
    """A thread that writes one file."""

    def __init__(self, stage: str, name: str, path: str, writer: Writer) -> None:
        self.failure: tuple[int, BaseException] | None = None  # element number and exception
        self._stage = stage
        self._name, self._path = name, path  # final name, and temporary path until completion
        self._writer = writer
        self._queue: queue.Queue[list[tuple[int, Any]] | None] = queue.Queue(_AHEAD)
        self._abandoned = False
        self._thread = threading.Thread(target=self._run, name=stage, daemon=True)
        self._thread.start()

    def put(self, some: list[tuple[int, Any]]) -> None:
        """Queue elements, waiting for room; raise the thread's exception if it has failed."""
        self._check()
        self._queue.put(some)

    def finish(self) -> None:
        """Wait until everything is written; raise the thread's exception if it has failed."""
        self._end()
        self._check()
        with naming(self._name, self._path):
            self._writer.close()

    def abandon(self) -> None:
        """Stop before everything is written."""
        self._abandoned = True
        self._end()
        # This also fails on a full disk. Only the first error counts, and other files must be
        # closed.
        with contextlib.suppress(OSError):
            self._writer.abandon()

    def _end(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure[1]

    def _run(self) -> None:
        while (some := self._queue.get()) is not None:
            if self.failure is None and not self._abandoned:
                self._write(some)

    def _write(self, some: list[tuple[int, Any]]) -> None:
        number = some[0][0] if some else 0
        try:
            with naming(self._name, self._path):
                for number, element in some:
                    if self._abandoned:
                        break
                    self._writer.write(number, element)
        except Exception as error:
            self.failure = number, _with_stage(self._stage, number, error)
        except BaseException as error:
            self.failure = number, error


def _with_stage(stage: str, number: int, error: Exception) -> Exception:
    """Convert a library's error to one that names stage and element."""
    text = printable(str(error))
    of_system = isinstance(error, OSError) and error.errno is not None
    if of_system or isinstance(error, MemoryError) or text.startswith(f"{stage}: "):
        return error
    kind = TypeError if isinstance(error, TypeError) else ValueError
    named = kind(f"{stage}: element {number}: {text or type(error).__name__}")
    named.__cause__ = error
    return named
