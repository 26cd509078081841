"""sample_from_datasets: each element is taken from a randomly drawn dataset."""

import signal
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract, Failure, steps

sample = ps.Dataset.sample_from_datasets


def two(n=8):
    return ps.Dataset.range(n), ps.Dataset.range(100, 100 + n)


class TestSample(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(8))

    @staticmethod
    def apply(ds, num_parallel_calls=None):
        second = ps.Dataset.range(100, 112).map(lambda x: x, num_parallel_calls=num_parallel_calls)
        return sample([ds, second], [0.3, 0.7], seed=4)

    @staticmethod
    def expected():
        key = list(
            sample([ps.Dataset.from_tensors(i).repeat() for i in range(2)], [0.3, 0.7], 4).take(40)
        )
        rest = [list(range(8)), list(range(100, 112))]
        came = []
        for which in key:
            if not rest[which]:
                break
            came.append(rest[which].pop(0))
        return came + rest[0] + rest[1]

    pickles = False

    def expected_around_error(self):
        return [x for x in self.wanted() if x != BOOM]


class TestSampleByADatasetOfWeights(DatasetContract):
    """An element of the weights fails; the next one is used."""

    source = staticmethod(lambda: ps.Dataset.range(10))

    @staticmethod
    def apply(ds):
        weights = ds.map(lambda x: np.array([x % 2, (x + 1) % 2], np.float32))
        return sample([d.repeat() for d in two(4)], weights, seed=1)

    expected = [100, 0, 101, 1, 102, 2, 103, 3, 100, 0]
    pickles = False

    def expected_around_error(self):
        return [100, 0, 101, 1, 2, 102, 3, 103, 0]


class TestSampleOfManyAcrossEpochs(DatasetContract):
    @staticmethod
    def build():
        parts = [ps.Dataset.range(100 * i, 100 * i + 3) for i in range(9)]
        return sample(parts, seed=2, stop_on_empty_dataset=True).repeat(2)

    @staticmethod
    def expected():
        parts = [ps.Dataset.range(100 * i, 100 * i + 3) for i in range(9)]
        return list(sample(parts, seed=2, stop_on_empty_dataset=True)) * 2


def share(ds, n=4000):
    return np.mean(np.array(list(ds.take(n))) >= 100)


@pytest.mark.parametrize("weights", [[0.2, 0.8], [1, 4], np.array([3.0, 12.0], np.float32)])
def test_the_shares_are_those_of_the_weights(weights):
    ds = sample([d.repeat() for d in two()], weights, seed=1)
    assert abs(share(ds) - 0.8) < 0.025
    rows = ps.Dataset.from_tensors(np.asarray(weights, np.float64)).repeat()
    assert abs(share(sample([d.repeat() for d in two()], rows, seed=1)) - 0.8) < 0.025


def test_without_weights_all_have_the_same_share():
    parts = [ps.Dataset.from_tensors(i).repeat() for i in range(50)]
    counts = np.bincount(list(sample(parts, seed=1).take(20_000)), minlength=50)
    assert counts.min() > 300
    assert counts.max() < 510


def test_when_one_has_ended_the_others_keep_their_proportion():
    parts = [ps.Dataset.from_tensors(0), *(ps.Dataset.from_tensors(i).repeat() for i in (1, 2))]
    counts = np.bincount(list(sample(parts, [0.9, 0.025, 0.075], seed=1).take(4000)))
    assert counts[0] == 1
    assert abs(counts[2] / counts[1:].sum() - 0.75) < 0.03


def test_it_goes_on_until_all_have_ended_or_ends_with_the_first():
    a, b = two(3)
    assert sorted(sample([a, b], seed=1)) == [0, 1, 2, 100, 101, 102]
    short = [int(x) for x in sample([a, b], seed=1, stop_on_empty_dataset=True)]
    assert [x for x in short if x < 100] == [0, 1, 2] or [x for x in short if x > 99] == [
        100,
        101,
        102,
    ]
    assert short == [int(x) for x in sample([a, b], seed=1)][: len(short)]
    assert list(sample([ps.Dataset.range(0), ps.Dataset.range(0)])) == []


def test_weights_of_zero_leave_a_dataset_out():
    a, b = two(3)
    assert_same(list(sample([a, b], [0.0, 2.0])), list(b))
    assert list(sample([a, b], [0.0, 0.0])) == []
    assert sorted(sample([a, b, a], [0.5, 0.0, 0.5], seed=1)) == [0, 0, 1, 1, 2, 2]
    assert_same(list(sample([a], [0.1])), list(a))


