"""from_indexable: rows of objects with __len__ and __getitem__."""

import gc
import weakref

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps
from indexable import ManyRows, Rows, row


class TestListOfNumbers(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_indexable([3, 1, 4, 1, 5]))
    expected = [3, 1, 4, 1, 5]


class TestObject(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_indexable(Rows(9)))
    expected = [row(i) for i in range(9)]


class TestManyRows(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_indexable(ManyRows(7)).batch(3))
    expected = [
        {"x": np.array([[i, i + 1] for i in b]), "text": np.array(list(map(str, b)), object)}
        for b in ([0, 1, 2], [3, 4, 5], [6])
    ]


class TestChosenRows(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_indexable(Rows(9)).shard(2, 1).skip(1).repeat(2))
    expected = [row(i) for i in (3, 5, 7) * 2]

    # skip precedes repeat, so it applies to each epoch.
    def test_only_chosen_rows_are_fetched(self):
        rows = Rows(9)
        list(ps.Dataset.from_indexable(rows).shard(2, 1).skip(1).take(2))
        assert rows.asked == [3, 5]


class TestShuffledRows(DatasetContract):
    build = staticmethod(
        lambda: ps.Dataset.from_indexable(Rows(9)).shuffle(
            4, seed=7, reshuffle_each_iteration=False
        )
    )

    @staticmethod
    def expected():
        order = ps.Dataset.range(9).shuffle(4, seed=7, reshuffle_each_iteration=False)
        return [row(int(i)) for i in order]


class TestEmpty(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_indexable([]))
    expected = []

    def test_element_spec_accepts_every_element(self):
        with pytest.raises(ValueError, match="from_indexable gives no element"):
            self.build().element_spec


def test_a_shuffle_fetches_nothing_before_its_turn():
    rows = Rows(1000)
    it = iter(ps.Dataset.from_indexable(rows).shuffle(1000, seed=1))
    next(it)
    assert len(rows.asked) == 1


def test_a_shuffle_has_the_order_of_the_same_shuffle_over_a_range():
    order = [int(i) for i in ps.Dataset.range(50).shuffle(20, seed=5).repeat(2)]
    came = ps.Dataset.from_indexable(list(range(50))).shuffle(20, seed=5).repeat(2)
    assert [int(i) for i in came] == order


def test_indices_are_plain_ints_below_the_length():
    rows = Rows(5)
    list(ps.Dataset.from_indexable(rows).shuffle(5).repeat(3))
    assert {type(i) for i in rows.asked} == {int}
    assert sorted(rows.asked) == sorted(list(range(5)) * 3)


def test_several_rows_are_fetched_at_once_where_a_batch_follows():
    rows = ManyRows(8)
    list(ps.Dataset.from_indexable(rows).batch(4))
    assert rows.asked == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_lists_in_rows_are_arrays_and_tuples_are_tuples():
    ds = ps.Dataset.from_indexable([([1, 2], 3.0)])
    assert_same(list(ds), [(np.array([1, 2]), 3.0)])
    assert_same(
        list(ps.Dataset.from_indexable([[1, 2], [3, 4]])), [np.array([1, 2]), np.array([3, 4])]
    )


def test_the_rows_of_the_object_stay_its_own():
    kept = [np.zeros(3), np.ones(3)]
    for array in ps.Dataset.from_indexable(kept):
        if array.flags.writeable:
            array += 5
    assert_same(kept, [np.zeros(3), np.ones(3)])


def test_a_signature_converts_and_checks():
    ds = ps.Dataset.from_indexable(
        [[1, 2], [3, 4], [5]], output_signature=ps.TensorSpec((2,), np.int16)
    )
    assert ds.element_spec == ps.TensorSpec((2,), np.int16)
    came = steps(iter(ds))
    assert_same(came[:2], [np.array([1, 2], np.int16), np.array([3, 4], np.int16)])
    assert came[2].kind == "TypeError"


@pytest.mark.parametrize("bad", [5, {1, 2}, iter([1]), Rows])
def test_what_has_no_random_access_is_refused(bad):
    with pytest.raises(TypeError, match="from_indexable: an object with __len__ and __getitem__"):
        ps.Dataset.from_indexable(bad)


# --- errors ---


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("kind", [Rows, ManyRows])
def test_a_row_that_fails_leaves_the_others(kind, batch):
    ds = ps.Dataset.from_indexable(kind(6, bad=[4]))
    came = steps(iter(ds if batch is None else ds.batch(batch).unbatch()))
    wanted = [kind(6)[i] for i in range(6) if i != 4]
    assert [s for s in came if isinstance(s, Failure)] == [Failure("Boom", "row 4")]
    assert_same(
        [s for s in came if not isinstance(s, Failure)], list(ps.Dataset.from_indexable(wanted))
    )


