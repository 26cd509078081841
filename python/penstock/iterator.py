"""Iterators: each is one run of a pipeline."""

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
    """One run of a pipeline, created by ``iter(dataset)``.

    Nothing runs before the first ``next``, unless `Options.warm_start` is set. If an element fails,
    its exception is raised at its position, and the following ``next`` continues after it. Dropping
    the iterator stops its threads. `close`, or the end of a ``with`` block, stops them at a defined
    time and waits for them. ``async for``, ``await anext(it)`` and ``async with`` do the same in a
    coroutine without blocking its event loop.

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
        self._account: bytes | None = None  # summary of what determines the data, once requested
        self._hints: Any = None  # created when they are first requested
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
        """Close the iterator as `close` does, without blocking the event loop.

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
        """Return the next element, as ``next(it)`` does; the name is tf.data's.

        Returns
        -------
        nested arrays
            The element.

        Raises
        ------
        OutOfRangeError
            At the end. It is a subclass of StopIteration.

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
            ``has_value()`` is False at the end; otherwise ``get_value()`` returns the element.

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
        """Types and shapes of the elements, as in `Dataset.element_spec`."""
        return self._dataset.element_spec

    @overload
    def get_state(self, text: Literal[False] = False) -> bytes: ...
    @overload
    def get_state(self, text: Literal[True]) -> str: ...
    @overload
    def get_state(self, text: bool) -> bytes | str: ...
    def get_state(self, text: bool = False) -> bytes | str:
        """Return the position after the last delivered element.

        Parameters
        ----------
        text : bool
            Return the state as a str of ASCII characters (base64), for checkpoints that hold text
            or JSON.

        Returns
        -------
        bytes or str
            Positions, counters and a summary of the inputs and arguments that determine the
            pipeline's data, but no elements; usually less than 1 KB. Pass the state to `set_state`
            of an iterator over the same pipeline, also in another process. For checkpoints that
            hold arrays, use ``np.frombuffer(state, np.uint8)``.

        Raises
        ------
        ValueError
            If the iterator is closed.

        Notes
        -----
        Iteration is not interrupted, and prefetched elements are kept. The first call summarizes
        the pipeline, which may take milliseconds, and reads the sizes of files.

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
        """Continue after the element that was last delivered before `get_state`.

        Parameters
        ----------
        state : bytes, str, or array of uint8 of shape (N,)
            A result of `get_state`, from a pipeline with the same stages over the same data. Text
            may also be passed as ASCII bytes.
        strict : bool
            Whether to reject a state with the same stages whose data is known to differ. False
            warns and continues.

        Raises
        ------
        StateError
            If the state was saved by a pipeline with other stages, or, if `strict`, with other
            arguments, functions, files or arrays. It is a subclass of ValueError, and lists the
            differences.
        ValueError
            If the bytes are damaged, or of another version.

        Notes
        -----
        The iterator continues with the same elements, in the same order, with the same random
        numbers, as after `get_state`. Iterators that are created later use the same seeds that they
        would have used after `get_state` (see `set_seed`). Sources that cannot jump, such as a
        generator, are read again up to the position.

        Parallelism and buffer sizes may differ from those of the saved run. The number of shards of
        `Dataset.shard_evenly`, and the batch sizes after it, may also differ. For a list of what is
        compared, see docs/guides/checkpoints.md.

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
            return b""  # __init__ was skipped: the engine raises the error
        if self._account is None:
            self._account = self._dataset._account()
        return self._account

    def close(self) -> None:
        """Stop all threads of this run and wait for them; the iterator is then at its end.

        A running function or read is not interrupted: closing waits until it returns. A function
        of the run itself, or a log handler that is notified of a stall, may also call this method;
        it then does not wait, and the threads end later.

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
            For each stage: the name of the ``dataset`` (`Options.dataset_name` or None), ``path``,
            ``kind`` and ``name`` of the stage, the names of its ``function`` (or None), and the
            number of ``elements`` and ``errors`` delivered. ``busy_seconds`` is the time inside the
            stage and its inputs; for a parallel ``map``, it is the sum over its threads of pulling
            and calling, or over its coroutines from start to end. ``wait_seconds`` is the time that
            its consumer waited for it. ``buffer_size`` and ``buffer_limit`` are in elements,
            ``parallelism`` is the number of concurrent calls, and ``retries`` counts repeated calls
            after a failure. ``workers`` lists the worker processes that call its function: the
            ``pid``, the number of ``calls`` for all stages, the number of ``functions`` it has, its
            ``resident_bytes`` of memory, and the ``shared_bytes`` among them, which other processes
            can share. Empty before the first ``next``.

        Notes
        -----
        The path of the last stage is ``"0"``; the path of a stage's input `i` is the path of the
        stage followed by ``.i``. Cheap stages are timed by sampling.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(10).batch(5))
        >>> batches = list(it)
        >>> [(stage["kind"], stage["elements"]) for stage in it.stats()]
        [('batch', 2), ('range', 10)]
        """
        return sorted(self._stage_stats(), key=lambda stage: str(stage["path"]))

    def metrics(self) -> list[dict[str, Any]]:
        """Return the counters of every stage under stable names.

        Returns
        -------
        list of dict
            The stages as in `stats`, identified by ``dataset``, ``path``, ``kind``, ``name`` and
            ``function``. The counters, which only grow, are ``elements_total``, ``errors_total``,
            ``retries_total``, ``busy_seconds_total`` and ``wait_seconds_total``. The gauges are
            ``buffer_elements``, ``buffer_limit_elements`` and ``parallel_calls``. Empty before the
            first ``next``.

        Notes
        -----
        `penstock.metrics.prometheus` returns them as text for all datasets, summed over epochs.

        Examples
        --------
        >>> it = iter(ps.Dataset.range(10).batch(5))
        >>> batches = list(it)
        >>> it.metrics()[0]["elements_total"]
        2
        """
        return metrics_of(self.stats())

    def tuning_moves(self) -> list[dict[str, Any]]:
        """Return the changes made by AUTOTUNE with their reasons, and suggestions.

        Returns
        -------
        list of dict
            One for each change: ``seconds`` since the run began, ``stage``, its ``name`` and
            ``function`` as in `stats`, ``knob``, ``from``, ``to`` and ``reason``. They are followed
            by a hint for each plain function of `Dataset.map` and `filter` that could be `native`:
            ``knob`` is ``"native"``, ``from`` is False, ``to`` is True, and ``seconds`` is the time
            that the function had taken when it was examined. For a function with
            ``executor="auto"``, the knob is ``"executor"``, also if threads were kept.

        Notes
        -----
        This method examines a function once it has taken a tenth of the run's time and at least
        0.1 s. It then calls the function twice, with symbols instead of values, but only if that
        has no side effects, as for `Dataset.element_spec`. A function gets no hint if an earlier
        function has unknown results.
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
        if running:  # another thread, or a function that the run calls, is inside
            return f"<running Iterator of {self._dataset!r}>"
        since = " after set_state" if restored else ""
        return f"<Iterator at element {delivered}{since} of {self._dataset!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "iterator: an iterator cannot be pickled; pickle the dataset and the bytes of "
            "get_state(), and give them to set_state() of a new iterator"
        )


def state_as(state: bytes, text: bool) -> bytes | str:
    """Return a state as bytes, or as text if requested."""
    if not isinstance(text, bool):
        raise TypeError(f"get_state: text must be a bool, got {text!r:.200}")
    return base64.b64encode(state).decode() if text else state


def bytes_of(state: Any, owner: str = "set_state") -> bytes:
    """Return a state as bytes; it may be bytes, text or an array from a checkpoint."""
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
