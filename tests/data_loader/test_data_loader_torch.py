"""ps.DataLoader beside PyTorch's own: the same scripts, batch by batch."""

import collections
import itertools

import numpy as np
import pytest

import penstock as ps

torch = pytest.importorskip("torch")
data = torch.utils.data

Point = collections.namedtuple("Point", ["x", "y"])
N = 23


def nested(i):
    return {
        "image": torch.full((2, 3), float(i)),
        "array": np.arange(3, dtype=np.float32) * i,
        "point": Point(i, float(i)),
        "pair": (i % 2 == 0, np.float32(i)),
        "list": [str(i), bytes([i]), np.int16(i)],
        "scalar": np.array(i, np.uint8),
    }


class Nested(data.Dataset):
    def __len__(self):
        return N

    def __getitem__(self, i):
        return nested(i)


class Bulk(Nested):
    def __getitems__(self, indices):
        return [nested(i) for i in indices]


class Plain:
    """No dataset of PyTorch's, but its samples hold tensors."""

    def __len__(self):
        return N

    def __getitem__(self, i):
        return torch.tensor([i, i]), i


class Rows(data.Dataset):
    def __init__(self, n=N):
        self.rows = np.random.default_rng(0).random((n, 4), np.float32)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], i


class Stream(data.IterableDataset):
    def __init__(self, n=N, start=0):
        self.n, self.start = n, start

    def __iter__(self):
        for i in range(self.start, self.start + self.n):
            yield {"i": i, "x": torch.tensor([i])}


class SizedStream(Stream):
    def __len__(self):
        return self.n


def tensors():
    x = torch.arange(N * 4, dtype=torch.float32).reshape(N, 4)
    return data.TensorDataset(x, torch.arange(N), torch.arange(N) % 2 == 0)


def array():
    return np.arange(N * 2).reshape(N, 2)


DATASETS = {
    "nested": Nested,
    "bulk": Bulk,
    "plain": Plain,
    "rows": Rows,
    "tensors": tensors,
    "subset": lambda: data.Subset(Nested(), list(range(20, 3, -1))),
    "subset of tensors": lambda: data.Subset(tensors(), [5, -1, 3, 3, 0, 7]),
    "subset of a subset": lambda: data.Subset(data.Subset(tensors(), range(3, 20)), [1, 5, 2, 9]),
    "subset of an array": lambda: data.Subset(array(), [4, 2, 9]),
    "random_split": lambda: data.random_split(
        tensors(), [15, 8], generator=torch.Generator().manual_seed(3)
    )[0],
    "concatenated": lambda: data.ConcatDataset([Rows(5), Rows(9)]),
    "stack": lambda: data.StackDataset(a=Rows(), b=Plain()),
}
STREAMS = {
    "stream": Stream,
    "sized": SizedStream,
    "chain": lambda: data.ChainDataset([Stream(4), Stream(7, 10)]),
    "empty": lambda: SizedStream(0),
}
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
WORKERS = [{}, {"num_workers": 1}, {"num_workers": 3, "prefetch_factor": 3}]


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    else:
        assert a == b


def loader_follows_torch(loader):
    """Orders of other datasets come from penstock's seed, unless something of torch says them."""
    given = (loader.dataset, data.Dataset), (loader.generator, torch.Generator)
    samplers = (loader.sampler, data.Sampler), (loader.batch_sampler, data.Sampler)
    return any(isinstance(*pair) for pair in (*given, *samplers))


def assert_same_passes(make, passes=2, **workers):
    """Two passes of both loaders, each from the same seed; what is drawn after them too."""
    runs = []
    follows = loader_follows_torch(make(ps.DataLoader, {}))
    for loader_of, more in ((data.DataLoader, {}), (ps.DataLoader, workers)):
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


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
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


