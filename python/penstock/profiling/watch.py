"""Watching a run: beside a step that stands for training, or in the user's own loop."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

from penstock import _core
from penstock.arguments import checks
from penstock.arguments.checked import checked
from penstock.iterator import Iterator
from penstock.profiling.results import Profile
from penstock.stage import Stage

__all__ = ["profile", "profile_dataset"]

_INFINITE = -1


@checked
def profile(iterator: Iterator) -> Watch:
    """Watch an iterator of a training loop: ``with ps.profile(it) as p:``.

    Parameters
    ----------
    iterator : Iterator
        Made by ``iter(dataset)``.

    Returns
    -------
    context manager
        It gives an object whose attributes are those of a `Profile` after the block, which is also
        its ``result``.

    Raises
    ------
    TypeError
        If it is no iterator of a dataset.
    ValueError
        If nothing was taken from it in the block, when the profile is read.

    Notes
    -----
    Threads are sampled from beside; the samples take at most a hundredth of one processor. Watch
    for some seconds, after the first elements have come.

    Examples
    --------
    >>> it = iter(ps.Dataset.range(100000).map(lambda x: x + 1).batch(100).prefetch(2))
    >>> first = next(it)
    >>> with ps.profile(it) as p:
    ...     for batch in it:
    ...         pass
    >>> p.elements
    999
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(
            f"profile: expected an iterator of a dataset, got {iterator!r:.200}; "
            "use `with penstock.profile(it)` after `it = iter(dataset)`"
        )
    return Watch(iterator)


class Watch:
    """A block that is watched; made by `profile`."""

    def __init__(self, iterator: Iterator) -> None:
        self._iterator = iterator
        self._observation: Any = None
        self._end: Any = None
        self._before: int | None = None  # elements that were delivered, where that is known
        self._result: Profile | None = None
        self._missing = "the block has not ended; read the profile after it"

    @property
    def result(self) -> Profile:
        """The profile, after the block."""
        if self._result is None:
            raise ValueError(f"profile: {self._missing}")
        return self._result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.result, name)

    def __str__(self) -> str:
        return str(self._result) if self._result else repr(self)

    def __repr__(self) -> str:
        return repr(self._result) if self._result else f"<profile: {self._missing}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.result,)  # the iterator is of this process

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    def __enter__(self) -> Watch:
        if self._observation is not None:
            raise ValueError("profile: it was used before; make another with penstock.profile(it)")
        self._observation = self._iterator._observe()
        self._before = self._iterator._position()[0]
        # Its threads end before those of the interpreter are gone.
        self._end = weakref.finalize(self, self._observation.stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._observation is None:
            raise ValueError("profile: the block has not begun; write `with penstock.profile(it)`")
        self._end.detach()
        after = self._iterator._position()[0]
        seen = self._observation.stop()
        taken = None if self._before is None or after is None else after - self._before
        if taken is not None and taken < 0:  # it was restored in the block
            taken = None
        dataset = self._iterator._dataset
        try:
            self._result = Profile(seen, _arguments(dataset), processors(), taken)
        except ValueError as found:  # nothing was taken
            self._missing = str(found).removeprefix("profile: ")
            if error is None:
                raise


def _itself(profile: Profile) -> Profile:
    return profile


def profile_dataset(
    dataset: Any, seconds: float, step: Callable[[Any], Any] | float | None
) -> Profile:
    """Return the profile of a dataset that is run beside `step`; `Dataset.profile`."""
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
        for element in iterator:  # the start is not what is asked about
            take(element)
            break
        else:
            raise ValueError("profile: the dataset is empty; there is nothing to profile")
        observation = iterator._observe()
        try:
            end = time.perf_counter() + seconds
            for element in iterator:
                take(element)
                taken += 1
                if time.perf_counter() >= end:
                    break
        finally:
            seen = observation.stop()
    seen = _without_repeat(seen) if again else seen
    return Profile(seen, _arguments(dataset), processors(), taken)


def _without_repeat(seen: dict[str, Any]) -> dict[str, Any]:
    """Return what was seen of the dataset inside a repeat that only this module has added."""
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


def processors() -> float:
    """Return how many processors this process may use; a quota may leave a fraction."""
    cpu = _core.cpu_info()
    quota = cpu["quota"]
    return min(quota, float(cpu["effective"])) if quota > 0 else float(cpu["effective"])


def _step_of(step: Callable[[Any], Any] | float | None) -> Callable[[Any], Any]:
    if step is None:
        return lambda element: None
    if callable(step):
        return step
    seconds = float(step)
    return lambda element: time.sleep(seconds)


def _arguments(dataset: Stage) -> dict[str, dict[str, Any]]:
    """Return what the stages of a dataset were made with, by their paths."""
    found = {}
    todo = [("0", dataset)]
    while todo:
        path, stage = todo.pop()
        found[path] = stage._args
        todo += [(f"{path}.{i}", each) for i, each in enumerate(stage._inputs)]
    return found
