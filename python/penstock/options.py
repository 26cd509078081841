"""How a pipeline is run; never what it gives."""

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

_STALL_SECONDS = 60.0  # unless an option says otherwise
_MOST_SECONDS = 10**9


class ThreadingOptions(OptionSet):
    """Threads of a run.

    Attributes
    ----------
    private_threadpool_size : int or None
        The most calls of a native function that a parallel `map` runs at a time, and the calls (two
        at least) that a `map` with AUTOTUNE starts with; None or 0 means the number of CPUs that
        this process may use. No pool of threads is made.
    max_intra_op_parallelism : int or None
        Accepted without effect: penstock's operations use one thread each.
    """

    __slots__ = ()

    private_threadpool_size = Option(int, at_least=0, at_most=MOST_THREADS)
    max_intra_op_parallelism = Option(int)


class AutotuneOptions(OptionSet):
    """Bounds of what AUTOTUNE (-1) finds out while a pipeline runs.

    Attributes
    ----------
    enabled : bool or None
        False keeps parallel calls and buffers with AUTOTUNE where they start. None means True.
    cpu_budget : int or None
        The most calls that all stages with ``num_parallel_calls=AUTOTUNE`` run at a time, together
        (a stage runs one in any case); None or 0 means no more than 64 for each,
        or twice the processors.
    ram_budget : int or None
        Bytes that the stages of a run may hold together of what they produced ahead, tuned or not;
        each may always hold one element. None or 0 means a quarter of the memory that is available
        when the run begins. `Options.memory_limit` is another name of it.
    initial_parallelism : int or None
        Calls that a stage with AUTOTUNE starts with; None or 0 means
        `ThreadingOptions.private_threadpool_size`, two at least.
    min_parallelism : int or None
        Calls that AUTOTUNE does not go below, as far as the budget allows.
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
        Whether parallel stages deliver in order when their own ``deterministic`` is None. None
        means True.
    autotune : AutotuneOptions
        Bounds of AUTOTUNE.
    threading : ThreadingOptions
        Threads of a run.
    memory_limit : int or None
        Another name of ``autotune.ram_budget``.
    count_all : bool or None
        True counts what stages hold for long against `memory_limit`, too: the buffer of `shuffle`,
        a `cache` in memory, the windows of `group_by_window` and `bucket_by_sequence_length`.
        Stages that run ahead get what is left; a stage that alone would hold more than the limit
        raises a MemoryError. Freed memory then goes back to the system at once, for all of the
        process. None means False: only what runs ahead counts.
    warm_start : bool or None
        True starts the threads of ``prefetch`` and of parallel ``map`` when the iterator is made,
        so that the first element is on its way before it is asked for. None means False: nothing
        runs before the first ``next``. ``experimental_warm_start`` is another name of it.
    warn : bool or None
        True warns of what `Dataset.lint` finds, once for each rule, at the first iteration; nothing
        is computed for it.
    executor : "thread", "process", "auto" or None
        Who calls the functions of `map` and `filter`, and runs the generators of `from_generator`,
        where their own ``executor`` is None: see :doc:`/guides/python_functions`. None means
        "thread". Native functions, coroutine functions and looks at `Dataset.element_spec` do
        without worker processes.
    slow_element_seconds : float or None
        A call of a function, or a read of a file, that takes longer is a warning of the logger
        ``penstock``, which names the stage, the element and the seconds; see
        :doc:`/guides/debugging`. Of many slow calls only some are, and those say how many were
        left out. None or 0 means never.
    stall_seconds : float or None
        When no element has come for so long, one warning of the logger says what everything waits
        for. None means 60, 0 never. In debug mode there is none.
    dataset_name : str or None
        A name that errors (as a note), `Iterator.stats` and traces carry, where a program runs
        several pipelines.
    experimental_optimization : OptimizationOptions
        Accepted without effect, as all that follow.
    experimental_distribute : DistributeOptions
        Without effect: a dataset is split by `Dataset.shard`.
    experimental_service : ServiceOptions
        Without effect.
    experimental_external_state_policy : ExternalStatePolicy or None
        Without effect: states never hold any.
    experimental_slack : bool or None
        Without effect.
    experimental_symbolic_checkpoint : bool or None
        Without effect: states hold positions, never elements.
    framework_type : list of str or None
        Without effect.
    experimental_deterministic, experimental_threading
        Older names of `deterministic` and `threading`.

    Notes
    -----
    A name that is none of these is an AttributeError, a value of another type a TypeError, a
    negative number a ValueError, all where they are set. Options are equal when the same values
    are set, and they pickle.

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
        """Return the options that both set, to different values.

        Parameters
        ----------
        other : Options
            The other ones.

        Returns
        -------
        dict
            The value here and the value there, by name.

        Raises
        ------
        TypeError
            If `other` is none.
        """
        if not isinstance(other, Options):
            raise TypeError(f"conflicts: other must be Options, got {other!r:.200}")
        mine, others = self.set_values(), other.set_values()
        both = mine.keys() & others.keys()
        return {n: (mine[n], others[n]) for n in sorted(both) if mine[n] != others[n]}

    def _for_engine(self, counted: bool = True) -> dict[str, Any]:
        """Return the form that the engine's iterator takes.

        Parameters
        ----------
        counted : bool
            False for a look at the elements, after which runs are what they were.

        Returns
        -------
        dict
            What is not set is there with its default.
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
    """Return the options of a stage over inputs with these; warn of those that differ."""
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
