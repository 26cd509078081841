"""Options of tf.data that penstock accepts without effect."""

from __future__ import annotations

import enum

from penstock.option_set import Option, OptionSet


class AutotuneAlgorithm(enum.Enum):
    """The algorithm of tf.data's AUTOTUNE; penstock has a single one."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class AutoShardPolicy(enum.IntEnum):
    """How tf.distribute divides a dataset among workers; use `Dataset.shard` instead."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """How tf.data handles state that it cannot save; penstock's states never contain any."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class OptimizationOptions(OptionSet):
    """Automatic rewrites of pipelines in tf.data; accepted without effect.

    Penstock always fuses stages where that is faster; elements never depend on it.

    Attributes
    ----------
    apply_default_optimizations, filter_fusion, filter_parallelization, inject_prefetch, \
map_and_batch_fusion, map_and_filter_fusion, map_fusion, map_parallelization, noop_elimination, \
parallel_batch, seq_interleave_prefetch, shuffle_and_repeat_fusion : bool or None
        As in tf.data.
    """

    __slots__ = ()

    apply_default_optimizations = Option(bool)
    filter_fusion = Option(bool)
    filter_parallelization = Option(bool)
    inject_prefetch = Option(bool)
    map_and_batch_fusion = Option(bool)
    map_and_filter_fusion = Option(bool)
    map_fusion = Option(bool)
    map_parallelization = Option(bool)
    noop_elimination = Option(bool)
    parallel_batch = Option(bool)
    seq_interleave_prefetch = Option(bool)
    shuffle_and_repeat_fusion = Option(bool)


class DistributeOptions(OptionSet):
    """How tf.distribute divides a dataset; accepted without effect: use `Dataset.shard`.

    Attributes
    ----------
    auto_shard_policy : AutoShardPolicy
        AUTO unless set.
    num_devices : int or None
        As in tf.data.
    """

    __slots__ = ()

    auto_shard_policy = Option(AutoShardPolicy, AutoShardPolicy.AUTO)
    num_devices = Option(int)


class ServiceOptions(OptionSet):
    """Options of the tf.data service; accepted without effect.

    Attributes
    ----------
    pinned : bool or None
        As in tf.data.
    """

    __slots__ = ()

    pinned = Option(bool)
