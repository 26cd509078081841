"""Interface of the `distribute` stage: opens the workers or the shared job of a run."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from penstock.dataset import Dataset
from penstock.distribution.failures import own
from penstock.distribution.job import Job
from penstock.distribution.settings import Settings
from penstock.distribution.shared import SharedConsumer, local_coordinator
from penstock.distribution.workers import Workers, opened_threads


class Work:
    """A pipeline and how to divide it; called by the engine's stage.

    Parameters
    ----------
    dataset : Dataset
        The pipeline that the workers run.
    settings : Settings
        How to divide its work.
    """

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self._dataset = dataset
        self._settings = settings
        self._fingerprint = int(dataset.fingerprint()) if self.shared else 0

    @property
    def shared(self) -> bool:
        """Whether several consumers share one job."""
        return self._settings.name is not None

    def open(self, place: bytes, ordered: bool) -> Job | SharedConsumer:
        """Return the object that provides elements to one iterator, after its `begin`.

        Parameters
        ----------
        place : bytes
            Position of the pipeline within the consumer's, on which random draws depend.
        ordered : bool
            Whether to return elements in the order of a single process.
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
        return SharedConsumer(coordinator, self._dataset, self._fingerprint, settings, place)

    def own_failure(self, failure: BaseException) -> BaseException:
        """Return a lease's exception as a copy that a consumer may raise."""
        return own(failure)

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
    consumer_index: int | None,
    options: Mapping[str, Any],
) -> Any:
    """Implement `Dataset.distribute`."""
    if not lease_timeout > 0:
        raise ValueError(f"distribute: lease_timeout must be > 0 seconds, got {lease_timeout}")
    _check_consumers(shared, name, num_consumers, consumer_index, deterministic)
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
        consumer_index=consumer_index or 0,
        options=of_actors,
    )
    work = Work(dataset, settings)
    stage = None if shared else name
    return dataset._then("distribute", work=work, deterministic=deterministic, name=stage)


def _check_consumers(
    shared: bool, name: str | None, count: int | None, index: int | None, deterministic: bool
) -> None:
    if not shared:
        if count is not None or index is not None:
            raise ValueError(
                "distribute: num_consumers and consumer_index are for shared=True, got "
                f"num_consumers={count!r}, consumer_index={index!r} with shared=False"
            )
        return
    if not name or count is None or index is None or not deterministic:
        raise ValueError(
            "distribute: shared=True needs the name of the job, num_consumers and consumer_index, "
            f"and consumers take the elements in order; got name={name!r}, num_consumers={count!r},"
            f" consumer_index={index!r}, deterministic={deterministic!r}"
        )
    if index >= count:
        raise ValueError(
            f"distribute: consumer_index must be less than num_consumers, {count}, got {index}"
        )
