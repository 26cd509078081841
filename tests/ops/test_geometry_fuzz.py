"""Geometric operations on random arguments: correct shapes and values, or errors."""

import numpy as np
import pytest

import penstock as ps

SIDES = [1, 2, 3, 5, 17, 64, 131]
METHODS = [name for key, name in vars(ps.image.ResizeMethod).items() if key.isupper()]


def drawn_image(rng):
    shape = (*(int(n) for n in rng.choice(SIDES, 2)), int(rng.integers(0, 6)))
    if rng.random() < 0.3:
        shape = (int(rng.integers(0, 4)), *shape)
    return rng.integers(0, 2, shape).astype(rng.choice(["u1", "f4", "f8", "f2", "i8", "u2"]))


def calls(image, rng):
    """Return the name, function, and expected height and width of the result, or None."""
    size = tuple(int(n) for n in rng.choice(SIDES, 2))
    offset = [int(n) for n in rng.integers(-3, 140, 2)]
    method, antialias = str(rng.choice(METHODS)), bool(rng.random() < 0.5)
    here = image.shape[-3:-1]
    boxes, kind = rng.normal(0, 1, (3, 4)), str(rng.choice(["bilinear", "nearest"]))
    k = offset[0]
    return {
        "resize": (lambda: ps.image.resize(image, size, method, False, antialias), size),
        "resize_with_pad": (lambda: ps.image.resize_with_pad(image, *size, method), size),
        "resize_with_crop_or_pad": (lambda: ps.image.resize_with_crop_or_pad(image, *size), size),
        "crop_to_bounding_box": (
            lambda: ps.image.crop_to_bounding_box(image, *offset, *size),
            size,
        ),
        "pad_to_bounding_box": (lambda: ps.image.pad_to_bounding_box(image, *offset, *size), size),
        "random_resized_crop": (
            lambda: ps.image.random_resized_crop(image, size, (0.01, 1), (0.1, 9), method),
            size,
        ),
        "crop_and_resize": (
            lambda: ps.image.crop_and_resize(image, boxes, [0, 0, 0], size, kind),
            size,
        ),
        "rot90": (lambda: ps.image.rot90(image, k), here[::-1] if k % 2 else here),
        "transpose": (lambda: ps.image.transpose(image), here[::-1]),
        "flip_up_down": (lambda: ps.image.flip_up_down(image), here),
        "central_crop": (lambda: ps.image.central_crop(image, rng.uniform(1e-9, 1)), None),
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_result_or_an_error(seed):
    rng = np.random.default_rng(seed)
    good = dict.fromkeys(calls(drawn_image(rng), rng), 0)
    for _ in range(150):
        image = drawn_image(rng)
        for name, (function, size) in calls(image, rng).items():
            try:
                result = function()
            except ValueError as error:
                assert name in str(error)  # noqa: PT017
                continue
            good[name] += 1
            assert size is None or result.shape[-3:-1] == size, name
            assert result.shape[-1] == image.shape[-1], name
            # Values are 0 and 1; a filter may overshoot slightly.
            assert result.size == 0 or np.abs(result.astype(np.float64)).max() < 3, name
    assert all(good.values()), good
