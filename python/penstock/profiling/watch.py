"""Observe a run: with a simulated training step, or in the user's own loop."""

from __future__ import annotations

import math
import time
import weakref
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from types import TracebackType
from typing import Any, Protocol

from penstock.adapters.batches import BatchIterator
from penstock.arguments import checks
from penstock.arguments.checked import checked
from penstock.executors import processors
from penstock.iterator import Iterator
from penstock.loaders import loader_of, pipeline_of, unwrapped
from penstock.profiling.loops import LoopProfile
from penstock.profiling.results import Profile
from penstock.profiling.system import ready_seconds
from penstock.profiling.timing import LoopRecorder
from penstock.stage import Stage

__all__ = ["profile", "profile_dataset", "profile_loop"]

_INFINITE = -1


@checked
def profile(iterable: Iterable[Any]) -> Watch:
    """Watch a training loop: ``with ps.profile(loader) as p:``, then ``for batch in p:``.

    Parameters
    ----------
    iterable : iterable
        The object that the loop iterates: a dataset, a result of `Dataset.to_torch` or
        `Dataset.to_jax`, a `DataLoader`, a PyTorch ``DataLoader``, any other iterable, or an
        iterator of one of them.

    Returns
    -------
    context manager
        Iterate over it in the block. It yields the same elements, and after the block has the
        attributes of a `Profile`, or of a `LoopProfile` for loaders and other iterables.
        ``result`` is that object. Without a ``with`` block, it watches its first loop.

    Raises
    ------
    TypeError
        If `iterable` cannot be iterated.
    ValueError
        On access to the profile, if the block took no elements.

    Notes
    -----
    For datasets and results of `Dataset.to_torch` and `Dataset.to_jax`, the profile shows each
    stage. An iterator of one of them is also watched if the loop uses it directly. Sampling the
    threads takes at most one percent of a CPU.

    For loaders and other iterables, ``next`` is timed. The profile shows whether the loop waits,
    where the time goes, and which settings of the loader would help: ``num_workers``,
    ``pin_memory``, ``persistent_workers``.

    Watch for several seconds. To exclude the start, take the first batches before the block: ``it =
    iter(loader)``, ``next(it)``, ``with ps.profile(it) as p:``.

    Examples
    --------
    >>> it = iter(ps.Dataset.range(100000).map(lambda x: x + 1).batch(100).prefetch(2))
    >>> first = next(it)
    >>> with ps.profile(it) as p:
    ...     for batch in p:
    ...         pass
    >>> p.elements
    999
    >>> import time
    >>> class Photos:
    ...     def __len__(self):
    ...         return 100
    ...     def __getitem__(self, i):
    ...         time.sleep(0.001)  # a file that is read
    ...         return i
    >>> with ps.profile(ps.DataLoader(Photos(), batch_size=10)) as p:
    ...     for batch in p:
    ...         pass
    >>> p.bottleneck.kind, p.advice[0].change.startswith("num_workers=")
    ('io', True)
    """
    if not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
        raise TypeError(
            "profile: expected a dataset, a loader, another iterable or an iterator, got "
            f"{iterable!r:.200}"
        )
    return Watch(iterable)


class _Recorder(Protocol):
    """Observes a block."""

    def begin(self) -> None:
        """Start watching."""

    def end(self) -> Profile | LoopProfile:
        """Return the profile; raise ValueError if no element was taken."""

    def __iter__(self) -> Any: ...


class Watch:
    """A watched block; created by `profile`."""

    def __init__(self, iterable: Any) -> None:
        self._iterable = iterable
        self._recorder: _Recorder | None = None
        self._result: Profile | LoopProfile | None = None
        self._missing = "the block has not ended; read the profile after it"

    @property
    def result(self) -> Profile | LoopProfile:
        """The profile; available after the block."""
        if self._result is None:
            raise ValueError(f"profile: {self._missing}")
        return self._result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.result, name)

    def __iter__(self) -> Any:
        if self._recorder is None:
            return self._watched()
        return iter(self._recorder)

    def __len__(self) -> int:
        return len(self._iterable)

    def __bool__(self) -> bool:
        return True

    def _watched(self) -> Generator[Any, None, None]:
        """Watch a loop over all elements."""
        with self:
            yield from self

    def __str__(self) -> str:
        return str(self._result) if self._result else repr(self)

    def __repr__(self) -> str:
        return repr(self._result) if self._result else f"<profile: {self._missing}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.result,)  # the iterator belongs to this process

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    def __enter__(self) -> Watch:
        if self._recorder is not None:
            raise ValueError("profile: it was used before; make another with penstock.profile(it)")
        recorder: _Recorder = _recorder_of(self._iterable)
        recorder.begin()
        self._recorder = recorder
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recorder is None:
            raise ValueError("profile: the block has not begun; write `with penstock.profile(it)`")
        try:
            self._result = self._recorder.end()
        except ValueError as found:  # no element was taken
            self._missing = str(found).removeprefix("profile: ")
            if error is None:
                raise


def _recorder_of(iterable: Any) -> _Recorder:
    """Return a recorder for an iterable; if it is a dataset, begin iterating it."""
    wrapped = unwrapped(iterable)
    if shows_stages(wrapped) and not hasattr(type(wrapped), "__next__"):
        iterable = wrapped = iter(iterable)
    # The iterator that a loader without workers reads: PyTorch's, or penstock's.
    fetcher = getattr(wrapped, "_dataset_fetcher", None)
    reading = getattr(wrapped, "_reading", None)
    run = getattr(fetcher, "dataset_iter", getattr(reading, "iterator", wrapped))
    if isinstance(run, BatchIterator):
        run = run._iterator
    return _EngineRecorder(iterable, run) if isinstance(run, Iterator) else LoopRecorder(iterable)


