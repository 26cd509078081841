"""Distribution strategies with a single replica."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.tf import math as _math


class InputContext:
    """The input pipeline that a function creates a dataset for.

    Parameters
    ----------
    num_input_pipelines : int
        Number of input pipelines.
    input_pipeline_id : int
        Index of this input pipeline.
    num_replicas_in_sync : int
        Number of replicas that share a batch.
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the batch size of one replica.

        Raises
        ------
        ValueError
            If the global batch size is not divisible by the number of replicas.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: "
            f"{self.num_input_pipelines})"
        )


class InputReplicationMode(enum.Enum):
    """Division of inputs among replicas."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions:
    """Options for copying batches to devices; without effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.options = kwargs


RunOptions = InputOptions


class ReduceOp(enum.Enum):
    """Reduction of the values of replicas."""

    SUM = "SUM"
    MEAN = "MEAN"


class ReplicaContext:
    """The context of the single replica."""

    replica_id_in_sync_group = 0
    num_replicas_in_sync = 1

    @property
    def strategy(self) -> Strategy:
        """The strategy."""
        return get_strategy()

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Return the value: there is only one replica."""
        return value

    def merge_call(self, merge_fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function with the strategy."""
        return merge_fn(get_strategy(), *args, **(kwargs or {}))


class Strategy:
    """A single replica on this machine, whatever devices are named."""

    num_replicas_in_sync = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cluster_resolver = None

    @property
    def extended(self) -> Strategy:
        """The strategy itself."""
        return self

    worker_devices = parameter_devices = ("/device:CPU:0",)

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Enter the scope of the strategy, for a ``with`` block."""
        _entered.append(self)
        try:
            yield self
        finally:
            _entered.pop()

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset: the single replica receives all batches."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> Any:
        """Return the dataset that a function creates for the single input pipeline."""
        return dataset_fn(InputContext())

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(
        self, value_fn: Callable[[ReplicaContext], Any]
    ) -> Any:
        """Return the value that a function creates for the single replica."""
        return value_fn(ReplicaContext())

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Call a function."""
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """Return the value, or its sum or mean along an axis."""
        if axis is None:
            return tensor(value)
        name = getattr(reduce_op, "value", reduce_op).lower()
        return vars(_math)[f"reduce_{name}"](value, axis)

    def gather(self, value: Any, axis: int) -> Any:
        """Return the value: there is only one replica."""
        return tensor(value)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the value of the single replica in a tuple."""
        return (value,)


class CentralStorageStrategy(Strategy):
    """A single replica on this machine."""


class MirroredStrategy(Strategy):
    """A single replica on this machine."""


class MultiWorkerMirroredStrategy(Strategy):
    """A single replica on this machine."""


class OneDeviceStrategy(Strategy):
    """A single replica on this machine."""


class ParameterServerStrategy(Strategy):
    """A single replica on this machine."""


class TPUStrategy(Strategy):
    """A single replica on this machine."""


_entered: list[Strategy] = [Strategy()]


def get_strategy() -> Strategy:
    """Return the strategy of the innermost scope."""
    return _entered[-1]


def has_strategy() -> bool:
    """Return whether code runs in the scope of a strategy."""
    return len(_entered) > 1


def in_cross_replica_context() -> bool:
    """Return whether code runs in the scope of a strategy."""
    return has_strategy()


def get_replica_context() -> ReplicaContext | None:
    """Return the single replica; None in the scope of a strategy."""
    return None if has_strategy() else ReplicaContext()


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Set the strategy for the rest of the program."""
    _entered[:] = [_entered[0], *([] if strategy is None else [strategy])]


__dir__ = listing(globals())
