"""Debug mode: whether runs that begin now do everything in the thread that asks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_enabled = os.environ.get("PENSTOCK_DEBUG", "") not in {"", "0"}


def enabled() -> bool:
    """Return whether an iterator made now is debugged."""
    return _enabled


def enable_debug_mode() -> None:
    """Run everything inline from now on, so that functions can be debugged.

    Iterators made after the call run each stage in the thread that calls ``next``, one element
    after the other: nothing is parallel, nothing runs ahead. Functions decorated with
    ``ps.native`` are called as plain Python. So ``print`` shows values, and ``breakpoint()`` and
    pdb work in every function.

    See Also
    --------
    disable_debug_mode, debug_mode

    Notes
    -----
    Elements, their order and their random numbers stay what they are, and states can be saved in
    one mode and restored in the other (one that was saved with ``deterministic=False`` only in its
    own mode). The environment variable ``PENSTOCK_DEBUG=1`` has the same effect.

    It belongs to the process. Datasets may be made before or after; a native function is still
    traced, twice, when it is given to a stage.

    Examples
    --------
    >>> ps.experimental.enable_debug_mode()
    >>> @ps.native
    ... def double(x):
    ...     print("got", x)
    ...     return 2 * x
    >>> ds = ps.Dataset.range(2).map(double, num_parallel_calls=4).prefetch(2)
    got <a value that is known only when the native function runs>
    got <a value that is known only when the native function runs>
    >>> for x in ds:
    ...     print(x)
    got 0
    0
    got 1
    2
    >>> ps.experimental.disable_debug_mode()
    """
    _switch(True)


def disable_debug_mode() -> None:
    """Let iterators made from now on run in parallel and ahead again.

    Examples
    --------
    >>> ps.experimental.disable_debug_mode()
    >>> ps.Dataset.range(3).map(lambda x: x + 1, num_parallel_calls=2).first()
    np.int64(1)
    """
    _switch(False)


@contextmanager
def debug_mode() -> Iterator[None]:
    """Debug the iterators that are made inside a ``with`` block.

    Examples
    --------
    >>> ds = ps.Dataset.range(3).map(lambda x: x + 1, num_parallel_calls=2)
    >>> with ps.experimental.debug_mode():
    ...     it = iter(ds)
    >>> [int(x) for x in it]
    [1, 2, 3]
    """
    before = _enabled
    _switch(True)
    try:
        yield
    finally:
        _switch(before)


def _switch(on: bool) -> None:
    global _enabled
    _enabled = on
