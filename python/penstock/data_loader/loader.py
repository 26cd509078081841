"""The DataLoader class: PyTorch's arguments, checkpointing and counters."""

from __future__ import annotations

import base64
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import GenericAlias
from typing import Any, Literal

from penstock import _core, debugging
from penstock.account import account_of_values, differences
from penstock.arguments.checked import checked
from penstock.counters import metrics_of, totals
from penstock.data_loader import collate, torch_rules
from penstock.data_loader.arguments import (
    check,
    check_order,
    choose_samplers,
    is_iterable,
    method_of,
)
from penstock.data_loader.counts import Counts
from penstock.data_loader.draws import Draws
from penstock.data_loader.identity import without_progress
from penstock.data_loader.orders import rank_in, restore_epochs, samplers_state, shared_order
from penstock.data_loader.passes import InlinePass, Pass, ThreadedPass, kept_now
from penstock.data_loader.position import Position
from penstock.data_loader.process_pass import ProcessPass
from penstock.data_loader.processes import check_accelerate
from penstock.data_loader.replicas import position_of
from penstock.data_loader.settings import Settings
from penstock.data_loader.team import Team
from penstock.data_loader.thread_team import ThreadTeam, divides_itself
from penstock.errors import StateError
from penstock.loader_states import CHECKSUM, is_whole, signed

_VERSION = 2
_FIXED = (
    *("batch_size", "batch_sampler", "sampler", "drop_last", "dataset"),
    *("persistent_workers", "worker_method"),
)