def shows_stages(iterable: Any) -> bool:
    """Return whether a loop over an iterable runs the stages of a dataset in this process."""
    loader = loader_of(iterable)
    if loader is None:
        return pipeline_of(iterable) is not None
    return loader.num_workers == 0 and loader.pipeline is not None


class _EngineRecorder:
    """Observe a run of the engine.

    Parameters
    ----------
    iterator : iterator
        The iterator that the loop uses.
    run : Iterator
        The engine's run inside that iterator.
    """

    def __init__(self, iterator: Any, run: Iterator) -> None:
        self._iterator = iterator
        self._run = run

    def begin(self) -> None:
        self._observation = self._run._observe()
        self._before = self._run._position()[0]  # number of elements delivered, if known
        self._workers = _WorkersReady(self._run)
        # Its threads must end before the interpreter exits.
        self._end = weakref.finalize(self, self._observation.stop)

    def __iter__(self) -> Any:
        return iter(self._iterator)

    def end(self) -> Profile:
        self._end.detach()
        after = self._run._position()[0]
        seen = self._workers.added(self._observation.stop())
        taken = None if self._before is None or after is None else after - self._before
        if taken is not None and taken < 0:  # a state was restored in the block
            taken = None
        return Profile(seen, _arguments(self._run._dataset), processors(), taken)


class _WorkersReady:
    """Time for which the worker processes of a run were ready to run without a CPU."""

    def __init__(self, run: Iterator) -> None:
        self._run = run
        self._before = dict(self._now())

    def _now(self) -> Generator[tuple[tuple[str, int], float], None, None]:
        for stage in self._run._stage_stats():
            for worker in stage["workers"]:
                yield (stage["path"], worker["pid"]), ready_seconds(worker["pid"])

    def added(self, seen: dict[str, Any]) -> dict[str, Any]:
        """Return an observation with this time added to each stage."""
        seconds: Counter[str] = Counter()
        for key, ready in self._now():
            seconds[key[0]] += max(ready - self._before.get(key, 0.0), 0.0)  # type: ignore[assignment]
        stages = [{**each, "workers_ready": seconds[each["path"]]} for each in seen["stages"]]
        return {**seen, "stages": stages}


def _itself(profile: Profile) -> Profile:
    return profile


def profile_loop(
    iterable: Any, seconds: float, step: Callable[[Any], Any] | float | None
) -> Profile | LoopProfile:
    """Profile repeated loops over any iterable until the time is up."""
    if (dataset := pipeline_of(iterable)) is not None:
        return profile_dataset(dataset, seconds, step)
    take = _step_of(step)
    end = math.inf
    with Watch(iterable) as watch:
        before = -1
        count = 0
        while count > before and time.perf_counter() < end:
            before = count
            for element in watch:
                if count == 0:  # workers may take long to start
                    end = time.perf_counter() + seconds
                take(element)
                count += 1
                if time.perf_counter() >= end:
                    break
    return watch.result


def profile_dataset(
    dataset: Any, seconds: float, step: Callable[[Any], Any] | float | None
) -> Profile:
    """Return the profile of a dataset that is iterated with `step`; see `Dataset.profile`."""
    if not seconds > 0:
        raise ValueError(f"profile: seconds must be above 0, got {seconds}")
    if step is not None and not callable(step):
        if not hasattr(step, "__float__"):
            raise TypeError(f"profile: step must be a callable or seconds, got {step!r:.200}")
        checks.seconds("profile: step", step)
        if step < 0:
            raise ValueError(
                f"profile: step must be a callable, or seconds from 0 on, got {step!r}"
            )
    take = _step_of(step)
    again = dataset._node.cardinality != _INFINITE
    with iter(dataset.repeat() if again else dataset) as iterator:
        taken = 0
        for element in iterator:  # do not measure the start
            take(element)
            break
        else:
            raise ValueError("profile: the dataset is empty; there is nothing to profile")
        observation, workers = iterator._observe(), _WorkersReady(iterator)
        try:
            end = time.perf_counter() + seconds
            for element in iterator:
                take(element)
                taken += 1
                if time.perf_counter() >= end:
                    break
        finally:
            seen = workers.added(observation.stop())
    seen = _without_repeat(seen) if again else seen
    return Profile(seen, _arguments(dataset), processors(), taken)


def _without_repeat(seen: dict[str, Any]) -> dict[str, Any]:
    """Return an observation without the `repeat` stage that this module added."""
    at = next(i for i, stage in enumerate(seen["stages"]) if stage["path"] == "0")
    kept = [stage for i, stage in enumerate(seen["stages"]) if i != at]
    for stage in kept:
        stage["path"] = _inner(stage["path"])
    threads = [
        {
            **thread,
            "spans": [
                (start, end, path and _inner(path), *rest)
                for start, end, path, *rest in thread["spans"]
            ],
        }
        for thread in seen["threads"]
    ]
    buffers = [each[:at] + each[at + 1 :] for each in seen["history"]["buffers"]]
    history = {**seen["history"], "buffers": buffers}
    return {**seen, "stages": kept, "threads": threads, "history": history}


def _inner(path: str) -> str:
    return "0" + path[len("0.0") :] if path != "0" else path


def _step_of(step: Callable[[Any], Any] | float | None) -> Callable[[Any], Any]:
    if step is None:
        return lambda element: None
    if callable(step):
        return step
    seconds = float(step)
    return lambda element: time.sleep(seconds)


def _arguments(dataset: Stage) -> dict[str, dict[str, Any]]:
    """Return the arguments of each stage of a dataset, by path."""
    found = {}
    todo = [("0", dataset)]
    while todo:
        path, stage = todo.pop()
        found[path] = stage._args
        todo += [(f"{path}.{i}", each) for i, each in enumerate(stage._inputs)]
    return found