WEIGHTS = [0.1 * (i + 1) for i in range(N)]
SAMPLERS = {
    "weighted": lambda: data.WeightedRandomSampler(WEIGHTS, 40),
    "weighted, seeded": lambda: data.WeightedRandomSampler(
        WEIGHTS, 40, generator=torch.Generator().manual_seed(1)
    ),
    "subset": lambda: data.SubsetRandomSampler(range(3, 17)),
    "replacement": lambda: data.RandomSampler(range(N), replacement=True, num_samples=50),
    "fewer": lambda: data.RandomSampler(range(N), num_samples=11),
    "random": lambda: data.RandomSampler(range(N)),
    "random, seeded": lambda: data.RandomSampler(
        range(N), generator=torch.Generator().manual_seed(1)
    ),
    "sequential": lambda: data.SequentialSampler(range(N)),
    "distributed": lambda: data.DistributedSampler(range(N), num_replicas=3, rank=1),
    "list": lambda: [3, 1, 4, 1, 5, 9],
    "tensor": lambda: torch.tensor([3, 1, 4]),
}


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
@pytest.mark.parametrize("dataset", ["nested", "tensors", "plain"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_of_torch_give_the_same_batches(name, dataset, workers):
    if (name, dataset) == ("tensor", "nested"):
        return  # its samples cannot be made of an index that is a tensor
    rows = DATASETS[dataset]()
    for options in ({"batch_size": 4}, {"batch_size": None}, {"batch_size": 3, "drop_last": True}):
        assert_same_passes(
            lambda of, more: of(rows, sampler=SAMPLERS[name](), **options, **more),  # noqa: B023
            **workers,
        )


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
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


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
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


SAMPLES = [
    [1, 2, 3],
    [1.5, 2],
    [True, False],
    ["a", "b"],
    [b"a", b"b"],
    [np.float16(1), np.float16(2)],
    [np.int8(1), np.int8(2)],
    [np.bool_(True), np.bool_(False)],
    [np.arange(3), np.arange(3)],
    [np.array(1.5), np.array(2.5)],
    [np.arange(6).reshape(3, 2).T, np.zeros((2, 3), int)],
    [(1, "a"), (2, "b")],
    [[1, [2.0]], [3, [4.0]]],
    [{"a": 1, "b": {"c": np.ones(2)}}, {"b": {"c": np.zeros(2)}, "a": 2}],
    [Point(1, "x"), Point(2, "y")],
    [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    [collections.defaultdict(int, a=1), collections.defaultdict(int, a=2)],
    [collections.UserDict(a=1), collections.UserDict(a=2)],
    [range(3), range(3)],
    [(), ()],
    [collections.deque([1, 2]), collections.deque([3, 4])],
]


def as_numpy(value):
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, collections.UserDict):
        return type(value)({k: as_numpy(v) for k, v in value.items()})
    if isinstance(value, dict):
        made = value.copy()
        made.update({k: as_numpy(v) for k, v in value.items()})
        return made
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(as_numpy, value))
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value)(map(as_numpy, value))
    return value


@pytest.mark.parametrize("samples", SAMPLES, ids=repr)
def test_default_collate_gives_numpy_where_torchs_gives_tensors(samples):
    expected = as_numpy(data.default_collate(samples))
    collated = ps.default_collate(samples)
    if isinstance(expected, collections.UserDict):
        expected, collated = dict(expected), dict(collated)
    if isinstance(expected, collections.deque):
        assert type(collated) is type(expected)
        expected, collated = list(expected), list(collated)
    assert_same(expected, collated)


@pytest.mark.parametrize(
    "samples", [[None, None], [object()], [{"a": None}], [(1, None), (2, None)], [1j], [{1, 2}]]
)
def test_what_torch_cannot_collate_is_a_type_error(samples):
    for collate in (data.default_collate, ps.default_collate):
        with pytest.raises(TypeError, match="default_collate"):
            collate(samples)


def test_samples_with_tensors_are_collated_by_torch():
    samples = [(torch.ones(2), np.ones(2), 1.0, "a")] * 2
    assert_same(data.default_collate(samples), ps.default_collate(samples))