class DataLoader(Settings):
    """Load batches of a dataset with worker threads or processes, like PyTorch's ``DataLoader``.

    Parameters
    ----------
    dataset : object
        Either map-style, with ``__getitem__`` and ``__len__``, or iterable, with ``__iter__``. A
        map-style dataset may instead define ``__getitems__``, which takes a list of indices and
        returns a list of samples. A PyTorch dataset is of the same kind as in PyTorch. A NumPy
        array is a dataset of its rows.
    batch_size : int or None
        Number of samples in a batch, >= 1. None: yield individual samples, without batching.
    shuffle : bool, optional
        Whether to read samples in random order, reshuffled in each epoch.
    sampler : iterable, optional
        Indices of the samples, in order. Cannot be combined with `shuffle`.
    batch_sampler : iterable, optional
        Lists of indices, one list per batch. Cannot be combined with `batch_size`, `shuffle`,
        `sampler` or `drop_last`.
    num_workers : int
        Number of threads or processes that load batches in advance. 0: each call of ``next`` loads
        its batch in the calling thread.
    collate_fn : callable, optional
        Function that turns a list of samples into a batch; `default_collate` if omitted. With
        ``batch_size=None``, it receives a single sample.
    pin_memory : bool
        Whether to copy PyTorch tensors to pinned memory if an accelerator is available.
    drop_last : bool
        Whether to drop an incomplete last batch.
    timeout : float
        Maximum time to wait for a batch, in seconds; 0 for no limit. Requires ``num_workers > 0``.
    worker_init_fn : callable, optional
        Called in each worker before it loads its first sample, with the worker's number from 0 to
        ``num_workers - 1``.
    multiprocessing_context : None, "spawn", "forkserver", "fork" or a context of these
        If set, workers are processes. With "spawn", each is a new interpreter. With "forkserver"
        and "fork" they are forked from penstock's fork server, which starts faster. They never
        inherit this process's memory, not even with "fork", because a process with threads cannot
        be forked safely.
    generator : int, numpy.random.Generator or torch.Generator, optional
        Source of randomness for shuffling. None: PyTorch's global generator for PyTorch datasets;
        otherwise the seed of `set_seed` if it was called, else the operating system.
    prefetch_factor : int, optional
        Number of batches that each worker loads in advance, >= 1; 2 by default if there are
        workers.
    persistent_workers : bool
        Whether worker processes keep running, with their copy of the dataset, after the end of an
        epoch. `worker_init_fn` is then called only once. The same holds for worker threads that
        each read a copy of the dataset; other worker threads end with the epoch.
    pin_memory_device : str
        Accepted and ignored: as in PyTorch, the current accelerator is used.
    in_order : bool
        Whether to yield batches in sampler order. False: yield each batch as soon as it is ready.
    worker_method : "thread" or "process", optional
        The kind of workers. None: processes if there is a `multiprocessing_context`, else threads.
        Use processes for datasets that hold the GIL, such as pure Python code.

    Raises
    ------
    ValueError
        If an argument is out of range or cannot be combined with another.
    TypeError
        If `dataset` is neither map-style nor iterable. With worker processes, also at the start of
        an epoch if `dataset`, `collate_fn` or `worker_init_fn` cannot be pickled.
    penstock.WorkerError
        On ``next``, if the worker process that was to load the batch has died.
    RuntimeError
        At the start of an epoch, if Accelerate runs several processes and neither `sampler` nor
        `batch_sampler` divides the data among them: ``accelerator.prepare`` does not shard this
        loader.

    Notes
    -----
    Torch in, torch out: PyTorch datasets, and samples that contain tensors, are collated by
    PyTorch's ``default_collate``. All other batches are NumPy arrays.

    Errors: an exception of ``dataset[i]`` is raised unchanged in place of its batch, with a note
    that names the index. Iteration can continue with the next batch.

    Threads: one thread reads an iterable dataset; the others collate. If the dataset's code calls
    `get_worker_info`, each thread reads its own copy of the dataset, like a PyTorch worker. Samples
    of a map-style dataset with a ``state_dict`` are fetched sequentially, so that its state after
    each batch is well defined.

    An iterator of the loader is not thread-safe, like PyTorch's. Threads that share one must hold a
    lock around ``next``. The iterator of a `Dataset` may be shared without a lock.

    Processes: as in PyTorch. Worker ``i % num_workers`` loads batch ``i``. Each worker has its own
    copy of the dataset, its own number (see `get_worker_info`) and its own seeds. Each reads the
    whole of an iterable dataset, unless the dataset divides itself among workers. Batches are
    passed through shared memory without a copy.

    :doc:`/guides/trainers` lists the differences from PyTorch.

    Examples
    --------
    >>> squares = [{"x": i, "square": i * i} for i in range(5)]
    >>> for batch in ps.DataLoader(squares, batch_size=3):
    ...     print(batch["square"])
    [0 1 4]
    [ 9 16]
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # as in PyTorch, for annotations

    @checked
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], object] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_method: Literal["thread", "process"] | None = None,
    ) -> None:
        check(num_workers, timeout, prefetch_factor, persistent_workers)
        dataset, shuffle = torch_rules.pipe_in_order(dataset, shuffle)
        method = method_of(worker_method, multiprocessing_context, num_workers, dataset)
        self._order_given = sampler is not None or batch_sampler is not None
        self._iterable = is_iterable(dataset, self._order_given)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.in_order = in_order
        self.worker_method: str = method
        self._team: Team | None = None  # kept because of persistent_workers
        self.persistent_workers = persistent_workers
        check_order(self._iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        batched = batch_size is not None
        self.batch_size = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self.sampler: Any = None
        self.batch_sampler: Any = None
        if not self._iterable:
            self.sampler, self.batch_sampler = choose_samplers(
                dataset, self.batch_size, shuffle, drop_last, generator, sampler
            )
            self.batch_sampler = self.batch_sampler if batch_sampler is None else batch_sampler
        of_torch = torch_rules.is_a("Dataset", dataset)
        self._follows_torch = (
            of_torch
            or torch_rules.is_generator(generator)
            or any(torch_rules.is_a("Sampler", given) for given in (sampler, batch_sampler))
        )
        if collate_fn is None:
            rules = torch_rules.data() if of_torch else collate
            collate_fn = rules.default_collate if batched else rules.default_convert
        self.collate_fn: Callable[[Any], Any] = collate_fn
        # Computed now, because using the dataset may change it.
        self._account = self._own_account()
        self._position: Position | None = None  # of the latest epoch
        self._saved: Mapping[str, Any] | None = None  # where the next epoch starts
        self._draws = Draws(generator, self._follows_torch)
        self._counts = Counts()
        self._pass: weakref.ref[Pass] | None = None  # the latest epoch
        self._seed_at_begin: int | None = None  # _draws.base_seed when the latest epoch began
        totals.add(self, self)
        self._complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_complete" in self.__dict__:
            raise ValueError(f"DataLoader: {name} cannot be changed; make another loader")
        super().__setattr__(name, value)

    def __iter__(self) -> Pass:
        check_accelerate(self._order_given, self._iterable)
        position = Position(self._saved)
        if self._position is not None:  # an abandoned iterator ends here and frees its workers
            self._position.settle = None
        self._seed_at_begin = self._draws.base_seed
        made: Pass
        team = None if debugging.enabled() else self._team_of_copies()
        if team is not None:
            self._team = team if self.persistent_workers else None
            made = ProcessPass(self, position, team)
        else:
            made = (ThreadedPass if self.num_workers else InlinePass)(self, position)
        self._position, self._saved, self._pass = position, None, weakref.ref(made)
        return made

    def _team_of_copies(self) -> Team | None:
        """Return the workers of an epoch if each has its own copy of the dataset, else None."""
        if not self._in_processes and not self._divided:
            return None
        if self._team is not None and self._team.take(self.num_workers):
            return self._team
        if self._in_processes:
            return Team(self)
        try:
            return ThreadTeam(self)
        except Exception:  # it cannot be copied, so a single thread reads all of it
            return None

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are batched; trainers read this attribute of loaders."""
        return self.batch_size is not None or self.batch_sampler is not None

    @property
    def _divided(self) -> bool:
        """Whether worker threads read copies of an iterable dataset that divides itself."""
        return self.num_workers > 1 and self._iterable and divides_itself(self.dataset)

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the current epoch, for `load_state_dict`.

        Returns
        -------
        dict
            Numbers, seeds and states of generators (a few kilobytes), never samples. Entries that
            torchdata's loader also has use its layout. The dict can be saved as JSON if the
            dataset's own state can. A checksum detects changes.

        Notes
        -----
        Batches that were loaded in advance but not yet returned will be loaded again. After the end
        of an epoch, the state is the start of the next one. If the dataset or its iterator has
        ``state_dict`` and ``load_state_dict``, its state is included. Otherwise the state does not
        cover random numbers that the dataset draws. The state includes the position in the seed
        sequence of `set_seed`, so the epochs after the resumed one have the same orders as without
        the interruption.

        Examples
        --------
        >>> loader = ps.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> batches = iter(loader)
        >>> first = next(batches)
        >>> state = loader.state_dict()
        >>> loader.load_state_dict(state)
        >>> [b.tolist() for b in loader] == [b.tolist() for b in batches]
        True
        """
        state: dict[str, Any] = {"penstock": _VERSION, **self._shape()}
        state["account"] = self._account
        state["seeds"] = base64.b85encode(_core.seeds_now()).decode()
        if (shared := shared_order(self)) is not None:
            state |= {"shared": shared, "process": rank_in(self)}
        state["draws"] = self._draws.state()
        position = self._position
        between = self._saved is not None or position is None or position.finished
        state["workers_seed"] = self._draws.base_seed if between else self._seed_at_begin
        state |= self._progress()
        return signed(state)

    def _progress(self) -> dict[str, Any]:
        workers, position = self.num_workers, self._position
        if self._saved is not None:
            return dict(self._saved)
        if position is None:
            position = Position()
            position.finished = True
            position.final = lambda: (
                None if self._in_processes or self._divided else kept_now(self.dataset)
            )
        state = position.state(workers)
        if position.finished and not self._iterable:
            state["order"] = {"samplers": samplers_state(self)}
        return state

    @checked
    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Continue the next iteration where `state_dict` was called.

        Parameters
        ----------
        state : mapping
            Result of `state_dict` from a loader over the same data with the same arguments.
            Arguments that only affect speed, such as `num_workers`, may differ. With PyTorch's
            ``DistributedSampler``, the number of processes and `batch_size` may also differ; each
            process can then load the state of any one process.
        strict : bool
            Whether to reject the state of a loader over other data: another dataset or
            `collate_fn`, where the difference can be detected. If False, a RuntimeWarning is issued
            instead.

        Raises
        ------
        StateError
            If the state was changed, comes from a loader with another batch size or length, or,
            with `strict`, from a loader over other data.
        ValueError
            If `state` is not the result of `state_dict`.
        """
        if not isinstance(state, Mapping) or state.get("penstock") != _VERSION:
            raise ValueError(
                f"load_state_dict: state must be what state_dict() has returned, got {state!r:.200}"
            )
        if not is_whole(state):
            raise StateError(
                "load_state_dict: the state is damaged: its checksum differs; pass the result of "
                "state_dict() unchanged"
            )
        shared = shared_order(self)
        theirs = state.get("shared")
        divided = shared is not None and theirs is not None and shared["rows"] == theirs["rows"]
        moved = divided and shared != theirs
        for name, value in self._shape().items():
            if moved and name != "drop_last":
                continue
            if state.get(name) != value:
                raise StateError(
                    f"load_state_dict: a state of a loader with {name}={value} was expected, got "
                    f"one with {name}={state.get(name)}",
                    [f"DataLoader: {name} {value}, the state has {state.get(name)}"],
                )
        found = differences(base64.b85decode(state["account"]), base64.b85decode(self._account))
        if found:
            text = f"load_state_dict: the state is of other data: {'; '.join(found)}"
            if strict:
                advice = "load_state_dict(state, strict=False) accepts it anyway"
                raise StateError(f"{text}; {advice}", found)
            warnings.warn(f"{text}; it is accepted anyway", RuntimeWarning, stacklevel=3)
        own = {
            "penstock",
            "account",
            "seeds",
            "shared",
            "process",
            "draws",
            "workers_seed",
            CHECKSUM,
        }
        own.update(self._shape())
        saved = {k: v for k, v in state.items() if k not in own}
        if moved and (state["batches"] or (state.get("order") or {}).get("begin")):
            saved |= {
                "batches": 0,
                "order": {**(saved.get("order") or {}), "begin": position_of(state)},
            }
        _core.continue_seeds(base64.b85decode(state["seeds"]))
        self._saved = saved
        self._draws.restore(state["draws"])
        self._draws.base_seed = state.get("workers_seed")
        restore_epochs(self, self._saved)

    def _own_account(self) -> str:
        parts = {"dataset": without_progress(self.dataset), "collate_fn": self.collate_fn}
        for name in ("sampler", "batch_sampler"):
            parts[name] = type(getattr(self, name)).__name__
        return base64.b85encode(account_of_values("DataLoader", parts)).decode()

    def _shape(self) -> dict[str, Any]:
        """Return the values that must be equal for a batch count to mean the same position."""
        try:
            samples = None if self._iterable else len(self.sampler)
        except TypeError:
            samples = None
        return {"batch_size": self.batch_size, "drop_last": self.drop_last, "samples": samples}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_position": None, "_team": None, "_pass": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _counts=Counts())
        totals.add(self, self)

    def stats(self) -> list[dict[str, Any]]:
        """Return the counters of the loader, summed over its epochs.

        Returns
        -------
        list of dict
            The loader as a single stage, with the keys of `Iterator.stats`. ``kind`` is
            ``"DataLoader"`` and ``function`` the class name of the dataset. ``elements`` counts the
            batches returned, ``errors`` the exceptions raised. ``wait_seconds`` is the time spent
            in ``next``. ``busy_seconds`` is the time spent loading batches, summed over the
            workers. ``buffer_size`` is the number of batches that are ready, ``parallelism`` the
            number of workers, and ``workers`` has the ``pid`` of each worker process.

        Notes
        -----
        If `wait_seconds` is close to the duration of the loop, loading is too slow:
        `penstock.profile` shows the reason.

        Examples
        --------
        >>> loader = ps.DataLoader(range(6), batch_size=2)
        >>> batches = [batch for _ in range(2) for batch in loader]
        >>> loader.stats()[0]["elements"]
        6
        """
        running = self._pass() if self._pass is not None else None
        counts = self._counts
        return [
            {
                **{"dataset": None, "path": "0", "kind": "DataLoader", "name": None},
                "function": type(self.dataset).__name__,
                "elements": counts.elements,
                "errors": counts.errors,
                "busy_seconds": counts.busy_seconds,
                "wait_seconds": counts.wait_seconds,
                "buffer_size": running._buffered if running is not None else 0,
                "buffer_limit": (self.prefetch_factor or 0) * self.num_workers,
                "parallelism": self.num_workers,
                "retries": 0,
                "workers": [{"pid": pid} for pid in (running._pids if running is not None else ())],
            }
        ]

    def metrics(self) -> list[dict[str, Any]]:
        """Return the counters of the loader under stable metric names.

        Returns
        -------
        list of dict
            The result of `stats` under the names of `Iterator.metrics`.

        Notes
        -----
        `penstock.metrics.prometheus` includes them. The label `dataset` is a number that stays the
        same for all epochs of a loader.

        Examples
        --------
        >>> loader = ps.DataLoader(range(6), batch_size=2)
        >>> batches = list(loader)
        >>> loader.metrics()[0]["elements_total"]
        3
        """
        return metrics_of(self.stats())
