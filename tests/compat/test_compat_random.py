"""tf.random: numbers are in range, have the right distribution, and follow their seeds."""

import numpy as np
import pytest

import penstock.compat.tf as tf

STATELESS = {
    "uniform": lambda seed: tf.random.stateless_uniform([3], seed),
    "integers": lambda seed: tf.random.stateless_uniform([3], seed, 0, 1000, tf.int32),
    "all integers": lambda seed: tf.random.stateless_uniform([3], seed, None, None, tf.int64),
    "normal": lambda seed: tf.random.stateless_normal([3], seed),
    "truncated": lambda seed: tf.random.stateless_truncated_normal([3], seed),
    "between": lambda seed: tf.random.stateless_parameterized_truncated_normal([3], seed),
    "categorical": lambda seed: tf.random.stateless_categorical(tf.zeros([1, 99]), 8, seed),
    "gamma": lambda seed: tf.random.stateless_gamma([3], seed, 2.0),
    "poisson": lambda seed: tf.random.stateless_poisson([9], seed, 40.0),
    "binomial": lambda seed: tf.random.stateless_binomial([9], seed, 1000, 0.5),
    "split": lambda seed: tf.random.split(seed),
    "fold_in": lambda seed: tf.random.fold_in(seed, 3),
    "shuffle": lambda seed: tf.random.experimental.stateless_shuffle(tf.range(99), seed),
    "index": lambda seed: tf.random.experimental.index_shuffle(tf.range(99), seed, 98),
}
MANY = 20000


@pytest.mark.parametrize("draw", STATELESS.values(), ids=STATELESS)
def test_a_seed_says_what_is_drawn(draw):
    first = draw((1, 2))
    np.testing.assert_array_equal(first, draw(tf.constant([1, 2], tf.int64)))
    assert (np.asarray(first) != np.asarray(draw((1, 3)))).any()
    assert (np.asarray(first) != np.asarray(draw((-2, 2)))).any()


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_uniform_floats_are_below_their_end(dtype):
    drawn = tf.random.stateless_uniform([MANY], (1, 2), dtype=dtype)
    assert drawn.dtype == dtype
    values = np.asarray(drawn, np.float64)
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(values.std() - 12**-0.5) < 0.01


def test_uniform_integers_are_in_their_range():
    drawn = tf.random.stateless_uniform([MANY], (1, 2), -3, 4, tf.int32)
    assert drawn.dtype == tf.int32
    counts = np.bincount(np.asarray(drawn) + 3)
    assert len(counts) == 7
    assert np.abs(counts / MANY - 1 / 7).max() < 0.02
    everything = np.asarray(tf.random.stateless_uniform([MANY], (1, 2), None, None, tf.uint32))
    assert everything.max() > 0.99 * 2**32
    with pytest.raises(ValueError, match="both"):
        tf.random.stateless_uniform([2], (1, 2), dtype=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="minval"):
        tf.random.stateless_uniform([2], (1, 2), 5, 5, tf.int32)


def test_a_seed_is_a_pair():
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        tf.random.stateless_uniform([2], [1])


def test_normal_numbers():
    drawn = np.asarray(tf.random.stateless_normal([MANY, 2], (1, 2), [1.0, -1.0], 2.0))
    assert drawn.dtype == np.float32
    assert np.abs(drawn.mean(0) - [1, -1]).max() < 0.05
    assert np.abs(drawn.std(0) - 2).max() < 0.05


@pytest.mark.parametrize(
    "draw",
    [
        lambda: tf.random.stateless_truncated_normal([MANY], (1, 2), 5.0, 0.5),
        lambda: tf.random.truncated_normal([MANY], 5.0, 0.5),
        lambda: tf.random.Generator.from_seed(1).truncated_normal([MANY], 5.0, 0.5),
        lambda: tf.random.stateless_parameterized_truncated_normal(
            [MANY], (1, 2), 5.0, 0.5, 4.0, 6.0
        ),
    ],
)
def test_truncated_normal_numbers(draw):
    values = np.asarray(draw())
    assert values.dtype == np.float32
    assert values.min() >= 4
    assert values.max() <= 6
    assert abs(values.mean() - 5) < 0.02
    assert abs(values.std() - 0.44) < 0.01  # 0.88 of sigma, for a truncation at 2 sigma


@pytest.mark.parametrize(
    "draw",
    [
        lambda logits: tf.random.stateless_categorical(logits, MANY, (1, 2)),
        lambda logits: tf.random.categorical(logits, MANY),
    ],
)
def test_categorical_numbers(draw):
    drawn = draw([[np.log(0.2), np.log(0.8), -np.inf], np.log([0.5, 0.25, 0.25])])
    assert drawn.dtype == tf.int64
    assert drawn.shape == (2, MANY)
    shares = np.stack([np.bincount(row, minlength=3) / MANY for row in np.asarray(drawn)])
    assert np.abs(shares - [[0.2, 0.8, 0], [0.5, 0.25, 0.25]]).max() < 0.02
    assert shares[0, 2] == 0


