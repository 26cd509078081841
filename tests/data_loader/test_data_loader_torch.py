"""ps.DataLoader compared with PyTorch's own: the same scripts, batch by batch."""

import itertools
import sys

import pytest

import penstock as ps
from nightly import nightly
from scripts import run_script

torch = pytest.importorskip("torch")
data = torch.utils.data

from torch_datasets import (  # noqa: E402  # imports torch
    DATASETS,
    PROCESSES,
    SAMPLERS,
    STREAMS,
    WORKERS,
    N,
    Nested,
    Plain,
    Rows,
    Stream,
    assert_same,
    tensors,
)

OPTIONS = [
    {},
    {"batch_size": 4},
    {"batch_size": 4, "drop_last": True},
    {"batch_size": 100},
    {"batch_size": None},
    {"batch_size": 5, "collate_fn": len},
    {"batch_size": None, "collate_fn": repr},
    {"batch_size": 3, "shuffle": True},
    {"batch_size": None, "shuffle": True},
    {"batch_size": 4, "shuffle": True, "drop_last": True},
]


# In PyTorch, later passes of persistent workers draw fewer random numbers than others.
PERSISTENT = {"num_workers": 1, "persistent_workers": True, "multiprocessing_context": "fork"}


def loader_follows_torch(loader):
    """Return whether a PyTorch object determines the order; otherwise penstock's seed does."""
    given = (loader.dataset, data.Dataset), (loader.generator, torch.Generator)
    samplers = (loader.sampler, data.Sampler), (loader.batch_sampler, data.Sampler)
    return any(isinstance(*pair) for pair in (*given, *samplers))


def assert_same_passes(make, passes=2, **workers):
    """Compare two passes of both loaders from the same seed, and later random draws."""
    runs = []
    follows = loader_follows_torch(make(ps.DataLoader, {}))
    theirs = PERSISTENT if "persistent_workers" in workers else {}
    for loader_of, more in ((data.DataLoader, theirs), (ps.DataLoader, workers)):
        torch.manual_seed(7)
        loader = make(loader_of, more)
        batches = [list(loader) for _ in range(passes)]
        drawn = torch.rand(2).tolist() if follows else None
        runs.append((batches, drawn))
        try:
            runs[-1] += (len(loader),)
        except TypeError as error:
            runs[-1] += (type(error),)
    assert_same(runs[0], runs[1])


@pytest.mark.parametrize("workers", WORKERS + PROCESSES, ids=repr)
@pytest.mark.parametrize("name", DATASETS)
def test_map_style_datasets_give_the_same_batches(name, workers):
    for options in OPTIONS:
        if name == "plain" and options.get("shuffle"):
            continue
        dataset = DATASETS[name]()
        assert_same_passes(lambda of, more: of(dataset, **options, **more), **workers)  # noqa: B023


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
@pytest.mark.parametrize("name", STREAMS)
def test_iterable_datasets_give_the_same_batches(name, workers):
    for options in OPTIONS:
        if not options.get("shuffle"):
            dataset = STREAMS[name]()
            assert_same_passes(lambda of, more: of(dataset, **options, **more), **workers)  # noqa: B023


# Samples of "nested" cannot be made from an index that is a tensor.
SAMPLED = [
    pair
    for pair in itertools.product(SAMPLERS, ["tensors", "nested", "plain"])
    if pair != ("tensor", "nested")
]


# Samplers run in this process, so one dataset is enough for worker processes.
@pytest.mark.parametrize(
    ("name", "dataset", "workers"),
    [
        *((*pair, workers) for pair in SAMPLED for workers in WORKERS),
        *((name, "tensors", workers) for name in SAMPLERS for workers in PROCESSES),
        *nightly(
            *((*pair, each) for pair in SAMPLED if pair[1] != "tensors" for each in PROCESSES)
        ),
    ],
    ids=repr,
)
def test_samplers_of_torch_give_the_same_batches(name, dataset, workers):
    rows = DATASETS[dataset]()
    for options in ({"batch_size": 4}, {"batch_size": None}, {"batch_size": 3, "drop_last": True}):
        assert_same_passes(
            lambda of, more: of(rows, sampler=SAMPLERS[name](), **options, **more),  # noqa: B023
            **workers,
        )


