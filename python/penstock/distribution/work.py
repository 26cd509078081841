"""What the stage `distribute` asks for when a run begins: who makes its elements."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from penstock.dataset import Dataset
from penstock.distribution.job import Job
from penstock.distribution.settings import Settings
from penstock.distribution.shared import SharedConsumer, local_coordinator
from penstock.distribution.workers import Workers, opened_threads


class Work:
    """A pipeline, and how it is divided; the engine's stage calls it.

    Parameters
    ----------
    dataset : Dataset
        What the workers run.
    settings : Settings
        How.
    """

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self._dataset = dataset
        self._settings = settings

    def open(self, place: int, ordered: bool) -> Job | SharedConsumer:
        """Return what gives the elements to one iterator, once it was begun.

        Parameters
        ----------
        place : int
            Of the pipeline in the consumer's, which its random draws depend on.
        ordered : bool
            Whether elements come in the order of one process.
        """
        settings = self._settings
        if settings.name is None:
            opener = functools.partial(open_workers, self._dataset, settings)
            return Job(opener, settings, place, ordered)
        if settings.engine == "local":
            coordinator: Any = local_coordinator(settings.name, opened_threads)
        else:
            from penstock.distribution.ray_shared import RayCoordinator

            coordinator = RayCoordinator(settings.name)
        return SharedConsumer(coordinator, self._dataset, settings, place)

    def __repr__(self) -> str:
        settings = self._settings
        name = "" if settings.name is None else f", job {settings.name!r}"
        return f"<{settings.num_workers} {settings.engine} workers{name}>"


def open_workers(dataset: Dataset, settings: Settings) -> Workers:
    """Return workers for a job that is not shared."""
    if settings.engine == "local":
        return opened_threads(dataset, settings.num_workers, {})
    from penstock.distribution.ray_workers import RayWorkers

    return RayWorkers(dataset, settings.num_workers, dict(settings.options), apart=False)


def distributed(
    dataset: Any,
    engine: str,
    num_workers: int,
    split: Any,
    deterministic: bool,
    lease_timeout: float,
    shared: bool,
    name: str | None,
    num_consumers: int | None,
    options: Mapping[str, Any],
) -> Any:
    """Return a dataset whose elements workers make, as `Dataset.distribute` says."""
    if not lease_timeout > 0:
        raise ValueError(f"distribute: lease_timeout must be > 0 seconds, got {lease_timeout}")
    if shared and (name is None or num_consumers is None or not deterministic):
        raise ValueError(
            "distribute: shared=True needs the name of the job and num_consumers, and consumers "
            f"take the elements in order; got name={name!r}, num_consumers={num_consumers!r}, "
            f"deterministic={deterministic!r}"
        )
    if num_consumers is not None and not shared:
        raise ValueError(
            f"distribute: num_consumers is for shared=True, got {num_consumers!r} with shared=False"
        )
    if engine == "local":
        if options:
            raise TypeError(
                f"distribute: there is no argument {min(options)!r}; engine='local' has no options"
            )
        of_actors: dict[str, Any] = {}
    else:
        from penstock.distribution.ray_workers import checked_options

        of_actors = checked_options(options)
    settings = Settings(
        engine=engine,
        num_workers=num_workers,
        split=None if split == "auto" else int(split),
        lease_timeout=lease_timeout,
        name=name if shared else None,
        num_consumers=num_consumers or 1,
        options=of_actors,
    )
    work = Work(dataset, settings)
    stage = None if shared else name
    return dataset._then("distribute", work=work, deterministic=deterministic, name=stage)
