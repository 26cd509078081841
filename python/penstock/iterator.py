"""One pass over a dataset."""

from __future__ import annotations

import base64
import warnings
import weakref
from types import TracebackType
from typing import Any, Literal, NoReturn, Self, overload

import numpy as np
import numpy.typing as npt

from penstock import _core
from penstock.arguments.checked import checked
from penstock.closing import Closing
from penstock.counters import metrics_of, totals
from penstock.errors import OutOfRangeError, StateError
from penstock.optional import Optional
from penstock.waiting import in_thread

_MOST_SHOWN = 10  # differences in a message
TEXT_BEGIN = b"UFNUS"  # base64 of the first bytes of each state


class Iterator(_core.Iterator, Closing):
    """One run of a pipeline; made by ``iter(dataset)``.

    Nothing runs before the first ``next``, unless `Options.warm_start` is set. An element that
    failed is raised at its position, and the following ``next`` continues after it. Dropping the
    iterator stops its threads; `close`, or a ``with`` block, does so when you want and waits for
    them. ``async for``, ``await anext(it)`` and ``async with`` do the same in a coroutine, while
    its event loop goes on.

    Examples
    --------
    >>> with iter(ps.Dataset.range(5)) as it:
    ...     first = next(it)
    ...     state = it.get_state()
    >>> it = iter(ps.Dataset.range(5))
    >>> it.set_state(state)
    >>> [int(x) for x in it]
    [1, 2, 3, 4]
    """

    __slots__ = ("__weakref__", "_account", "_dataset", "_hints")

    def __init__(self, dataset: Any, options: dict[str, Any]) -> None:
        super().__init__(dataset, options)
        self._dataset = dataset
        self._account: bytes | None = None  # of what decides the data, once it was asked for
        self._hints: Any = None  # for its speed, likewise
        if options["counted"]:
            totals.add(self, dataset._node)
            if totals.in_use:
                seen = weakref.ref(self)
                self._on_end(lambda *_: totals.see(seen()))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while not self._ready():
            await in_thread(self._fetch)
        for element in self:  # without waiting
            return element
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the iterator as `close` does, while the event loop goes on.

        Examples
        --------
        >>> import asyncio
        >>> async def first(ds):
        ...     async with iter(ds) as it:  # which ends with aclose()
        ...         return await anext(it)
        >>> asyncio.run(first(ps.Dataset.range(5).prefetch(2)))
        np.int64(0)
        """
        await in_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def get_next(self) -> Any:
        """Return the next element; ``next(it)`` under tf.data's name.

        Returns
        -------
        nested arrays
            The element.

        Raises
        ------
        OutOfRangeError
            At the end. It is a StopIteration.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(1))
        >>> it.get_next()
        np.int64(0)
        >>> it.get_next()
        Traceback (most recent call last):
            ...
        penstock.errors.OutOfRangeError: get_next: there are no more elements
        """
        for element in self:
            return element
        raise OutOfRangeError("get_next: there are no more elements")

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an `experimental.Optional`, which is empty at the end.

        Returns
        -------
        Optional
            ``has_value()`` says whether ``get_value()`` gives an element.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(5).batch(3))
        >>> while (optional := it.get_next_as_optional()).has_value():
        ...     print(optional.get_value())
        [0 1 2]
        [3 4]
        """
        for element in self:
            return Optional.from_value(element)
        return Optional.empty(self.element_spec)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements, as `Dataset.element_spec` gives them."""
        return self._dataset.element_spec

    @overload
    def get_state(self, text: Literal[False] = False) -> bytes: ...
    @overload
    def get_state(self, text: Literal[True]) -> str: ...
    @overload
    def get_state(self, text: bool) -> bytes | str: ...
    def get_state(self, text: bool = False) -> bytes | str:
        """Return the position after the last element delivered.

        Parameters
        ----------
        text : bool
            Return the state as a str of ASCII characters (base64), for checkpoints that hold text
            or JSON.

        Returns
        -------
        bytes or str
            Positions and counters, never elements, and a summary of the inputs and arguments that
            determine the pipeline's data; usually below 1 KB. Pass the state to `set_state` of an
            iterator over the same pipeline, also in another process. For checkpoints that hold
            arrays, use ``np.frombuffer(state, np.uint8)``.

        Raises
        ------
        ValueError
            If the iterator is closed.

        Notes
        -----
        Nothing is stopped, and elements that were produced ahead are kept. The first call examines
        the pipeline for its account, which may take milliseconds, and reads the sizes of files.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(1000).shuffle(100).batch(10).prefetch(2))
        >>> batch = next(it)
        >>> state = it.get_state()
        >>> len(state) < 400
        True
        >>> it.get_state(text=True).isascii()
        True
        """
        return state_as(self._save_state(self._own_account()), text)

    @checked
    def set_state(self, state: bytes | str | npt.NDArray[np.uint8], strict: bool = True) -> None:
        """Continue after the last element before `get_state` was called.

        Parameters
        ----------
        state : bytes, str, or array of uint8 of shape (N,)
            A result of `get_state`, for a pipeline of the same stages over the same data. Text may
            also be given as its ASCII bytes.
        strict : bool
            What to do with a state of the same stages whose data differs, as far as that can be
            seen: True refuses it, False warns and continues.

        Raises
        ------
        StateError
            If the state was saved by another pipeline: by other stages; or, if `strict`, by stages
            with other arguments, functions, files or arrays. It is a ValueError, and lists what
            differs.
        ValueError
            If the bytes are damaged, or of another version.

        Notes
        -----
        The iterator continues with the same elements, in the same order, with the same random
        numbers, as after `get_state`. Iterators that are created later get the seeds that they
        would have had after `get_state` (see `set_seed`). Sources that cannot jump (a generator)
        are read up to the position again.
        Parallelism and buffer sizes may differ from those of the saved run; so may the number of
        shards of `Dataset.shard_evenly`, and the sizes of batches after it. What is compared, and
        what is not, is in docs/guides/checkpoints.md.

        Examples
        --------
        >>> ds = ps.Dataset.range(6).shuffle(6)
        >>> it = iter(ds)
        >>> seen = [int(next(it)) for _ in range(4)]
        >>> other = iter(ds)
        >>> other.set_state(it.get_state())
        >>> [int(x) for x in other] == [int(x) for x in it]
        True
        >>> iter(ps.Dataset.range(6).shuffle(5)).set_state(it.get_state())
        Traceback (most recent call last):
            ...
        penstock.errors.StateError: set_state: the state is of other data: shuffle: buffer_size 5, \
