"""image.random_crop: crops of the value, uniformly placed, and keyed."""

import numpy as np
import pytest

import penstock as ps


def positions(image, part):
    """Return where a crop begins in an image of distinct values; check that it is a crop."""
    first = np.argwhere(image == part.ravel()[0])[0]
    window = tuple(slice(start, start + n) for start, n in zip(first, part.shape, strict=True))
    np.testing.assert_array_equal(image[window], part)
    return tuple(first.tolist())


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((10, 12, 3), (4, 5, 3)),
        ((10, 12, 3), (4, 5, 2)),
        ((10,), (3,)),
        ((4, 5, 6, 7), (2, 5, 1, 7)),
        ((4, 5, 6, 7), (4, 5, 6, 7)),
        ((9, 9), (9, 2)),
    ],
)
def test_result_is_a_part(shape, size):
    value = np.arange(np.prod(shape)).reshape(shape)
    for seed in range(50):
        part = ps.image.random_crop(value, size, seed=seed)
        assert part.shape == size
        positions(value, part)


def test_minus_one_keeps_an_axis():
    value = np.arange(60).reshape(5, 4, 3)
    assert ps.image.random_crop(value, (2, -1, -1)).shape == (2, 4, 3)


def test_every_place_comes_up_about_as_often():
    value = np.arange(30).reshape(5, 6)
    ps.random.set_seed(5)
    counts = np.zeros((4, 4), int)
    for _ in range(4000):
        counts[positions(value, ps.image.random_crop(value, (2, 3)))] += 1
    # 16 positions, 250 expected at each: chi-square with 15 degrees of freedom.
    assert ((counts - 250) ** 2 / 250).sum() < 45


def test_a_seed_decides():
    value = np.arange(10_000)
    first = ps.image.random_crop(value, (10,), seed=1)
    np.testing.assert_array_equal(first, ps.image.random_crop(value, (10,), seed=1))
    places = {int(ps.image.random_crop(value, (10,), seed=seed)[0]) for seed in range(40)}
    assert len(places) > 35


def test_calls_differ_and_the_global_seed_repeats_them():
    value = np.arange(10_000)

    def draw():
        ps.random.set_seed(8)
        return [int(ps.image.random_crop(value, (1,))[0]) for _ in range(10)]

    first = draw()
    assert len(set(first)) > 5
    assert draw() == first


@pytest.mark.parametrize("dtype", ["bool", "float16", "complex128", "datetime64[s]"])
def test_any_dense_type(dtype):
    value = np.arange(12).reshape(3, 4).astype(dtype)
    part = ps.image.random_crop(value, (2, 4))
    assert part.dtype == value.dtype


def test_a_scalar_and_nothing():
    assert ps.image.random_crop(np.float32(3), ()) == 3
    assert ps.image.random_crop(np.zeros((3, 4)), (0, 2)).shape == (0, 2)


def test_the_result_is_a_copy():
    value = np.zeros((4, 4))
    ps.image.random_crop(value, (4, 4))[:] = 1
    assert not value.any()


@pytest.mark.parametrize(("size", "axis"), [((11, 5, 3), 0), ((10, 13, 3), 1), ((1, 1, -2), 2)])
def test_a_size_beyond_the_value_names_the_axis(size, axis):
    message = rf"random_crop: size .* got {size[axis]} for axis {axis} of shape \(10, 12, 3\)"
    with pytest.raises(ValueError, match=message):
        ps.image.random_crop(np.zeros((10, 12, 3)), size)


def test_another_rank_is_refused():
    with pytest.raises(ValueError, match=r"one entry per axis of value, got 2 for shape \(4,\)"):
        ps.image.random_crop(np.zeros(4), (2, 2))


def test_strings_are_refused():
    with pytest.raises(TypeError, match="random_crop: value must be an array of numbers"):
        ps.image.random_crop(["a", "b"], (1,))
