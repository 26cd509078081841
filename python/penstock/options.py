"""How a pipeline is run; never what it gives."""

from __future__ import annotations

from typing import Any


class ThreadingOptions:
    """Threads of a run.

    Attributes
    ----------
    private_threadpool_size : int or None
        Native worker threads, and the least that AUTOTUNE starts with; None or 0 means the number
        of CPUs this process may use.
    max_intra_op_parallelism : int or None
        Accepted for programs written for tf.data; penstock's operations use one thread each.
    """

    __slots__ = ("max_intra_op_parallelism", "private_threadpool_size")

    def __init__(self) -> None:
        self.private_threadpool_size: int | None = None
        self.max_intra_op_parallelism: int | None = None


class Options:
    """Options of a dataset, set with `Dataset.with_options`.

    Attributes
    ----------
    deterministic : bool or None
        Whether parallel stages deliver in order when their own ``deterministic`` is None. None
        means True.
    threading : ThreadingOptions
        Threads of a run.
    memory_limit : int or None
        Bytes that the stages of a run may hold together of what they produced ahead; each may
        always hold one element. None means a quarter of the memory that is available when the run
        begins.

    Examples
    --------
    >>> options = ps.Options()
    >>> options.deterministic = False
    >>> ds = ps.Dataset.range(3).with_options(options)
    >>> ds.options().deterministic
    False
    """

    __slots__ = ("deterministic", "memory_limit", "threading")

    def __init__(self) -> None:
        self.deterministic: bool | None = None
        self.threading = ThreadingOptions()
        self.memory_limit: int | None = None

    def merge(self, other: Options) -> Options:
        """Return these options overridden by those that another sets.

        Parameters
        ----------
        other : Options
            What it leaves at None stays as it is here.

        Returns
        -------
        Options
            A new one.
        """
        merged = Options()
        for name in ("deterministic", "memory_limit"):
            setattr(merged, name, _later(getattr(self, name), getattr(other, name)))
        for name in ThreadingOptions.__slots__:
            value = _later(getattr(self.threading, name), getattr(other.threading, name))
            setattr(merged.threading, name, value)
        return merged

    def for_engine(self) -> dict[str, Any]:
        """Return the form that the engine's iterator takes.

        Raises
        ------
        ValueError
            If a number is negative.
        """
        threads = self.threading.private_threadpool_size or 0
        limit = self.memory_limit or 0
        if threads < 0:
            raise ValueError(f"options: private_threadpool_size must be >= 0, got {threads}")
        if limit < 0:
            raise ValueError(f"options: memory_limit must be >= 0 bytes, got {limit}")
        return {
            "deterministic": self.deterministic is not False,
            "threads": threads,
            "memory_limit": limit,
        }

    def __repr__(self) -> str:
        return (
            f"Options(deterministic={self.deterministic}, memory_limit={self.memory_limit}, "
            f"threading.private_threadpool_size={self.threading.private_threadpool_size})"
        )


def _later(first: Any, second: Any) -> Any:
    return first if second is None else second
