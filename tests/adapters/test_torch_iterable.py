"""to_torch_iterable inside other loaders and trainers: every element exactly once."""

import multiprocessing
import pickle
import warnings

import numpy as np
import pytest

import penstock as ps
from contract import Boom

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

Dataset = ps.Dataset


def double(x):
    return 2 * x


def pipeline(n=10):
    return Dataset.range(n).shuffle(n).map(double, num_parallel_calls=2)


def everything(n=10):
    return [2 * i for i in range(n)]


def loaded(iterable, workers=0, method=None, **options):
    """Return a DataLoader over unbatched elements."""
    return DataLoader(
        iterable,
        batch_size=None,
        num_workers=workers,
        multiprocessing_context=method if workers else None,
        **options,
    )


def values(loader):
    return [int(x) for x in loader]


@pytest.fixture
def live():
    """Start a pipeline whose threads run in this process while others are forked."""
    with iter(Dataset.range(10**12).map(double).prefetch(2)) as it:
        assert next(it) == 0
        yield it
        assert next(it) == 2


def test_it_gives_what_to_torch_gives():
    ds = Dataset.range(5).map(lambda x: {"x": x, "text": "a", "none": None}).batch(2)
    iterable = ds.to_torch_iterable()
    assert isinstance(iterable, IterableDataset)
    assert len(iterable) == 3
    assert str(list(iterable)) == str(list(ds.to_torch())) == str(list(iterable))
    assert repr(iterable) == f"<IterableDataset of {ds!r}>"


def test_a_length_that_is_not_known_is_a_type_error_as_torch_wants_it():
    loader = loaded(Dataset.range(3).filter(lambda x: x > 0).to_torch_iterable())
    with pytest.raises(TypeError, match="unknown"):
        len(loader)
    assert values(loader) == [1, 2]


@pytest.mark.parametrize("prefetch", [0, 1, 2, ps.AUTOTUNE])
def test_data_loader_without_workers_keeps_the_order_and_says_nothing(prefetch):
    ds = Dataset.range(100).shuffle(100, seed=4, reshuffle_each_iteration=False)
    loader = loaded(ds.to_torch_iterable(prefetch=prefetch))
    assert len(loader) == 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert values(loader) == [int(x) for x in ds]


def test_data_loader_may_batch():
    ds = Dataset.range(5).map(lambda x: {"x": x, "y": np.full(2, x), "text": f"{x}"})
    batches = list(DataLoader(ds.to_torch_iterable(), batch_size=3))
    assert [batch["x"].tolist() for batch in batches] == [[0, 1, 2], [3, 4]]
    assert [tuple(batch["y"].shape) for batch in batches] == [(3, 2), (2, 2)]
    assert [list(batch["text"]) for batch in batches] == [["0", "1", "2"], ["3", "4"]]


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_lose_and_double_nothing_in_any_pass(workers, live):
    loader = loaded(pipeline().to_torch_iterable(), workers, "fork")
    assert len(loader) == 10
    passes = [values(loader) for _ in range(2)]
    assert [sorted(came) for came in passes] == [everything()] * 2
    assert passes[0] != passes[1]  # 1 in 3,628,800


def test_the_first_worker_warns_that_none_is_needed():
    iterable = Dataset.range(9).to_torch_iterable()
    loader = loaded(iterable, 1, "fork", worker_init_fn=lambda _: warnings.simplefilter("error"))
    it = iter(loader)
    with pytest.raises(RuntimeWarning, match="DataLoader was given num_workers=1"):
        next(it)


def test_persistent_workers_shuffle_each_pass_anew(live):
    loader = loaded(pipeline().to_torch_iterable(), 2, "fork", persistent_workers=True)
    passes = [values(loader) for _ in range(3)]
    assert [sorted(came) for came in passes] == [everything()] * 3
    assert len({tuple(came) for came in passes}) > 1


@pytest.mark.timeout(180)  # two processes that import torch
def test_spawned_workers_lose_and_double_nothing(live):
    loader = loaded(pipeline(7).to_torch_iterable(), 2, "spawn")
    assert sorted(values(loader)) == everything(7)


def test_orders_with_workers_follow_from_torch_s_seed():
    def run(seed):
        torch.manual_seed(seed)
        return values(loaded(pipeline().to_torch_iterable(), 2, "fork"))

    assert run(5) == run(5) != run(6)


def test_a_worker_whose_share_is_empty_is_no_matter():
    assert values(loaded(Dataset.range(1).to_torch_iterable(), 2, "fork")) == [0]


@pytest.mark.parametrize("workers", [0, 1])  # torch waits 5 s for each worker after an error
def test_an_error_of_a_function_ends_the_pass_and_names_itself(workers):
    def fail_at_4(x):
        if x == 4:
            raise Boom("four")
        return x

    loader = loaded(Dataset.range(9).map(fail_at_4).to_torch_iterable(), workers, "fork")
    with pytest.raises(Boom, match="four"):
        values(loader)