def test_seeds_and_epochs():
    parts = [d.repeat() for d in two()]
    ds = sample(parts, seed=1).take(30)
    assert_same(list(ds), list(ds))
    assert_same(list(ds.repeat(2)), list(ds) * 2)
    free = sample(parts).take(30)
    assert list(free) != list(free)
    twice = list(free.repeat(2))
    assert_same(twice[:30], twice[30:])
    again = sample(parts, seed=1, rerandomize_each_iteration=True).take(30)
    one, other = list(again), list(again)
    assert one != other
    twice = list(again.repeat(2))
    assert twice[:30] != twice[30:]
    again = sample(parts, seed=1, rerandomize_each_iteration=True).take(30)
    assert_same([list(again), list(again)], [one, other])


@pytest.mark.parametrize(
    "bad", [[1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]], 1.0, [-1.0, 1.0], [1.0, np.nan], [0.0, np.inf]]
)
def test_weights_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="sample_from_datasets: weights must be"):
        sample(two(), bad)
    rows = ps.Dataset.from_tensors(np.asarray(bad)).repeat(1)
    with pytest.raises(ValueError, match="sample_from_datasets: weights must be"):
        list(sample(two(), rows))


def test_weights_that_come_wrong_are_errors_in_their_place():
    def row(x):
        return [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]][int(x)]

    weights = ps.Dataset.range(3).map(lambda x: np.array(row(x)))
    came = steps(iter(sample(two(), weights, seed=1)))
    words = "sample_from_datasets: one of the weights must be > 0, got only zeros"
    assert_same(came, [0, Failure("ValueError", words), 100])
    with pytest.raises(TypeError, match="must be float32 or float64, got int64"):
        list(sample(two(), ps.Dataset.from_tensors([1, 0])))
    with pytest.raises(TypeError, match="elements of weights must be one array"):
        list(sample(two(), ps.Dataset.from_tensors((0.5, 0.5))))


def test_wrong_arguments_are_refused():
    a, _ = two()
    with pytest.raises(ValueError, match="sample_from_datasets: at least one dataset"):
        sample([])
    with pytest.raises(TypeError, match="a Dataset was expected, got 3"):
        sample([a, 3])
    with pytest.raises(TypeError, match="must be a sequence of Datasets"):
        sample(a)
    with pytest.raises(TypeError, match="the same structure and dtypes"):
        sample([a, ps.Dataset.zip(a, a)])


def test_the_spec_covers_all_and_the_cardinality_is_known_without_end():
    a, b = two(6)
    assert sample([a.batch(2), b.batch(3)]).element_spec == ps.TensorSpec((None,), np.int64)
    assert sample([a, b]).cardinality() == ps.UNKNOWN_CARDINALITY
    assert sample([a.repeat(), b]).cardinality() == ps.INFINITE_CARDINALITY
    stops = sample([a.repeat(), b], stop_on_empty_dataset=True)
    assert stops.cardinality() == ps.UNKNOWN_CARDINALITY
    rows = ps.Dataset.from_tensors([0.5, 0.5]).repeat(4)
    assert sample([a.repeat(), b.repeat()], rows).cardinality() == 4


def test_ctrl_c_ends_draws_that_go_to_nobody():
    asked = threading.Event()

    def rows():
        yield np.array([1.0, 0.0])
        asked.set()
        yield np.array([1.0, 0.0])

    spec = ps.TensorSpec((2,), np.float64)
    first = ps.Dataset.from_generator(rows, output_signature=spec)
    weights = first.concatenate(ps.Dataset.from_tensors([1.0, 0.0]).repeat())
    it = iter(sample([ps.Dataset.range(1), ps.Dataset.range(1)], weights, seed=1))
    assert next(it) == 0
    thread = threading.Thread(target=lambda: (asked.wait(), signal.raise_signal(signal.SIGINT)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    thread.join()


def test_the_experimental_form_is_the_method():
    wanted = list(sample(two(), [0.5, 0.5], seed=3))
    assert_same(list(ps.experimental.sample_from_datasets(two(), [0.5, 0.5], seed=3)), wanted)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("weights", [[1.0, 0.0], [0.5, 0.5, 0.0]])
def test_it_ends_when_only_datasets_of_weight_zero_are_left(weights):
    parts = [*two(3), ps.Dataset.range(5).repeat()][-len(weights) :]
    taken = [part.take(3) for part in parts[:-1]]
    mixed = sample([*taken, parts[-1]], weights, seed=2)
    assert mixed.cardinality() != ps.INFINITE_CARDINALITY
    assert len(list(mixed)) == 3 * len(taken)
    it = iter(mixed)
    for _ in range(3 * len(taken)):
        state = it.get_state()
        next(it)
    again = iter(mixed)
    again.set_state(state)
    assert len(list(again)) == 1
    assert list(it) == []
    again.set_state(it.get_state())
    assert list(again) == []