the state has 6; set_state(state, strict=False) accepts it anyway
        """
        saved = bytes_of(state)
        stages, account, sized = self._compare_state(saved)
        if stages:
            raise StateError(stages, [stages.removeprefix("set_state: ")])
        if sized and (why := self._dataset._once_only()):
            text = f"set_state: the state has another number of shards or batch size, and {why}"
            raise StateError(f"{text}; make the iterator inside the generator", [why])
        if found := self._dataset._differences(account, self._own_account(), sized):
            shown = "; ".join(found[:_MOST_SHOWN])
            if len(found) > _MOST_SHOWN:
                shown += f"; and {len(found) - _MOST_SHOWN} more"
            text = f"set_state: the state is of other data: {shown}"
            if strict:
                advice = "set_state(state, strict=False) accepts it anyway"
                raise StateError(f"{text}; {advice}", found)
            warnings.warn(f"{text}; it is accepted anyway", RuntimeWarning, stacklevel=3)
        super().set_state(saved)
        _core.continue_seeds(_core.open_state(saved)["seeds"])

    def _own_account(self) -> bytes:
        if not hasattr(self, "_dataset"):
            return b""  # __init__ was skipped: the engine says so
        if self._account is None:
            self._account = self._dataset._account()
        return self._account

    def close(self) -> None:
        """Stop all threads of this run and wait for them; no more elements come.

        A function or read that is running is not interrupted: closing waits until it returns.
        Inside a function that the run calls, or a handler of the log that hears of a stall, it does
        not wait: the threads end once they can.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(5).prefetch(2))
        >>> next(it)
        np.int64(0)
        >>> it.close()
        >>> list(it)
        []
        """
        totals.close(self)
        super().close()

    def stats(self) -> list[dict[str, Any]]:
        """Return the counters of every stage, from the last stage to the sources.

        Returns
        -------
        list of dict
            Each has the name of the ``dataset`` (`Options.dataset_name` or None), ``path`` and
            ``kind`` of the stage, the ``name`` that it was given and the names of its ``function``
            (None where there is none), ``elements`` and ``errors`` delivered,
            ``busy_seconds`` inside it and its inputs (of a parallel ``map``: what its threads have
            spent in pulling and calling, added up, or its coroutines from begin to end),
            ``wait_seconds`` that its consumer waited for it, its ``buffer_size`` and
            ``buffer_limit`` in elements, its ``parallelism``, the ``retries`` of calls that had
            failed, and the ``workers`` that call its function in other processes: of each its
            ``pid``, the ``calls`` that it has made for all stages, how many ``functions`` it has,
            its ``resident_bytes`` in memory, and ``shared_bytes`` of them that it need not have
            alone. Empty before the first ``next``.

        Notes
        -----
        The path of the last stage is ``"0"``, that of input `i` of a stage ends in ``.i``. Cheap
        stages are timed by sample.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(10).batch(5))
        >>> batches = list(it)
        >>> [(stage["kind"], stage["elements"]) for stage in it.stats()]
        [('batch', 2), ('range', 10)]
        """
        return sorted(self._stage_stats(), key=lambda stage: str(stage["path"]))

    def metrics(self) -> list[dict[str, Any]]:
        """Return the counters of every stage under names that do not change.

        Returns
        -------
        list of dict
            The stages as in `stats`, by ``dataset``, ``path``, ``kind``, ``name`` and ``function``.
            Counters, which only grow, are ``elements_total``, ``errors_total``, ``retries_total``,
            ``busy_seconds_total`` and ``wait_seconds_total``; gauges are ``buffer_elements``,
            ``buffer_limit_elements`` and ``parallel_calls``. Empty before the first ``next``.

        Notes
        -----
        `penstock.metrics.prometheus` returns them for all datasets as text, added up over epochs.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(10).batch(5))
        >>> batches = list(it)
        >>> it.metrics()[0]["elements_total"]
        2
        """
        return metrics_of(self.stats())

    def tuning_moves(self) -> list[dict[str, Any]]:
        """Return what AUTOTUNE changed, and why; and what you could change.

        Returns
        -------
        list of dict
            One for each move: ``seconds`` since the run began, ``stage``, the ``name`` and
            ``function`` of it as in `stats`, ``knob``, ``from``, ``to`` and ``reason``. After them
            a hint for each plain function of `Dataset.map` and `filter` that could be `native`:
            ``knob`` is ``"native"``, ``from`` False and ``to`` True, and ``seconds`` are those that
            the function had taken when it was looked at. Of a function with ``executor="auto"``
            the knob is ``"executor"``, also where it stayed with threads.

        Notes
        -----
        A function is examined when this is called and it has taken a tenth of the run's time, at
        least 0.1 s. It is then called twice, with symbols instead of values, but only if that has
        no effects, as for `Dataset.element_spec`. There is no hint after a function whose results
        are not known yet.
        """
        moves = self._tuning_moves()
        if self._hints is None:
            self._hints = self._dataset._new_hints(self._dataset)
        hints: list[dict[str, Any]] = self._hints.of(self._stage_stats)
        return moves + hints

    def __repr__(self) -> str:
        delivered, restored, closed, running = self._position()
        if closed:
            return f"<closed Iterator of {self._dataset!r}>"
        if running:  # another thread, or a function of its own, is inside
            return f"<running Iterator of {self._dataset!r}>"
        since = " after set_state" if restored else ""
        return f"<Iterator at element {delivered}{since} of {self._dataset!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "iterator: an iterator cannot be pickled; pickle the dataset and the bytes of "
            "get_state(), and give them to set_state() of a new iterator"
        )


def state_as(state: bytes, text: bool) -> bytes | str:
    """Return a state as bytes or text, as `get_state` was asked to."""
    if not isinstance(text, bool):
        raise TypeError(f"get_state: text must be a bool, got {text!r:.200}")
    return base64.b64encode(state).decode() if text else state


def bytes_of(state: Any, owner: str = "set_state") -> bytes:
    """Return a state as bytes, from bytes, text or an array that a checkpoint holds."""
    if isinstance(state, str):
        return _of_text(state, owner)
    if isinstance(state, bytes):
        return _of_text(state, owner) if state.startswith(TEXT_BEGIN) else state
    if isinstance(state, (bytearray, memoryview)) or hasattr(state, "__array__"):
        array = np.asarray(state)
        if array.dtype == np.uint8 and array.ndim == 1:
            return bytes_of(array.tobytes(), owner)
        if array.dtype.kind in "SUT" and array.ndim == 0:
            return bytes_of(array.item(), owner)
        got = f"an array of {array.dtype} of shape {array.shape}"
    else:
        got = f"a {type(state).__name__}"
    raise TypeError(
        f"{owner}: bytes of get_state were expected, or an array of uint8 of them, got {got}"
    )


def _of_text(state: str | bytes, owner: str) -> bytes:
    text = state.strip()
    try:
        decoded = base64.b64decode(text, validate=True)
        # The decoder ignores the unused bits of the last character.
        undamaged = base64.b64encode(decoded) == (text.encode() if isinstance(text, str) else text)
    except ValueError:
        undamaged = False
    if undamaged:
        return decoded
    raise ValueError(
        f"{owner}: the text of the state is damaged; use the result of "
        "get_state(text=True) unchanged"
    )
