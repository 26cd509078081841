"""TensorFlow's seeds: equal seeds, the global seed, and pairs of seeds."""

import numpy as np
import pytest

import penstock as ps
import penstock.compat.tf as tf

T = tf.data.Dataset
IMAGES = np.arange(16 * 6 * 6 * 3).reshape(16, 6, 6, 3).astype("u1")


@pytest.fixture(autouse=True)
def unseeded():
    ps.set_seed(None)
    yield
    ps.set_seed(None)


def rows(dataset):
    return [
        np.asarray(value).tolist() if not isinstance(value, tuple) else [*map(listed, value)]
        for value in dataset.as_numpy_iterator()
    ]


def listed(value):
    return np.asarray(value).tolist()


ORDERS = {
    "shuffle": lambda: T.range(40).shuffle(40, seed=1),
    "epochs": lambda: T.range(40).shuffle(40, seed=1).repeat(2),
    "sample_from_datasets": lambda: T.sample_from_datasets(
        [T.range(40), T.range(100, 140)], seed=4
    ),
    "random": lambda: T.random(seed=3).take(9),
}
CALLS = {
    "uniform": lambda x: tf.random.uniform([3], seed=5),
    "normal": lambda x: tf.random.normal([3], seed=5),
    "truncated_normal": lambda x: tf.random.truncated_normal([3], seed=5),
    "categorical": lambda x: tf.random.categorical(tf.zeros([1, 1000]), 3, seed=5),
    "gamma": lambda x: tf.random.gamma([3], 2.0, seed=5),
    "shuffle": lambda x: tf.random.shuffle(tf.range(99), seed=5),
    "random_flip_left_right": lambda x: tf.image.random_flip_left_right(x, seed=5),
    "random_crop": lambda x: tf.image.random_crop(x, [3, 3, 3], seed=5),
    "random_brightness": lambda x: tf.image.random_brightness(x, 0.4, seed=5),
    "random_jpeg_quality": lambda x: tf.image.random_jpeg_quality(x, 1, 100, seed=5),
    "sample_distorted_bounding_box": lambda x: tf.image.sample_distorted_bounding_box(
        [600, 600, 3], [[[0.1, 0.1, 0.9, 0.9]]], seed=5
    )[0],
}
STATELESS = {
    "uniform": lambda x, seed: tf.random.stateless_uniform([3], seed),
    "random_flip_left_right": lambda x, seed: tf.image.stateless_random_flip_left_right(x, seed),
    "random_crop": lambda x, seed: tf.image.stateless_random_crop(x, [3, 3, 3], seed),
    "random_brightness": lambda x, seed: tf.image.stateless_random_brightness(x, 0.4, seed),
    "random_jpeg_quality": lambda x, seed: tf.image.stateless_random_jpeg_quality(x, 1, 100, seed),
    "sample_distorted_bounding_box": lambda x, seed: (
        tf.image.stateless_sample_distorted_bounding_box(
            [600, 600, 3], [[[0.1, 0.1, 0.9, 0.9]]], seed
        )[0]
    ),
}


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("seed", [None, 7])
def test_two_datasets_with_equal_seeds_stay_aligned(kind, seed):
    tf.random.set_seed(seed)
    pairs = rows(T.zip((ORDERS[kind](), ORDERS[kind]())))
    assert all(x == y for x, y in pairs)


@pytest.mark.parametrize("kind", ORDERS)
def test_the_global_seed_affects_datasets(kind):
    found = []
    for seed in (None, 7, 8, 7, None):
        tf.random.set_seed(seed)
        found.append(rows(ORDERS[kind]()))
    assert found[:2] == found[4:2:-1]
    assert found[0] != found[1] != found[2] != found[0]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seed", [None, 7])
def test_operations_of_one_seed_draw_alike(name, seed):
    tf.random.set_seed(seed)
    call = CALLS[name]
    images = T.from_tensor_slices(IMAGES)
    one_map = rows(images.map(lambda x: (call(x), call(x))))
    two_maps = rows(T.zip((images.map(call), images.map(lambda x: call(x + 0)))))
    assert one_map == two_maps
    assert all(x == y for x, y in one_map)
    assert len({repr(x) for x, _ in one_map}) > 1


@pytest.mark.parametrize("name", CALLS)
def test_the_global_seed_affects_operations(name):
    found = []
    for seed in (None, 7, 8, 7, None):
        tf.random.set_seed(seed)
        found.append(rows(T.from_tensor_slices(IMAGES).map(CALLS[name])))
    assert found[:2] == found[4:2:-1]
    assert found[0] != found[1] != found[2] != found[0]


@pytest.mark.parametrize("name", STATELESS)
def test_a_pair_of_seeds_determines_the_draws(name):
    draw = STATELESS[name]
    image = tf.constant(IMAGES[3])
    alone = listed(draw(image, (1, 2)))
    for seed in (None, 7):
        tf.random.set_seed(seed)
        images = T.from_tensors(image).repeat(5)
        found = rows(images.map(lambda x: (draw(x, (1, 2)), draw(x, (1, 2)))))
        assert found == 5 * [[alone, alone]]
    of_numbers = T.range(40).map(lambda n: draw(image, tf.stack([n, n + 1])))
    assert len({repr(x) for x in rows(of_numbers)}) > 1


def drawn(x):
    return tf.random.uniform([3], seed=5)


@pytest.mark.parametrize("seed", [None, 7])
def test_worker_processes_use_the_global_seed(seed):
    tf.random.set_seed(seed)
    options = ps.Options()
    options.executor = "process"
    wanted = rows(T.range(5).map(drawn))
    assert rows(T.range(5).map(drawn).with_options(options)) == wanted
