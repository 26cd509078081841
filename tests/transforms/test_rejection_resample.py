"""rejection_resample: classes with the target frequencies."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, steps

SHARES = [0.6, 0.3, 0.1]
EVEN = [1 / 3] * 3
N = 20_000
CLASSES = np.random.default_rng(0).choice(3, size=N, p=SHARES).astype(np.int64)


def classes():
    return ps.Dataset.from_tensor_slices(CLASSES)


def modulo(x):
    return x % 3


class TestRejectionResample(DatasetContract):
    build = staticmethod(
        lambda: ps.Dataset.range(40).rejection_resample(modulo, [0.7, 0.2, 0.1], EVEN, seed=1)
    )

    @staticmethod
    def expected():
        return list(
            ps.Dataset.range(40)
            .map(lambda x: x, num_parallel_calls=2)
            .prefetch(3)
            .rejection_resample(ps.native(modulo), [0.7, 0.2, 0.1], EVEN, seed=1)
        )


class TestWhereNothingIsLeftOut(DatasetContract):
    """The data already has the target frequencies: one pass, and each error once."""

    source = staticmethod(lambda: ps.Dataset.range(9).map(lambda x: (x, x + 1)))

    @staticmethod
    def apply(ds):
        return ds.rejection_resample(lambda x, y: x % 3, EVEN, EVEN, seed=1)

    expected = [(i % 3, (i, i + 1)) for i in range(9)]
    pickles = False


class TestWithEstimatedShares(DatasetContract):
    build = staticmethod(
        lambda: ps.Dataset.range(60).rejection_resample(modulo, [0.7, 0.2, 0.1], seed=1).take(12)
    )
    expected = staticmethod(
        lambda: list(
            ps.Dataset.range(60)
            .rejection_resample(ps.native(modulo), [0.7, 0.2, 0.1], seed=1)
            .prefetch(2)
            .take(12)
        )
    )


# tf.data 2.21's number of results for 40,000 elements with these frequencies; half of it for 20,000
# here.
@pytest.mark.parametrize(("initial", "tf_count"), [(SHARES, 14223), (None, 14177)])
def test_shares_and_number_of_results_are_those_of_tf_data(initial, tf_count):
    came = [
        int(c)
        for c, x in classes().rejection_resample(ps.native(lambda x: x), EVEN, initial, seed=1)
    ]
    assert abs(len(came) / (tf_count / 2) - 1) < 0.05
    shares = np.bincount(came, minlength=3) / len(came)
    assert np.abs(shares - EVEN).max() < 0.02


def test_a_class_that_is_not_wanted_never_comes():
    # tf.data 2.21: 7973 of 40,000
    came = [
        int(c)
        for c, x in classes().rejection_resample(
            ps.native(lambda x: x), [0, 0.5, 0.5], SHARES, seed=1
        )
    ]
    counts = np.bincount(came, minlength=3)
    assert counts[0] == 0
    assert abs(counts.sum() / (7973 / 2) - 1) < 0.08
    assert abs(counts[1] / counts.sum() - 0.5) < 0.04


def test_elements_keep_their_class_and_come_in_order_from_each_pass():
    ds = ps.Dataset.range(300).rejection_resample(modulo, [0.7, 0.2, 0.1], seed=1)
    came = list(ds)
    assert all(c == x % 3 for c, x in came)
    values = [int(x) for _, x in came]
    assert all(values.count(x) <= 2 for x in values)


def test_shares_need_not_sum_to_one():
    def run(target, initial):
        return list(ps.Dataset.range(40).rejection_resample(modulo, target, initial, seed=1))

    assert_same(run([7, 2, 1], [5, 5, 5]), run([0.7, 0.2, 0.1], [1.0, 1.0, 1.0]))


def test_seeds():
    ds = ps.Dataset.range(200).rejection_resample(modulo, [0.7, 0.2, 0.1], seed=1)
    assert_same(list(ds), list(ds))
    free = ps.Dataset.range(200).rejection_resample(modulo, [0.7, 0.2, 0.1])
    assert [int(x) for _, x in free] != [int(x) for _, x in free]


@pytest.mark.parametrize("bad", [3, -1, 0.5, "0", (0,), True])
def test_what_is_no_class_is_an_error_in_its_place(bad):
    ds = ps.Dataset.range(5).rejection_resample(
        lambda x: bad if x == 2 else 0, [1.0, 0.0], [1.0, 0.0]
    )
    came = steps(iter(ds))
    assert_same([came[0], came[1], came[3], came[4]], [(0, 0), (0, 1), (0, 3), (0, 4)])
    assert came[2].text.startswith(
        "rejection_resample: class_func must return an integer in [0, 2)"
    )


def test_an_error_of_the_function_names_the_element():
    def broken(x):
        if x == 2:
            raise OSError("gone")
        return x * 0

    it = iter(ps.Dataset.range(4).rejection_resample(broken, [1.0], [1.0]))
    next(it), next(it)
    with pytest.raises(OSError, match="gone") as caught:
        next(it)
    (note,) = caught.value.__notes__
    assert note == "penstock: in stage rejection_resample(broken), element 2 (2)"
    assert_same(list(it), [(0, 3)])


@pytest.mark.parametrize(
    ("target", "initial", "words"),
    [
        ([], None, "target_dist must have a number > 0"),
        ([0.0, 0.0], None, "target_dist must have a number > 0"),
        ([-1.0, 2.0], None, "target_dist must be finite and >= 0"),
        ([np.nan, 2.0], None, "target_dist must be finite and >= 0"),
        (1.0, None, "target_dist must be a row of numbers"),
        ([0.5, 0.5], [1.0], "initial_dist must be 2 numbers"),
        ([0.5, 0.5], [1.0, 0.0], "class 1 has share 0 in initial_dist"),
    ],
)
def test_shares_that_are_none_are_refused(target, initial, words):
    with pytest.raises(ValueError, match=words):
        ps.Dataset.range(3).rejection_resample(modulo, target, initial)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="class_func must be callable, got 3"):
        ps.Dataset.range(3).rejection_resample(3, [1.0])


def test_the_experimental_function_is_the_method():
    ds = ps.Dataset.range(60)
    form = ps.experimental.rejection_resample(modulo, [0.7, 0.2, 0.1], EVEN, seed=1)
    assert_same(
        list(ds.apply(form)), list(ds.rejection_resample(modulo, [0.7, 0.2, 0.1], EVEN, seed=1))
    )


def test_an_empty_input_gives_nothing():
    assert list(ps.Dataset.range(0).rejection_resample(modulo, EVEN)) == []
    assert ps.Dataset.range(5).rejection_resample(modulo, EVEN).cardinality() == -2


def test_an_interrupted_call_is_made_again():
    calls = []

    def once(x):
        calls.append(int(x))
        if calls == [0, 1, 2]:
            raise KeyboardInterrupt
        return x * 0

    ds = ps.Dataset.range(5).rejection_resample(once, [1.0], [1.0])
    it = iter(ds)
    assert_same([next(it), next(it)], [(0, 0), (0, 1)])
    with pytest.raises(KeyboardInterrupt):
        next(it)
    again = iter(ds)
    again.set_state(it.get_state())
    assert_same(list(it), [(0, i) for i in (2, 3, 4)])
    assert_same(list(again), [(0, i) for i in (2, 3, 4)])