def test_leaving_a_loop_over_workers_leaves_no_process():
    before = set(multiprocessing.active_children())
    for batch in loaded(Dataset.range(10**9).batch(4).to_torch_iterable(), 2, "fork"):
        assert batch.tolist() == [0, 1, 2, 3]
        break
    assert set(multiprocessing.active_children()) <= before


def test_it_is_pickled_as_the_dataset_is():
    iterable = pickle.loads(pickle.dumps(pipeline().to_torch_iterable(prefetch=1)))
    assert sorted(values(iterable)) == everything()
    local = 3
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(Dataset.range(3).map(lambda x: x + local).to_torch_iterable())


def test_a_state_of_the_loop_is_where_the_next_pass_begins():
    def make():
        return Dataset.range(20).shuffle(20, seed=8).to_torch_iterable()

    iterable = make()
    came = []
    for x in iterable:
        came.append(int(x))
        if len(came) == 7:
            saved = pickle.loads(pickle.dumps(iterable.state_dict()))
            break
    again = make()
    again.load_state_dict(saved)
    assert again.state_dict() == saved
    for copy in (pickle.loads(pickle.dumps(again)), again):
        assert came + values(copy) == values(make())
        assert len(values(copy)) == 20


def test_a_state_before_and_behind_a_pass_is_that_of_a_new_one():
    ds = Dataset.range(5).batch(2)
    iterable = ds.to_torch_iterable()
    fresh = iterable.state_dict()
    list(iterable)
    ended = iterable.state_dict()
    for state in (fresh, ended):
        iterable.load_state_dict(state)
        assert len(list(iterable)) == 3


@pytest.mark.parametrize("state", [None, {}, b"", {"other": 1}])
def test_what_is_no_state_is_an_error_at_once(state):
    iterable = Dataset.range(5).to_torch_iterable()
    with pytest.raises(
        ValueError, match=r"load_state_dict: state must be a dict of state_dict\(\)"
    ):
        iterable.load_state_dict(state)
    assert len(values(iterable)) == 5


@pytest.mark.parametrize("state", [b"no", 3])
def test_a_damaged_state_is_an_error_when_the_pass_begins(state):
    iterable = Dataset.range(5).to_torch_iterable()
    iterable.load_state_dict({"penstock": state})
    with pytest.raises((ValueError, TypeError), match="set_state"):
        iter(iterable)


def test_a_state_of_another_share_is_refused():
    iterable = Dataset.range(8).to_torch_iterable()
    it = iter(iterable)
    next(it)
    iterable.load_state_dict(iterable.state_dict())
    with pytest.raises(ValueError, match="saved by another pipeline"):
        values(loaded(iterable, 1, "fork"))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("taken", [0, 3, 10])
def test_stateful_data_loader_goes_on_where_it_was(workers, taken):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader

    def make():
        ds = Dataset.range(10).shuffle(10, seed=2)
        return stateful(
            ds.to_torch_iterable(),
            batch_size=None,
            num_workers=workers,
            multiprocessing_context="fork" if workers else None,
        )

    loader = make()
    it = iter(loader)
    first = [int(next(it)) for _ in range(taken)]
    saved = loader.state_dict()
    rest = [int(x) for x in it]
    assert sorted(first + rest) == list(range(10))
    again = make()
    again.load_state_dict(saved)
    assert values(again) == rest
    assert sorted(values(again)) == list(range(10))


def test_lightning_trains_from_all_forms(tmp_path):
    pytest.importorskip("lightning")
    import lightning

    class Line(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(3, 1)
            self.seen = []

        def training_step(self, batch):
            self.seen.append(len(batch["x"]))
            return ((self.line(batch["x"])[:, 0] - batch["y"]) ** 2).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    x = np.random.default_rng(0).normal(size=(70, 3)).astype(np.float32)
    ds = Dataset.from_tensor_slices({"x": x, "y": x.sum(1)}).shuffle(70).batch(32)
    for form in (ds.to_torch(), ds.to_torch_iterable(), loaded(ds.to_torch_iterable())):
        trainer = lightning.Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        model = Line()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer.fit(model, train_dataloaders=form)
        assert model.seen == [32, 32, 6] * 2


def test_workers_may_begin_while_a_pass_of_this_process_is_under_way():
    iterable = pipeline().to_torch_iterable()
    it = iter(iterable)
    came = [int(next(it)) for _ in range(4)]
    assert sorted(values(loaded(iterable, 2, "fork"))) == everything()
    assert sorted(came + [int(x) for x in it]) == everything()
