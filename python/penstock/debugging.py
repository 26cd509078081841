"""Debug mode: run new iterators entirely in the calling thread."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_enabled = os.environ.get("PENSTOCK_DEBUG", "") not in {"", "0"}


def enabled() -> bool:
    """Return whether new iterators run in debug mode."""
    return _enabled


def enable_debug_mode() -> None:
    """Run new iterators inline, so that functions can be debugged.

    Iterators created after the call run each stage in the thread that calls ``next``, one element
    at a time. Nothing runs in parallel or ahead, and functions decorated with ``ps.native`` are
    called as plain Python. ``print`` therefore shows values, and ``breakpoint()`` and pdb work in
    every function.

    See Also
    --------
    disable_debug_mode, debug_mode

    Notes
    -----
    Elements, their order and their random numbers do not change, and a state saved in one mode can
    be restored in the other. Only a state saved with ``deterministic=False`` must be restored in
    its own mode. The environment variable ``PENSTOCK_DEBUG=1`` has the same effect as this call.

    The mode applies to the whole process. Datasets may be created before or after the call. A
    native function is still traced, twice, when it is passed to a stage.

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
    """Let new iterators run in parallel and prefetch again.

    Examples
    --------
    >>> ps.experimental.disable_debug_mode()
    >>> ps.Dataset.range(3).map(lambda x: x + 1, num_parallel_calls=2).first()
    np.int64(1)
    """
    _switch(False)


@contextmanager
def debug_mode() -> Iterator[None]:
    """Run iterators created inside a ``with`` block in debug mode.

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