def test_a_dataset_with_another_getitem_is_not_gathered():
    class Doubled(data.TensorDataset):
        def __getitem__(self, i):
            x, y, z = super().__getitem__(i)
            return x * 2, y, z

    class Shown(data.Subset):
        def __getitem__(self, i):
            return i, super().__getitem__(i)

        def __getitems__(self, indices):
            return [self[i] for i in indices]

    doubled = Doubled(*tensors().tensors)
    assert_same(list(data.DataLoader(doubled, 4)), list(ps.DataLoader(doubled, 4)))
    shown = Shown(tensors(), [3, 4])
    assert_same(list(data.DataLoader(shown, 2)), list(ps.DataLoader(shown, 2)))


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (torch.Tensor, tensors()),
        (torch.Tensor, data.Subset(tensors(), [3, 1, 2])),
        (tuple, tensors()),
        (object, data.TensorDataset(torch.arange(3))),
        (np.ndarray, data.Subset(np.arange(6.0).reshape(3, 2), [2, 0])),
        (np.float64, data.Subset(np.arange(3.0), [2, 0])),
        ((np.bool_, np.number, np.object_), data.Subset(np.arange(3), [2, 0])),
        ((str, np.integer), data.Subset(np.arange(3), [2, 0])),  # behind the one that is taken
    ],
    ids=str,
)
def test_a_changed_table_of_torch_counts_for_rows_in_memory_too(kind, rows, monkeypatch):
    table = torch.utils.data._utils.collate.default_collate_fn_map
    monkeypatch.setitem(table, kind, lambda batch, *, collate_fn_map=None: ("mine", len(batch)))
    theirs = list(data.DataLoader(rows, 2))
    assert_same(theirs, list(ps.DataLoader(rows, 2)))
    collated = {"collate_fn": data.default_collate}
    assert_same(theirs, list(ps.DataLoader(rows, 2, **collated)))
    assert ("mine" in str(theirs)) is (kind != (str, np.integer))


def test_a_changed_table_counts_for_an_array_that_becomes_tensors(monkeypatch):
    table = torch.utils.data._utils.collate.default_collate_fn_map
    monkeypatch.setitem(table, np.ndarray, lambda batch, *, collate_fn_map=None: len(batch))
    assert list(ps.DataLoader(np.ones((3, 2)), 2, collate_fn=data.default_collate)) == [2, 1]
    assert [len(batch) for batch in ps.DataLoader(np.ones((3, 2)), 2)] == [2, 1]  # no tensors


def test_batches_in_memory_are_copies():
    dataset = tensors()
    for shuffle in (False, True):
        for batch in ps.DataLoader(dataset, 4, shuffle=shuffle):
            batch[0].zero_()
    assert_same(dataset.tensors[0], tensors().tensors[0])


def test_an_index_out_of_range_is_an_index_error():
    for dataset in (tensors(), Rows(), data.Subset(tensors(), [1, 2])):
        with pytest.raises(IndexError):
            list(ps.DataLoader(dataset, sampler=[0, 99]))


def test_pinning_without_an_accelerator_warns_as_in_torch():
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator")
    for of in (data.DataLoader, ps.DataLoader):
        with pytest.warns(UserWarning, match="pin_memory"):
            assert len(list(of(tensors(), 10, pin_memory=True))) == 3


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_goes_on_exactly_with_samplers_of_torch(name, workers):
    def loader():
        return ps.DataLoader(tensors(), 2, sampler=SAMPLERS[name](), num_workers=workers)

    torch.manual_seed(1)
    first = loader()
    list(first)
    batches = iter(first)
    taken = list(itertools.islice(batches, 2))
    state = first.state_dict()
    rest = list(batches)
    after = list(first) if "seeded" in name or name == "distributed" else None

    torch.manual_seed(99)
    second = loader()
    second.load_state_dict(state)
    assert_same(rest, list(second))
    assert len(taken) == 2
    if after is not None:
        assert_same(after, list(second))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("finished", [True, False])
def test_a_shuffled_pass_of_torchs_dataset_goes_on_exactly(workers, seeded, finished):
    def loader():
        generator = torch.Generator().manual_seed(3) if seeded else None
        return ps.DataLoader(tensors(), 3, shuffle=True, generator=generator, num_workers=workers)

    first = loader()
    list(first)
    batches = iter(first)
    list(batches if finished else itertools.islice(batches, 3))
    state = first.state_dict()
    rest = list(batches)
    next_pass = list(first)
    second = loader()
    second.load_state_dict(state)
    if not finished:
        assert_same(rest, list(second))
    if seeded:
        assert_same(next_pass, list(second))


