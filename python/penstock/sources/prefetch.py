"""The drop-in `prefetch`: items of an existing loader, produced in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.iterator import Iterator
from penstock.workers.process_function import sent
from penstock.workers.setup import Setup, setup_of


class _Prefetched:
    """An iterable whose items are produced in the background."""

    def __init__(self, source: Any, buffer_size: int, executor: str, setup: Setup) -> None:
        again = source if callable(source) else _Loop(source)
        if executor == "process":
            sent("prefetch", again, shares=False, setup=setup)
        args = {
            "generator": again,
            "args": (),
            "output_signature": None,
            "opaque": True,
            "executor": executor,
            "part_of": "prefetch",
            **({} if setup == Setup() else {"setup": setup}),
        }
        self._source = source
        self._dataset = Dataset._make("from_generator", (), args)._then(
            "prefetch", buffer_size=buffer_size
        )

    def __iter__(self) -> Iterator:
        return iter(self._dataset)

    def __len__(self) -> int:
        return len(self._source)

    def __repr__(self) -> str:
        return f"penstock.prefetch({self._source!r})"


@checked
def prefetch(
    iterable: Callable[[], Iterable[Any]] | Iterable[Any],
    buffer_size: int = 2,
    *,
    executor: Literal["thread", "process"] = "thread",
    worker_init: Callable[[], object] | None = None,
    worker_teardown: Callable[[], object] | None = None,
) -> _Prefetched:
    """Produce the items of an existing loader in the background, ahead of use.

    Parameters
    ----------
    iterable : callable or iterable
        A generator function without arguments (called again for each iteration), or any iterable: a
        generator, a list, a data loader of another library. For an object that only has ``__len__``
        and ``__getitem__``, the items 0 to ``len() - 1``.
    buffer_size : int
        Number of items to keep ready, >= 1; AUTOTUNE (-1) picks the number.
    executor : "thread" or "process"
        "process" iterates in a worker process, to which `iterable` is pickled; see
        :doc:`/guides/python_functions`.
    worker_init, worker_teardown : callable, optional
        With ``executor="process"``: called without arguments once in the worker process, before
        the first item and at the end of the process, as in `Dataset.from_generator`.

    Returns
    -------
    iterable
        Yields the same items in the same order; ``len()`` is that of the original. With threads the
        items are the same objects; from a worker process they are copies.

    Raises
    ------
    TypeError
        If `iterable` is neither callable nor iterable, or cannot be pickled for a process.
    ValueError
        If `buffer_size` is 0 or < -1, or `worker_init` or `worker_teardown` is given without
        ``executor="process"``.

    Notes
    -----
    An exception of the original is raised at its position. ``break`` closes a generator that was
    created for this iteration. By then, up to `buffer_size` items beyond those used may have been
    produced.

    Examples
    --------
    >>> def load():
    ...     yield from ("a", "b", "c")
    >>> list(ps.prefetch(load))
    ['a', 'b', 'c']
    """
    indexed = hasattr(iterable, "__len__") and hasattr(iterable, "__getitem__")
    if not callable(iterable) and not hasattr(iterable, "__iter__") and not indexed:
        raise TypeError(
            f"prefetch: a generator function or an iterable was expected, got {iterable!r}"
        )
    if isinstance(buffer_size, int) and buffer_size == 0:
        raise ValueError("prefetch: buffer_size must be >= 1, got 0")
    setup = setup_of("prefetch", executor, worker_init, worker_teardown)
    return _Prefetched(iterable, buffer_size, executor, setup)


class _Loop:
    """A callable that iterates a loader, as a generator function would."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __call__(self) -> Iterable[Any]:
        # Python's own loop over __getitem__ relies on IndexError, which not every loader raises (a
        # Keras PyDataset, for example).
        source = self._source
        return (
            source if hasattr(source, "__iter__") else map(source.__getitem__, range(len(source)))
        )

    def __repr__(self) -> str:
        return repr(self._source)