@pytest.mark.parametrize("workers", WORKERS + nightly(*PROCESSES), ids=repr)
@pytest.mark.parametrize("name", SAMPLERS)
def test_batch_samplers_of_torch_give_the_same_batches(name, workers):
    def make(of, more):
        batches = data.BatchSampler(SAMPLERS[name](), 5, drop_last=False)
        return of(tensors(), batch_sampler=batches, **more)

    assert_same_passes(make, **workers)

    def bulk(of, more):
        batches = data.BatchSampler(SAMPLERS[name](), 5, drop_last=True)
        return of(tensors(), batch_size=None, sampler=batches, **more)

    if name != "tensor":
        assert_same_passes(bulk, **workers)


@pytest.mark.parametrize("workers", WORKERS + PROCESSES, ids=repr)
def test_a_generator_of_torch_gives_the_same_orders(workers):
    for dataset in (Rows(), tensors(), Plain()):
        assert_same_passes(
            lambda of, more: of(
                dataset,  # noqa: B023
                4,
                shuffle=True,
                generator=torch.Generator().manual_seed(5),
                **more,
            ),
            passes=3,
            **workers,
        )


def numbered():
    return data.TensorDataset(torch.arange(N))


def passes_of(loader, count):
    return [[batch[0].tolist() for batch in loader] for _ in range(count)]


@pytest.mark.parametrize("method", ["thread", "process"])
@pytest.mark.parametrize("own", [False, True])
def test_persistent_workers_draw_their_seed_once(own, method):
    def made(of, **more):
        generator = torch.Generator().manual_seed(3) if own else None
        return of(numbered(), 4, shuffle=True, generator=generator, **more)

    torch.manual_seed(7)
    expected = passes_of(made(data.DataLoader, **PERSISTENT), 4)
    more = {"num_workers": 1, "persistent_workers": True, "worker_method": method}
    torch.manual_seed(7)
    assert passes_of(made(ps.DataLoader, **more), 4) == expected

    for begun in range(3):  # complete passes before the state
        torch.manual_seed(7)
        loader = made(ps.DataLoader, **more)
        passes_of(loader, begun)
        between = loader.state_dict()
        batches = iter(loader)
        next(batches)
        inside = loader.state_dict()
        del batches
        other = made(ps.DataLoader, **more)
        other.load_state_dict(between)
        assert passes_of(other, 4 - begun) == expected[begun:]
        other = made(ps.DataLoader, **more)
        other.load_state_dict(inside)
        assert passes_of(other, 4 - begun) == [expected[begun][1:], *expected[begun + 1 :]]
        other = made(ps.DataLoader)
        other.load_state_dict(inside)
        assert passes_of(other, 1) == [expected[begun][1:]]


def test_a_distributed_sampler_follows_set_epoch():
    loaders = []
    for of in (data.DataLoader, ps.DataLoader):
        sampler = data.DistributedSampler(range(N), num_replicas=2, rank=0, seed=4)
        loader = of(tensors(), 4, sampler=sampler)
        batches = []
        for epoch in range(3):
            sampler.set_epoch(epoch)
            batches += loader
        loaders.append(batches)
    assert_same(*loaders)


def test_a_shuffled_plain_dataset_gives_each_sample_once():
    torch.manual_seed(0)
    passes = [torch.cat([i for _, i in ps.DataLoader(Plain(), 4, shuffle=True)]) for _ in range(2)]
    assert all(sorted(p.tolist()) == list(range(N)) for p in passes)
    assert not torch.equal(*passes)


def test_loaders_show_samplers_of_torchs_classes():
    loader = ps.DataLoader(tensors(), 4, shuffle=True)
    assert isinstance(loader.sampler, data.RandomSampler)
    assert isinstance(loader.batch_sampler, data.BatchSampler)
    assert isinstance(ps.DataLoader(tensors()).sampler, data.SequentialSampler)
    assert (loader.batch_size, loader.drop_last, loader.num_workers) == (4, False, 0)
    assert loader.prefetch_factor is None
    assert ps.DataLoader(tensors(), num_workers=2).prefetch_factor == 2


MAP_CONFLICTS = [
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"persistent_workers": True},
    {"sampler": [1], "shuffle": True},
    {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "shuffle": True},
    {"batch_sampler": [[1]], "sampler": [1]},
    {"batch_sampler": [[1]], "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 0},
    {"batch_size": 2.0},
    {"batch_size": True},
    {"multiprocessing_context": "fork"},
]


