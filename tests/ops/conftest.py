"""Images shared by the tests of operations; resets the seed after each test."""

import io

import numpy as np
import pytest
from PIL import Image

import penstock as ps


@pytest.fixture(autouse=True)
def no_global_seed():
    yield
    ps.random.set_seed(None)


@pytest.fixture(scope="session")
def photo():
    """Return a photograph-like image, smooth colours with noise: shape (117, 203, 3), uint8."""
    y, x = np.mgrid[:117, :203]
    smooth = np.stack([x + y, 255 - x, 2 * y], -1) % 256
    noise = np.random.default_rng(3).normal(0, 20, smooth.shape)
    return (smooth + noise).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="session")
def encode():
    """Encode an array as JPEG with Pillow."""

    def encode(array, **options):
        array = array[..., 0] if array.shape[-1] == 1 else array
        file = io.BytesIO()
        options = {"quality": 92, "subsampling": "4:2:0", **options}
        Image.fromarray(array).save(file, "JPEG", **options)
        return file.getvalue()

    return encode