def test_a_state_is_saved_with_a_model(tmp_path):
    loader = ps.DataLoader(tensors(), 3, shuffle=True, generator=torch.Generator())
    batches = iter(loader)
    next(batches)
    torch.save({"loader": loader.state_dict()}, tmp_path / "model.pt")
    other = ps.DataLoader(tensors(), 3, shuffle=True, generator=torch.Generator())
    other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True)["loader"])
    assert_same(list(batches), list(other))


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
def test_with_an_accelerator_every_tensor_of_a_batch_is_pinned(workers, monkeypatch):
    # What a machine with one answers; the copies themselves are PyTorch's.
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 100)
    batch = next(iter(ps.DataLoader([nested(i) for i in range(2)], 2, pin_memory=True, **workers)))
    assert batch["point"].y.tolist() == [100, 101]
    assert batch["list"][0] == ("0", "1")
    assert batch["list"][2].tolist() == [100, 101]
    assert batch["image"].min() == 100


@pytest.mark.parametrize("of", [array, tensors, lambda: data.Subset(tensors(), range(20, 0, -1))])
def test_ranges_of_a_batch_sampler_are_any_ranges_of_tensors(of):
    batches = [range(0, 10, 2), range(9, 4, -1), range(3, 5)]
    dataset = of()
    samples = [data.default_collate([dataset[i] for i in batch]) for batch in batches]
    collate = data.default_collate
    assert_same(samples, list(ps.DataLoader(dataset, batch_sampler=batches, collate_fn=collate)))
    with pytest.raises(IndexError):
        list(ps.DataLoader(dataset, batch_sampler=[range(N - 1, N + 9)]))


class Transposed(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return np.full((5, 4, 3), i, np.float32).transpose(2, 0, 1)


@pytest.mark.parametrize("order", [{}, {"shuffle": True}, {"sampler": [-1, 2, 3]}], ids=repr)
@pytest.mark.parametrize("memory", ["transposed", "channels_last", "rows"])
def test_batches_are_contiguous_as_torchs(memory, order):
    images = torch.rand(6, 3, 5, 4)
    dataset = {
        "transposed": data.TensorDataset(images.transpose(1, 3)),
        "channels_last": data.TensorDataset(images.to(memory_format=torch.channels_last)),
        "rows": Transposed(),
    }[memory]
    for batch in ps.DataLoader(dataset, batch_size=3, **order):
        assert (batch if memory == "rows" else batch[0]).is_contiguous()


GOING_ON = {
    "shuffled": lambda: ps.DataLoader(tensors(), 3, shuffle=True),
    "in order": lambda: ps.DataLoader(tensors(), 3),
    "iterable": lambda: ps.DataLoader(Stream(), 3),
    "drawn": lambda: ps.DataLoader(tensors(), 3, sampler=data.SubsetRandomSampler(range(N))),
    "own generator": lambda: ps.DataLoader(
        tensors(), 3, sampler=data.RandomSampler(tensors(), generator=torch.Generator())
    ),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_the_global_generator_is_left_where_it_would_be(name):
    torch.manual_seed(4)
    first = GOING_ON[name]()
    batches = iter(first)
    next(batches)
    state, random = first.state_dict(), torch.get_rng_state()
    rest, later = list(batches), list(first)
    behind = torch.get_rng_state()
    torch.manual_seed(5)
    second = GOING_ON[name]()
    second.load_state_dict(state)
    torch.set_rng_state(random)
    assert_same(rest, list(second))
    assert_same(later, list(second))
    assert torch.equal(torch.get_rng_state(), behind)


def test_a_generator_that_nothing_restores_is_not_drawn_from_again():
    first = ps.DataLoader(tensors(), 3, generator=torch.Generator().manual_seed(1))
    batches = iter(first)
    next(batches)
    second = ps.DataLoader(tensors(), 3, generator=torch.Generator())
    second.generator.set_state(first.generator.get_state())
    second.load_state_dict(first.state_dict())
    assert_same(list(batches), list(second))
    assert torch.equal(first.generator.get_state(), second.generator.get_state())


def test_user_dicts_and_lists_are_pinned(monkeypatch):
    class Encoding(collections.UserDict):
        """As libraries of tokenizers have it."""

    def collate(samples):
        encoding = Encoding(ids=torch.tensor(samples))
        encoding.name, encoding["more"] = "kept", collections.UserList([torch.zeros(2)])
        return encoding

    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 100)
    batch = next(iter(ps.DataLoader(range(2), 2, pin_memory=True, collate_fn=collate)))
    assert type(batch) is Encoding
    assert batch.name == "kept"
    assert batch["ids"].tolist() == [100, 101]
    assert batch["more"][0].tolist() == [100, 100]


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
