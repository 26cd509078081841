"""The items of an existing loader, made in the background: the drop-in prefetch."""

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
        A generator function without arguments (called again for each pass), or anything that can
        be iterated: a generator, a list, a data loader of another library. Of an object that has
        ``__len__`` and ``__getitem__`` only, the items 0 to ``len() - 1``.
    buffer_size : int
        Items to have ready, >= 1; AUTOTUNE (-1) chooses.
    executor : "thread" or "process"
        "process" iterates in a worker process, to which `iterable` is pickled: see
        :doc:`/guides/python_functions`.
    worker_init, worker_teardown : callable, optional
        With ``executor="process"``: called without arguments once in the worker process, before
        the first item and at the end of the process, as for `Dataset.from_generator`.

    Returns
    -------
    iterable
        Gives the same items, in the same order; ``len()`` as the original. With threads they are
        the very same objects, from a worker process they are copies.

    Raises
    ------
    TypeError
        If `iterable` is neither callable nor iterable, or cannot be pickled for a process.
    ValueError
        If `buffer_size` is 0 or < -1, or `worker_init` or `worker_teardown` is given without
        ``executor="process"``.

    Notes
    -----
    An exception of the original is raised at its position; ``break`` closes a generator that was
    made for this pass. Up to `buffer_size` items more than were used may have been produced by
    then.

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
    """What iterates a loader that is no function."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __call__(self) -> Iterable[Any]:
        # Python's own loop over __getitem__ ends with an IndexError, which a PyDataset of Keras,
        # for one, need not raise.
        source = self._source
        return (
            source if hasattr(source, "__iter__") else map(source.__getitem__, range(len(source)))
        )

    def __repr__(self) -> str:
        return repr(self._source)
