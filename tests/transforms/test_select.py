"""select, global_shuffle and ds[...]: elements by position."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps
from indexable import Rows

D = ps.Dataset
CHOSEN = [3, 1, -1, 3, 0, 9, -10]


@ps.native
def noisy(x):
    return x, ps.random.uniform(())


def chosen_of(size):
    return D.range(size).shuffle(size, seed=1, reshuffle_each_iteration=False).take(5)


class TestSelect(DatasetContract):
    source = staticmethod(lambda: D.range(10, 20))
    build = staticmethod(lambda: D.range(10, 20).select(CHOSEN))
    expected = [13, 11, 19, 13, 10, 19, 10]


class TestOfMapped(DatasetContract):
    build = staticmethod(lambda: D.range(40).map(noisy).batch(3).select(range(12, -1, -4)))
    expected = staticmethod(lambda: list(TestOfMapped.build()))

    def test_elements_are_as_expected(self, variant):
        ps.set_seed(3)
        came = list(self.make(variant))
        ps.set_seed(3)
        assert_same(came, list(self.make(variant)))

    def check(self, came, wanted):  # of numbers; the noise depends on the run
        assert_same([x[0] for x in came], [x[0] for x in wanted])


class TestOfADataset(DatasetContract):
    build = staticmethod(lambda: D.range(100).map(str).select(chosen_of(9)))
    expected = staticmethod(lambda: list(TestOfADataset.build()))


class TestGlobalShuffle(DatasetContract):
    build = staticmethod(lambda: D.range(30).global_shuffle(seed=4, reshuffle_each_iteration=False))
    expected = staticmethod(lambda: list(TestGlobalShuffle.build()))

    def test_elements_are_as_expected(self, variant):
        came = [int(x) for x in self.make(variant)]
        assert sorted(came) == list(range(30)) != came


class TestReshuffled(DatasetContract):
    build = staticmethod(lambda: D.range(30).global_shuffle(seed=4))
    expected = staticmethod(lambda: list(TestReshuffled.build()))
    reshuffles = True


POSITIONS = {
    "list": [4, 0, 2],
    "tuple": (4, 0, 2),
    "array": np.array([4, 0, 2], np.uint8),
    "range": range(4, -1, -2),
    "mask": np.array([True, False, True, False, True]),
    "dataset": D.from_tensor_slices([4, 0, 2]),
    "small integers": D.from_tensor_slices(np.array([4, 0, 2], np.int8)),
    "nothing": [],
}
WANTED = {"range": [4, 2, 0], "mask": [0, 2, 4], "nothing": []}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_come_in_many_forms(name):
    ds = D.range(5).map(lambda x: x * 10)
    wanted = [10 * i for i in WANTED.get(name, [4, 0, 2])]
    assert_same(list(ds.select(POSITIONS[name])), wanted)
    assert len(ds.select(POSITIONS[name])) == len(wanted)


def test_a_function_gives_positions():
    ds = D.range(10)
    assert_same(list(ds.select(lambda i: 9 - i)), list(range(9, -1, -1)))
    assert_same(list(ds.select(ps.native(lambda i: i % 3), count=5)), [0, 1, 2, 0, 1])
    with pytest.raises(ValueError, match="count is for indices that are a function"):
        ds.select([1], count=3)


@pytest.mark.parametrize("bad", [[1.5], ["1"], [[1, 2]], True, np.True_, None, {"a": 1}])
def test_what_gives_no_positions_is_refused(bad):
    with pytest.raises(TypeError, match="select: "):
        D.range(5).select(bad)


@pytest.mark.parametrize("mask", [[True, False], np.ones(6, bool), np.ones(0, bool)])
def test_a_mask_must_have_a_bool_for_each_element(mask):
    ds = D.range(5)
    for use in (ds.select, ds.__getitem__):
        with pytest.raises(ValueError, match=f"as there are elements, 5, got {len(mask)}"):
            use(mask)


def test_a_bool_is_no_position():
    for bad in (True, False, np.True_):
        with pytest.raises(TypeError, match=r"got .*(True|False)"):
            D.range(5)[bad]


def test_a_position_that_there_is_not_is_an_error_and_the_next_follows():
    ds = D.range(5).select([1, 5, 2, -6, 3])
    came = steps(iter(ds))
    assert [x for x in came if not isinstance(x, Failure)] == [1, 2, 3]
    assert came[1] == Failure("ValueError", "select: each position must be in [-5, 5), got 5")
    assert came[3].text.endswith("got -6")
    floats = D.range(5).select(D.from_tensor_slices([1.0]))
    assert steps(iter(floats))[0].kind == "TypeError"


def test_an_element_that_fails_leaves_the_others():
    rows = Rows(10, bad=[4])
    ds = D.from_indexable(rows)._make("map", (D.range(10),), {"map_func": rows_at(rows)})
    for chosen in ([1, 4, 2], [4, 4], [9, 8, 4]):
        came = steps(iter(ds.select(chosen)))
        assert [isinstance(x, Failure) for x in came] == [i == 4 for i in chosen]
        assert {x.text for x in came if isinstance(x, Failure)} == {"row 4"}


def rows_at(rows):
    def fetch(i):
        if i == 4:
            raise Boom("row 4")
        return i

    return fetch


def test_a_function_of_the_user_is_called_once_for_each_element_that_is_asked_for():
    asked = []
    ds = D.range(10).map(lambda x: asked.append(int(x)) or x)
    assert_same(list(ds.select([7, 7, 1])), [7, 7, 1])
    assert asked == [7, 7, 1]
    asked.clear()
    assert ds[3] == 3
    assert asked == [3]


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.range(20).map(noisy),
        lambda: D.range(20).batch(3).map(noisy),
        lambda: D.range(20).shuffle(7, seed=1).map(noisy).enumerate(),
        lambda: D.range(7).map(noisy).repeat(3),
        lambda: D.range(9).map(noisy).concatenate(D.range(4).map(noisy)),
        lambda: D.zip(D.range(20).map(noisy), D.range(50).shard(2, 1)).skip(3).take(9),
        lambda: D.range(20).map(noisy, num_parallel_calls=2).prefetch(1).cache(),
        lambda: D.range(20).select([5, 3, 3, 8]).map(noisy),
        lambda: D.range(20).global_shuffle(seed=1).map(noisy),
    ],
)
def test_elements_and_datasets_of_them_agree_in_what_they_draw(make):
    ds = make()
    alone = [ds[i] for i in range(len(ds))]
    assert_same([ds[i - len(ds)] for i in range(len(ds))], alone)
    # The expected elements are those of a run with the same identity, over a dataset of one
    # element.
    assert_same([ds[1:][i] for i in range(len(ds) - 1)], alone[1:])


def test_one_position_is_an_element_and_several_are_a_dataset():
    ds = D.range(10).map(lambda x: x * x)
    assert ds[3] == ds[np.int8(3)] == ds[-7] == 9
    assert isinstance(ds[2:4], D)
    assert_same(list(ds[2:4]), [4, 9])
    assert_same(list(ds[::-4]), [81, 25, 1])
    assert_same(list(ds[20:]), [])
    assert_same(list(ds[[1, 1]]), [1, 1])
    for bad in (10, -11):
        with pytest.raises(IndexError, match=r"\[-10, 10\), got"):
            ds[bad]
    with pytest.raises(TypeError, match="every stage must have random access, filter has none"):
        ds.filter(bool)[0]
    with pytest.raises(IndexError, match="infinite"):
        ds.repeat()[-1]
    assert ds.repeat()[10**12 + 2] == 4


def test_a_list_of_everything_is_what_len_and_index_say():
    ds = D.range(7).batch(2)
    assert_same([ds[i] for i in range(len(ds))], list(ds))


@pytest.mark.parametrize("name", ["select", "global_shuffle"])
def test_a_stage_without_random_access_is_named(name):
    ds = D.range(5).filter(lambda x: x > 2).batch(2)
    with pytest.raises(TypeError, match=f"{name}: .* random access, filter has none"):
        ds.select([0]) if name == "select" else ds.global_shuffle()


def test_only_what_has_an_end_is_shuffled():
    with pytest.raises(TypeError, match="global_shuffle: len: the dataset is infinite"):
        D.range(3).repeat().global_shuffle()
    assert list(D.range(0).global_shuffle()) == []
    assert list(D.range(1).global_shuffle()) == [0]


def test_epochs_and_seeds_decide_the_order():
    def order(ds):
        return [int(x) for x in ds]

    def made(**arguments):
        return D.range(50).global_shuffle(**arguments)

    ds = made(seed=1)
    first, second = order(ds), order(ds)
    assert first != second
    again = made(seed=1)
    assert [order(again), order(again)] == [first, second]
    assert order(made(seed=2)) != first
    same = made(reshuffle_each_iteration=False)
    assert order(same) == order(same)
    epochs = order(made(seed=1).repeat(2))
    assert sorted(epochs[:50]) == sorted(epochs[50:])
    assert epochs[:50] != epochs[50:]
    ps.set_seed(5)
    unseeded = order(made())
    ps.set_seed(5)
    assert order(made()) == unseeded


def test_positions_are_chosen_before_anything_is_computed():
    asked = []
    ds = D.range(100).map(lambda x: asked.append(int(x)) or x).global_shuffle(seed=1)
    whole = [int(x) for x in ds]
    shards = []
    for i in range(3):
        asked.clear()
        ds = D.range(100).map(lambda x: asked.append(int(x)) or x).global_shuffle(seed=1)
        shards.append([int(x) for x in ds.shard(3, i)])
        assert asked == shards[-1] == whole[i::3]
    asked.clear()
    taken = D.range(100).map(lambda x: asked.append(int(x)) or x).global_shuffle(seed=1)
    assert [int(x) for x in taken.skip(10).take(5)] == asked == whole[10:15]


def test_what_is_before_it_draws_other_numbers_in_each_epoch():
    ds = D.range(5).map(noisy).global_shuffle(seed=1).repeat(2)
    noise = [float(x[1]) for x in ds]
    assert len(set(noise)) == 10


def test_an_element_that_comes_twice_draws_other_numbers_after_it():
    noise = [float(x[1]) for x in D.range(5).select([2, 2, 2]).map(noisy)]
    assert len(set(noise)) == 3


def test_a_state_is_a_few_bytes_and_a_start_anywhere_costs_the_same():
    ds = D.range(10**12).global_shuffle(seed=1)
    it = iter(ds.skip(10**11))
    first = next(it)
    state = it.get_state()
    assert len(state) < 400
    following = [int(next(it)) for _ in range(5)]
    resumed = iter(ds.skip(10**11))
    resumed.set_state(state)
    assert [int(next(resumed)) for _ in range(5)] == following
    assert first == ds[10**11]


def test_a_dataset_may_be_a_map_style_dataset_of_another():
    outer = D.from_indexable(D.range(6).map(lambda x: x + 1))
    assert_same(list(outer), [1, 2, 3, 4, 5, 6])
