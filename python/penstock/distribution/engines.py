"""What `distribute` makes of its arguments."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from penstock.distribution.distributed import Distributed, Opener, Settings
from penstock.distribution.workers import Threads


def distributed(
    dataset: Any,
    engine: str,
    num_workers: int,
    split: Any,
    deterministic: bool,
    lease_timeout: float,
    options: Mapping[str, Any],
) -> Distributed:
    """Return a dataset whose elements workers make, as `Dataset.distribute` says."""
    if not lease_timeout > 0:
        raise ValueError(f"distribute: lease_timeout must be > 0 seconds, got {lease_timeout}")
    if engine == "local":
        if options:
            raise TypeError(
                f"distribute: there is no argument {min(options)!r}; engine='local' has no options"
            )
        opener: Opener = functools.partial(Threads, count=num_workers)
    else:
        from penstock.distribution.ray_workers import RayWorkers, checked_options

        opener = functools.partial(RayWorkers, count=num_workers, options=checked_options(options))
    return Distributed(
        dataset,
        Settings(
            opener=opener,
            num_workers=num_workers,
            split=None if split == "auto" else int(split),
            deterministic=deterministic,
            lease_timeout=lease_timeout,
        ),
    )
