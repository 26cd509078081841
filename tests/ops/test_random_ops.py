"""penstock.random: values, keys and distributions."""

import threading

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native, run

FLOATS = ["float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_floats_fill_their_range(dtype):
    x = ps.random.uniform((100_000,), -1, 3, dtype=dtype, seed=5)
    assert x.dtype == dtype
    assert x.min() >= -1
    assert x.max() < 3
    counts, _ = np.histogram(x.astype(float), bins=8, range=(-1, 3))
    # 12500 each; five deviations of a binomial distribution, and the grid of float16.
    assert abs(counts - 12_500).max() < 530 + (dtype == "float16") * 100


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_uniform_integers_take_each_value(dtype):
    x = ps.random.uniform((60_000,), -2, 4, dtype=dtype, seed=6)
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2, 3]
    assert abs(counts - 10_000).max() < 470
    assert x.dtype == dtype


def test_uniform_integers_of_the_whole_range():
    low, high = -(2**63), 2**63 - 1
    x = ps.random.uniform((1000,), low, high, dtype=np.int64, seed=1)
    assert (x < 0).any()
    assert (x > 2**62).any()
    x = ps.random.uniform((1000,), -(2**31), 2**31, dtype=np.int32, seed=1)
    assert (x > 2**30).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_has_its_moments(dtype):
    x = ps.random.normal((100_001,), 2, 3, dtype=dtype, seed=7).astype(float)
    z = (x - 2) / 3
    for power, moment, deviation in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) < 5 * (deviation / len(z)) ** 0.5 + 1e-3
    halves = z[:-1].reshape(-1, 2)
    assert abs((halves[:, 0] * halves[:, 1]).mean()) < 0.03
    assert np.isfinite(x).all()


def test_shuffle_makes_each_order():
    orders = {}
    with ps.random.key(3):
        for _ in range(6000):
            order = tuple(ps.random.shuffle([0, 1, 2]).tolist())
            orders[order] = orders.get(order, 0) + 1
    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())


def test_shuffle_keeps_rows_together_and_takes_strings():
    x = np.arange(20).reshape(10, 2)
    rows = ps.random.shuffle(x, seed=2)
    assert rows.tolist() != x.tolist()
    assert sorted(rows.tolist()) == x.tolist()
    assert sorted(ps.random.shuffle([b"a", b"b", b"c"])) == [b"a", b"b", b"c"]
    assert ps.random.shuffle(np.zeros((0, 3))).shape == (0, 3)


def test_key_makes_a_block_repeatable():
    def draw(seed):
        with ps.random.key(seed):
            return [float(ps.random.uniform(())) for _ in range(3)]

    assert draw(1) == draw(1)
    assert len(set(draw(1) + draw(2))) == 6
    with ps.random.key(1):
        first = float(ps.random.uniform(()))
        assert draw(2) == draw(2)  # blocks nest
        assert [first, float(ps.random.uniform(()))] == draw(1)[:2]
    with pytest.raises(KeyError), ps.random.key(1):
        raise KeyError
    assert float(ps.random.uniform(())) != draw(1)[0]


def test_key_holds_in_its_thread_alone():
    drawn = []
    with ps.random.key(1):
        here = float(ps.random.uniform(()))
        thread = threading.Thread(target=lambda: drawn.append(float(ps.random.uniform(()))))
        thread.start()
        thread.join()
        again = float(ps.random.uniform(()))
    with ps.random.key(1):
        assert [float(ps.random.uniform(())) for _ in range(2)] == [here, again]
    assert drawn[0] not in (here, again)


def test_in_a_pipeline_each_element_has_a_key_of_its_own():
    assert_native(lambda x: ps.random.uniform([2], dtype="float64") + x, list(range(6)))
    assert_native(lambda x: (ps.random.normal((3,)), ps.random.shuffle(x)), [np.arange(5)] * 4)
    assert_native(lambda n: ps.random.uniform([n], -n, n), [1, 2, 3])
    drawn = run(ps.Dataset.range(50).repeat(2).map(lambda _: ps.random.uniform((), dtype="d")))
    assert len(set(drawn)) == 100


@pytest.mark.parametrize(
    "call",
    [
        lambda: ps.random.uniform((-1,)),
        lambda: ps.random.uniform((2,), dtype=np.uint8),
        lambda: ps.random.uniform((2,), dtype=np.int32),
        lambda: ps.random.uniform((2,), 3, 3, dtype=np.int32),
        lambda: ps.random.uniform((2,), 0, 2**40, dtype=np.int32),
        lambda: ps.random.uniform((2,), [0, 1], 3),
        lambda: ps.random.uniform((2,), "a", 3),
        lambda: ps.random.normal((2,), dtype=np.int32),
        lambda: ps.random.normal((2**62, 4)),
        lambda: ps.random.shuffle(3),
        lambda: ps.random.shuffle([object()]),
    ],
)
def test_what_cannot_be_drawn(call):
    with pytest.raises((ValueError, TypeError), match=r"^random\.\w+: "):
        call()
