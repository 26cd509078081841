"""What index_jpeg and jpeg_coefficients have in common: which contents they change."""

import numpy as np
import pytest

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.skipif(
    not _core.build_info()["jpeg"]["version"].startswith("libjpeg-turbo"),
    reason="built without libjpeg-turbo",
)


@pytest.fixture(params=["index_jpeg", "jpeg_coefficients"])
def rewrite(request):
    return getattr(ps.image, request.param)


def test_arrays_of_bytes_are_taken_one_by_one(rewrite, photo, encode):
    contents = encode(photo)
    assert rewrite(contents) != contents
    array = rewrite(np.array([[contents, b"text"]], object))
    assert array.shape == (1, 2)
    assert array[0].tolist() == [rewrite(contents), b"text"]


def test_other_kinds_of_jpeg_stay_as_they_are(rewrite, photo, encode):
    contents = encode(photo, progressive=True)
    assert rewrite(contents) == contents


def test_truncated_ones_stay_as_they_are(rewrite, photo, encode):
    contents = encode(photo)
    for size in range(0, len(contents), 331):
        assert rewrite(contents[:size]) == contents[:size]


@pytest.mark.parametrize("contents", [b"", b"text", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"])
def test_what_is_no_jpeg_stays_as_it_is(rewrite, contents):
    assert rewrite(contents) == contents


@pytest.mark.parametrize("contents", ["text", 3, np.zeros(4, np.uint8)])
def test_contents_must_be_bytes(rewrite, contents):
    with pytest.raises(TypeError, match=f"{rewrite.__name__}: contents must be bytes, got"):
        rewrite(contents)
