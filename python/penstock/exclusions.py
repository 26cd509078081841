"""ignored: values that are excluded from the identity of functions."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from penstock.arguments.checked import checked

_T = TypeVar("_T")


class Ignored(Generic[_T]):
    """A value that identities skip, created by `ignored`."""

    __slots__ = ("value",)

    def __init__(self, value: _T) -> None:
        self.value = value

    @property
    def __wrapped__(self) -> _T:
        return self.value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the value."""
        function: Any = self.value
        return function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"ignored({self.value!r})"


@checked
def ignored(value: _T) -> Ignored[_T]:
    """Exclude a value from the identity of functions that refer to it.

    States, caches and `Dataset.fingerprint` compare functions by their code and by the values that
    they refer to. Exclude a value that does not affect elements, but changes while the pipeline
    runs or differs between processes: a log, a counter, a memo, the path of a temporary folder.

    Parameters
    ----------
    value : object
        Any value. If it is a function, its code and the values that it refers to are excluded too.

    Returns
    -------
    Ignored
        Holds the value as ``.value``, which can be assigned. It is callable if the value is:
        ``ds.map(ps.ignored(function))``.

    Notes
    -----
    `docs/guides/checkpoints.md` defines the identity of a function.

    Examples
    --------
    >>> seen = ps.ignored([])
    >>> def note(x):
    ...     seen.value.append(int(x))
    ...     return x
    >>> state = iter(ps.Dataset.range(3).map(note)).get_state()
    >>> _ = list(ps.Dataset.range(3).map(note))
    >>> iter(ps.Dataset.range(3).map(note)).set_state(state)  # although seen has changed
    >>> seen.value
    [0, 1, 2]
    """
    return Ignored(value)