def test_the_note_of_an_error_names_the_row():
    ds = ps.Dataset.from_indexable(Rows(6, bad=[4])).skip(3)
    with pytest.raises(Boom, match="row 4") as caught:
        list(ds)
    assert caught.value.__notes__ == ["penstock: in stage from_indexable, element 1 (index 4)"]


@pytest.mark.parametrize("error", [IndexError, StopIteration, KeyError])
def test_an_error_that_ends_loops_elsewhere_does_not_end_the_data(error):
    class Bad(Rows):
        def __getitem__(self, i):
            if i == 1:
                raise error("not there")
            return i

    came = steps(iter(ps.Dataset.from_indexable(Bad(3))))
    assert_same([came[0], came[2]], [0, 2])
    assert came[1].kind == ("RuntimeError" if error is StopIteration else error.__name__)


@pytest.mark.parametrize("change", [lambda rows: rows.pop(), lambda rows: rows.append(9)])
def test_an_object_of_another_length_is_an_error(change):
    rows = [1, 2, 3, 4]
    it = iter(ps.Dataset.from_indexable(rows))
    assert next(it) == 1
    change(rows)
    with pytest.raises(RuntimeError, match=r"had 4 rows when .* it has [35] now; make the dataset"):
        next(it)


@pytest.mark.parametrize(
    ("came", "kind", "words"),
    [
        ([1, 2], "ValueError", "__getitems__ of 3 indices must return as many rows, got 2"),
        ({1: 2}, "TypeError", "__getitems__ must return a list"),
        (None, "TypeError", "__getitems__ must return a list"),
    ],
)
def test_a_wrong_answer_of_getitems_is_an_error_of_all_its_rows(came, kind, words):
    class Lying(Rows):
        def __getitems__(self, indices):
            return came

    steps_of = steps(iter(ps.Dataset.from_indexable(Lying(3)).batch(3)))
    assert [s.kind for s in steps_of] == [kind] * 3
    assert all(words in s.text for s in steps_of)


def test_a_length_that_fails_is_the_error_of_its_rows():
    class Closed(Rows):
        def __len__(self):
            if self.n < 0:
                raise Boom("closed")
            return self.n

    rows = Closed(2)
    ds = ps.Dataset.from_indexable(rows)
    rows.n = -1
    assert steps(iter(ds)) == [Failure("Boom", "closed")] * 2


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("kind", [Rows, ManyRows])
def test_a_fetch_that_is_interrupted_is_done_again(kind, batch):
    rows = kind(10)
    fetch = kind.__getitem__
    interrupts = [KeyboardInterrupt]

    class Interrupted(kind):
        def __getitem__(self, i):
            if i == 5 and interrupts:
                raise interrupts.pop()
            return fetch(rows, i)

        if kind is ManyRows:

            def __getitems__(self, indices):
                return [self[i] for i in indices]

    it = iter(ps.Dataset.from_indexable(Interrupted(10)).batch(batch).unbatch())
    came = []
    with pytest.raises(KeyboardInterrupt):
        came.extend(it)
    came += list(it)
    assert_same(came, list(ps.Dataset.from_indexable(rows)))


# --- lifetime, keys, options ---


def test_a_dataset_that_its_object_refers_to_is_collected():
    rows = ManyRows(3)
    rows.dataset = ps.Dataset.from_indexable(rows).shuffle(3)
    list(rows.dataset)
    gone = weakref.ref(rows)
    del rows
    gc.collect()
    assert gone() is None


def test_random_operations_draw_from_the_key_of_the_row():
    class Noisy(Rows):
        def __getitem__(self, i):
            return i, ps.random.uniform(())

    def run(calls):
        ps.random.set_seed(3)
        ds = ps.Dataset.from_indexable(Noisy(20), num_parallel_calls=calls)
        return list(ds.shuffle(20, seed=2).repeat(2))

    once = run(None)
    assert_same(run(4), once)
    assert len({float(noise) for _, noise in once}) == 40


def test_options_are_kept_by_the_stages_that_choose_rows():
    options = ps.Options()
    options.deterministic = False
    ds = ps.Dataset.from_indexable([1, 2]).with_options(options).shuffle(2).take(1)
    assert ds.options().deterministic is False


def test_a_cache_of_rows_fetches_them_once():
    rows = Rows(4)
    ds = ps.Dataset.from_indexable(rows).cache()
    assert_same(list(ds), list(ds))
    assert rows.asked == [0, 1, 2, 3]