@pytest.mark.parametrize("options", MAP_CONFLICTS, ids=repr)
def test_conflicts_raise_what_torch_raises(options):
    for dataset in (Nested(), Plain()):
        with pytest.raises(ValueError):
            data.DataLoader(dataset, **options)
        with pytest.raises(ValueError, match=r"DataLoader|batch_size"):
            ps.DataLoader(dataset, **options)


@pytest.mark.parametrize(
    "options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}], ids=repr
)
def test_an_iterable_dataset_takes_no_order(options):
    for of in (data.DataLoader, ps.DataLoader):
        with pytest.raises(ValueError, match=next(iter(options))):
            of(Stream(), **options)


@pytest.mark.parametrize("of", [data.DataLoader, ps.DataLoader])
def test_an_empty_dataset_is_not_shuffled(of):
    assert list(of(Rows(0), 3)) == []
    with pytest.raises(ValueError):
        of(Rows(0), 3, shuffle=True)


@pytest.mark.parametrize("name", ["batch_size", "sampler", "batch_sampler", "drop_last", "dataset"])
def test_attributes_stay_as_in_torch(name):
    for of in (data.DataLoader, ps.DataLoader):
        with pytest.raises(ValueError, match=name):
            setattr(of(Rows()), name, 1)


class Bad(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 3:
            raise LookupError("three")
        return torch.zeros(1 + (i == 5)), i


def test_errors_come_where_torch_raises_them():
    def outcomes(loader):
        it = iter(loader)
        while True:
            try:
                yield type(next(it))
            except StopIteration:
                return
            except Exception as error:
                yield type(error)

    expected = list(outcomes(data.DataLoader(Bad(), 2)))
    assert expected == [list, LookupError, RuntimeError]
    for workers in WORKERS:
        assert list(outcomes(ps.DataLoader(Bad(), 2, **workers))) == expected


def test_an_index_out_of_range_is_an_index_error():
    for dataset in (tensors(), Rows(), data.Subset(tensors(), [1, 2])):
        with pytest.raises(IndexError):
            list(ps.DataLoader(dataset, sampler=[0, 99]))


def test_worker_init_fn_that_seeds_torch_warns():
    kept = torch.get_rng_state()
    try:
        loader = ps.DataLoader(
            tensors(), num_workers=1, worker_init_fn=lambda number: torch.manual_seed(12345)
        )
        with pytest.warns(UserWarning, match="has seeded torch"):
            list(loader)
    finally:
        torch.set_rng_state(kept)


def test_nested_tensors_go_to_worker_processes_and_back():
    torch.manual_seed(0)
    kept = [torch.nested.nested_tensor([torch.randn(5), torch.randn(i)]) for i in range(1, 4)]
    came = list(ps.DataLoader(kept, None, num_workers=1, worker_method="process"))
    assert [[part.tolist() for part in one.unbind()] for one in came] == [
        [part.tolist() for part in one.unbind()] for one in kept
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")
@pytest.mark.parametrize("method", ["process", "thread"])
def test_a_program_with_persistent_workers_ends_quietly(method):
    # A PyTorch class keeps objects of the script alive after module globals are cleared.
    told = run_script(
        f"""
        import torch

        class Numbers(torch.utils.data.IterableDataset):
            def __iter__(self):
                info = ps.get_worker_info()
                yield from range(info.id, 10, info.num_workers)

        loader = ps.DataLoader(
            Numbers(), None, num_workers=2, worker_method={method!r}, persistent_workers=True
        )
        print(sum(loader))
        """
    )
    assert (told.returncode, told.stdout, told.stderr) == (0, "45\n", "")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}, *PROCESSES])
def test_data_pipes_are_shuffled_and_divided_among_workers(workers, persistent):
    from torch.utils.data.datapipes.iter import IterableWrapper

    if persistent and "num_workers" not in workers:
        pytest.skip("there are no workers")
    workers = {**workers, "persistent_workers": persistent}

    def numbers(shuffle):
        pipe = IterableWrapper(range(20)).shuffle().sharding_filter()
        torch.manual_seed(1)
        loader = ps.DataLoader(pipe, 2, shuffle=shuffle, **workers)
        return [[n for batch in loader for n in batch.tolist()] for _ in range(2)]

    for epoch in numbers(False):
        assert sorted(epoch) == list(range(20))
    first, second = numbers(True)
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    assert numbers(True) == [first, second]
