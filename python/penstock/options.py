"""Options of a run, which never change the elements of a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from penstock import debugging
from penstock.arguments.checked import checked
from penstock.arguments.checks import MOST_THREADS
from penstock.executors import EXECUTORS
from penstock.option_set import Alias, Group, Option, OptionSet
from penstock.unused_options import (
    AutotuneAlgorithm,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ServiceOptions,
)

_STALL_SECONDS = 60.0  # the default
_MOST_SECONDS = 10**9


class ThreadingOptions(OptionSet):
    """Thread options of a run.

    Attributes
    ----------
    private_threadpool_size : int or None
        Maximum number of concurrent calls of a native function in a parallel `map`. Also the number
        of calls (at least two) that a `map` with AUTOTUNE starts with. None or 0 means the number
        of CPUs available to this process. There is no separate thread pool.
    max_intra_op_parallelism : int or None
        Accepted without effect: penstock's operations each use one thread.
    """

    __slots__ = ()

    private_threadpool_size = Option(int, at_least=0, at_most=MOST_THREADS)
    max_intra_op_parallelism = Option(int)


class AutotuneOptions(OptionSet):
    """Limits for the values that AUTOTUNE (-1) finds while a pipeline runs.

    Attributes
    ----------
    enabled : bool or None
        False keeps parallel calls and buffers with AUTOTUNE at their initial values. None means
        True.
    cpu_budget : int or None
        Maximum number of concurrent calls of all stages with ``num_parallel_calls=AUTOTUNE``
        together; each stage may always run one. None or 0 means no common limit. Each stage is then
        limited to 64 calls or twice the number of CPUs, whichever is larger; native functions and
        worker processes are limited to the number of CPUs.
    ram_budget : int or None
        Maximum number of bytes that the stages of a run may hold together as prefetched elements,
        tuned or not. Each stage may always hold one element. None or 0 means a quarter of the
        memory that is available when the run begins. `Options.memory_limit` is an alias.
    initial_parallelism : int or None
        Calls that a stage with AUTOTUNE starts with. None or 0 means
        `ThreadingOptions.private_threadpool_size`, at least two.
    min_parallelism : int or None
        Minimum number of calls under AUTOTUNE, if the budget allows.
    autotune_algorithm : AutotuneAlgorithm or None
        Accepted without effect.

    Examples
    --------
    >>> options = ps.Options()
    >>> options.autotune.enabled = False
    >>> options.autotune.initial_parallelism = 3
    >>> ds = ps.Dataset.range(9).map(abs, ps.AUTOTUNE).with_options(options)
    >>> it = iter(ds)
    >>> next(it), it.stats()[0]["parallelism"]
    (np.int64(0), 3)
    """

    __slots__ = ()

    enabled = Option(bool)
    cpu_budget = Option(int, at_least=0)
    ram_budget = Option(int, at_least=0)
    initial_parallelism = Option(int, at_least=0, at_most=MOST_THREADS)
    min_parallelism = Option(int, at_least=0, at_most=MOST_THREADS)
    autotune_algorithm = Option(AutotuneAlgorithm)


class Options(OptionSet):
    """Options of a dataset, set with `Dataset.with_options`.

    Attributes
    ----------
    deterministic : bool or None
        Whether parallel stages deliver in order if their own ``deterministic`` is None. None means
        True.
    autotune : AutotuneOptions
        Limits of AUTOTUNE.
    threading : ThreadingOptions
        Thread options of a run.
    memory_limit : int or None
        Alias of ``autotune.ram_budget``.
    count_all : bool or None
        True also counts long-lived memory of stages against `memory_limit`: the buffer of
        `shuffle`, a `cache` in memory, and the windows of `group_by_window` and
        `bucket_by_sequence_length`. Stages that prefetch use the rest. A stage that alone would
        exceed the limit raises MemoryError. Freed memory is then returned to the system
        immediately, in the whole process. None means False: only prefetched elements count.
    warm_start : bool or None
        True starts the threads of ``prefetch`` and parallel ``map`` when the iterator is created,
        so that the first element is prepared before it is requested. None means False: nothing
        runs before the first ``next``. ``experimental_warm_start`` is an alias.
    warn : bool or None
        True issues a warning for each finding of `Dataset.lint`, once for each rule, at the first
        iteration. No elements are computed for it.
    executor : "thread", "process", "auto" or None
        Executor for the functions of `map` and `filter` and the generators of `from_generator`
        whose own ``executor`` is None: see :doc:`/guides/python_functions`. None means "thread".
        Native functions, coroutine functions and the computation of `Dataset.element_spec` never
        use worker processes.
    slow_element_seconds : float or None
        If a function call or a file read takes longer, the logger ``penstock`` emits a warning with
        the stage, the element and the seconds; see :doc:`/guides/debugging`. If many calls are
        slow, only some are logged, with the number of calls that were omitted. None or 0 means
        never.
    stall_seconds : float or None
        If no element arrives for this long, the logger emits one warning that names the call or
        stage that everything waits for. None means 60, 0 means never. Debug mode emits no such
        warning.
    dataset_name : str or None
        Name of the dataset in errors (as a note), `Iterator.stats` and traces, for programs that
        run several pipelines.
    experimental_optimization : OptimizationOptions
        Accepted without effect, like all options below.
    experimental_distribute : DistributeOptions
        Without effect: use `Dataset.shard` to divide a dataset.
    experimental_service : ServiceOptions
        Without effect.
    experimental_external_state_policy : ExternalStatePolicy or None
        Without effect: states never contain external state.
    experimental_slack : bool or None
        Without effect.
    experimental_symbolic_checkpoint : bool or None
        Without effect: states contain positions, never elements.
    framework_type : list of str or None
        Without effect.
    experimental_deterministic, experimental_threading
        Former names of `deterministic` and `threading`.

    Notes
    -----
    Setting an unknown name raises AttributeError, a value of the wrong type raises TypeError, and a
    negative number raises ValueError. Options compare equal if the same values are set, and can be
    pickled.

    Examples
    --------
    >>> options = ps.Options()
    >>> options.deterministic = False
    >>> options.autotune.cpu_budget = 2
    >>> ds = ps.Dataset.range(3).with_options(options)
    >>> ds.options()
    Options(deterministic=False, autotune.cpu_budget=2)
    >>> ds.options() == options
    True
    """

    __slots__ = ()

    deterministic = Option(bool)
    autotune = Group(AutotuneOptions)
    threading = Group(ThreadingOptions)
    memory_limit = Alias("autotune", "ram_budget")
    count_all = Option(bool)
    warm_start = Option(bool)
    warn = Option(bool)
    executor = Option(str, one_of=EXECUTORS)
    slow_element_seconds = Option(float, at_least=0, at_most=_MOST_SECONDS)
    stall_seconds = Option(float, at_least=0, at_most=_MOST_SECONDS)
    dataset_name = Option(str)
    experimental_optimization = Group(OptimizationOptions)
    experimental_distribute = Group(DistributeOptions)
    experimental_service = Group(ServiceOptions)
    experimental_external_state_policy = Option(ExternalStatePolicy)
    experimental_slack = Option(bool)
    experimental_symbolic_checkpoint = Option(bool)
    framework_type = Option(list)
    experimental_deterministic = Alias("deterministic")
    experimental_threading = Alias("threading")
    experimental_warm_start = Alias("warm_start")

    @checked
    def conflicts(self, other: Options) -> dict[str, tuple[Any, Any]]:
        """Return the options that are set in both to different values.

        Parameters
        ----------
        other : Options
            The options to compare with.

        Returns
        -------
        dict
            For each name, the value in these options and the value in `other`.

        Raises
        ------
        TypeError
            If `other` is not an Options object.
        """
        if not isinstance(other, Options):
            raise TypeError(f"conflicts: other must be Options, got {other!r:.200}")
        mine, others = self.set_values(), other.set_values()
        both = mine.keys() & others.keys()
        return {n: (mine[n], others[n]) for n in sorted(both) if mine[n] != others[n]}

    def _for_engine(self, counted: bool = True) -> dict[str, Any]:
        """Return the options as a dict for the engine's iterator.

        Parameters
        ----------
        counted : bool
            False for a look at the elements (`Dataset.element_spec`), which must not affect later
            runs.

        Returns
        -------
        dict
            All options, with defaults for those that are not set.
        """
        debug = debugging.enabled()
        stall = _STALL_SECONDS if self.stall_seconds is None else self.stall_seconds
        return {
            "deterministic": self.deterministic is not False,
            "threads": self.threading.private_threadpool_size or 0,
            "memory_limit": self.autotune.ram_budget or 0,
            "counts_all": bool(self.count_all) and counted,
            "counted": counted,
            "debug": debug,
            "executor": (self.executor if counted else None) or "thread",
            "name": self.dataset_name or "",
            "tunes": self.autotune.enabled is not False,
            "cpu_budget": self.autotune.cpu_budget or 0,
            "first_calls": self.autotune.initial_parallelism or 0,
            "least_calls": self.autotune.min_parallelism or 1,
            "slow_element_seconds": (self.slow_element_seconds or 0.0) if counted else 0.0,
            "stall_seconds": stall if counted and not debug else 0.0,
            "warm_start": bool(self.warm_start) and counted and not debug,
        }


_UNSET = Options()


def merged(kind: str, inputs: Sequence[Options]) -> Options:
    """Return the options of a stage with these inputs; warn if they conflict."""
    options = inputs[0] if inputs else _UNSET
    for other in inputs[1:]:
        if other is options:
            continue
        for name, (one, two) in options.conflicts(other).items():
            warnings.warn(
                f"{kind}: its inputs have different options: {name} is {one!r} and {two!r}; the "
                "last one counts, set it on the result to choose",
                RuntimeWarning,
                stacklevel=6,
            )
        options = options.merge(other)
    return options