def test_gamma_poisson_and_binomial_numbers():
    gamma = np.asarray(tf.random.gamma([MANY], [1.0, 4.0], beta=2.0))
    assert gamma.shape == (MANY, 2)
    assert np.abs(gamma.mean(0) - [0.5, 2]).max() < 0.05
    poisson = np.asarray(tf.random.poisson([MANY], [1.0, 4.0]))
    assert poisson.dtype == np.float32
    assert np.abs(poisson.mean(0) - [1, 4]).max() < 0.1
    assert np.abs(poisson.var(0) - [1, 4]).max() < 0.2
    binomial = np.asarray(tf.random.stateless_binomial([MANY], (1, 2), 10, 0.3))
    assert binomial.dtype == np.int32
    assert abs(binomial.mean() - 3) < 0.05
    assert binomial.max() <= 10
    with pytest.raises(tf.errors.InvalidArgumentError, match="end with"):
        tf.random.stateless_gamma([3], (1, 2), [1.0, 2.0])


@pytest.mark.parametrize("most", [0, 1, 2, 9, 255, 256, 1000])
def test_shuffled_indices_are_an_order(most):
    indices = tf.range(most + 1)
    order = np.asarray(tf.random.experimental.index_shuffle(indices, (5, 6), most))
    assert sorted(order) == list(range(most + 1))
    single = tf.random_index_shuffle(tf.constant(most, tf.int64), [5, 6, 7], most)
    assert single.dtype == tf.int64
    assert 0 <= int(single) <= most


def test_shuffled_indices_are_equally_likely():
    first = [int(tf.random.experimental.index_shuffle(0, (5, s), 4)) for s in range(2000)]
    assert np.abs(np.bincount(first, minlength=5) / 2000 - 0.2).max() < 0.05


def test_numbers_of_a_map_belong_to_their_elements():
    def draw(_):
        return tf.random.categorical(tf.zeros([1, 1000]), 2)[0], tf.random.gamma([1], 2.0)

    def run(parallel):
        tf.random.set_seed(3)
        dataset = tf.data.Dataset.range(20).map(draw, num_parallel_calls=parallel)
        return [np.concatenate(element).tolist() for element in dataset.as_numpy_iterator()]

    assert run(1) == run(4)
    assert len({tuple(each) for each in run(1)}) == 20


def test_a_generator_goes_on_from_its_state():
    rng = tf.random.Generator.from_seed(7)
    rng.normal([3])
    state = rng.state.numpy()
    rest = rng.uniform([2]), rng.binomial([2], 10, 0.5), rng.uniform_full_int([2])
    for other in (
        tf.random.Generator.from_state(state, "philox"),
        tf.random.Generator(state=state),
        tf.random.Generator.from_key_counter(state[2], state[:2], "philox"),
    ):
        again = other.uniform([2]), other.binomial([2], 10, 0.5), other.uniform_full_int([2])
        for a, b in zip(rest, again, strict=True):
            np.testing.assert_array_equal(a, b)
    rng.reset(state)
    np.testing.assert_array_equal(rng.uniform([2]), rest[0])
    copy = tf.random.Generator(rng)
    np.testing.assert_array_equal(copy.normal([2]), rng.normal([2]))
    rng.reset_from_seed(7)
    skipped = tf.random.Generator.from_seed(7)
    skipped.skip(3)
    rng.normal([3])
    np.testing.assert_array_equal(rng.normal([2]), skipped.normal([2]))
    assert rng.state.dtype == tf.int64
    assert rng.algorithm == 1


def test_generators_that_are_split_differ():
    first, second = tf.random.Generator.from_seed(1).split(2)
    assert (np.asarray(first.uniform([4])) != np.asarray(second.uniform([4]))).all()
    seeds = tf.random.Generator.from_seed(1).make_seeds(3)
    assert seeds.shape == (2, 3)
    assert seeds.dtype == tf.int64


def test_numbers_of_one_generator_do_not_repeat():
    rng = tf.random.Generator.from_seed(1)
    drawn = [float(rng.uniform([])) for _ in range(1000)]
    assert len(set(drawn)) > 990
    assert abs(np.mean(drawn) - 0.5) < 0.05


def test_a_generator_is_saved_and_restored(tmp_path):
    rng = tf.random.Generator.from_seed(1)
    path = tf.train.Checkpoint(rng=rng).save(str(tmp_path / "ck"))
    expected = rng.normal([3])
    other = tf.random.Generator.from_seed(2)
    tf.train.Checkpoint(rng=other).restore(path)
    np.testing.assert_array_equal(other.normal([3]), expected)


def test_the_generator_of_a_program():
    own = tf.random.Generator.from_seed(1)
    assert tf.random.get_global_generator() is tf.random.get_global_generator()
    tf.random.set_global_generator(own)
    assert tf.random.experimental.get_global_generator() is own
