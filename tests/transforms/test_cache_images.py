"""cache(images=): later passes decode stored coefficients, or with an index, to the same pixels."""

from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.skipif(
    not _core.build_info()["jpeg"]["version"].startswith("libjpeg-turbo"),
    reason="built without libjpeg-turbo",
)
MARKS = {"coefficients": b"penstock coefficients", "index": b"penstock index of MCUs"}


class Sample(NamedTuple):
    image: bytes
    label: int


@pytest.fixture(scope="module")
def jpegs():
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (40 + i, 50, 3)).astype(np.uint8) for i in range(5)]
    return [ps.image.encode_jpeg(image, quality=80) for image in images]


@pytest.fixture(params=["memory", "file"])
def name(request, tmp_path):
    return str(tmp_path / "images.cache") if request.param == "file" else ""


@pytest.fixture(params=["coefficients", "index"])
def images(request):
    return request.param


def pixels(contents):
    return [ps.image.decode_jpeg(one) for one in contents]


def assert_pixels(stored, jpegs, images):
    assert all(MARKS[images] in one for one in stored)
    for image, expected in zip(pixels(stored), pixels(jpegs), strict=True):
        np.testing.assert_array_equal(image, expected)


def test_pixels_are_those_of_the_jpegs_in_every_pass(jpegs, name, images):
    ds = ps.Dataset.from_tensor_slices(jpegs).cache(name, images=images)
    for _ in range(3):
        assert_pixels(list(ds), jpegs, images)
    decoded = list(ds.map(ps.native(ps.image.decode_jpeg)))
    for image, expected in zip(decoded, pixels(jpegs), strict=True):
        np.testing.assert_array_equal(image, expected)


def test_the_stored_bytes_are_made_once(jpegs, name, images):
    calls = []
    ds = ps.Dataset.from_tensor_slices(jpegs).map(lambda one: calls.append(1) or one)
    cached = ds.cache(name, images=images)
    calls.clear()  # the element that element_spec has looked at
    for _ in range(3):
        list(cached)
    assert len(calls) == len(jpegs)


@pytest.mark.parametrize(
    "made",
    [
        lambda image, label: (image, label),
        lambda image, label: (image,),
        lambda image, label: {"image": image, "more": {"label": label}},
        lambda image, label: Sample(image, label),
        lambda image, label: (label, {"image": image}),
    ],
    ids=["tuple", "one", "dict", "named", "nested"],
)
def test_leaves_that_are_no_jpegs_stay_as_they_are(jpegs, made, images):
    ds = ps.Dataset.from_tensor_slices((jpegs, np.arange(5))).map(made)
    plain = list(ds)
    for kept, element in zip(ds.cache(images=images), plain, strict=True):
        assert type(kept) is type(element)
        flat, expected = flattened(kept), flattened(element)
        assert len(flat) == len(expected)
        for one, other in zip(flat, expected, strict=True):
            if isinstance(other, bytes):
                assert_pixels([one], [other], images)
            else:
                assert one == other


def flattened(value):
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in flattened(part)]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in flattened(part)]
    return [value]


def test_batches_of_jpegs(jpegs, images):
    ds = ps.Dataset.from_tensor_slices(jpegs).batch(2).cache(images=images)
    stored = [one for batch in ds for one in batch.tolist()]
    assert_pixels(stored, jpegs, images)


def test_other_bytes_and_text_stay_as_they_are(images):
    texts = [b"", b"no image", b"\x89PNG\r\n\x1a\n"]
    ds = ps.Dataset.from_tensor_slices((texts, ["a", "b", "c"]))
    assert list(ds.cache(images=images)) == list(ds)


def test_a_state_goes_on(jpegs, images):
    ds = ps.Dataset.from_tensor_slices(jpegs).cache(images=images).repeat(2)
    with iter(ds) as it:
        first = [next(it) for _ in range(7)]
        state = it.get_state()
    with iter(ds) as again:
        again.set_state(state)
        assert [*first, *again] == list(ds)


def test_a_file_of_the_other_kind_is_written_again(jpegs, tmp_path, images):
    ds, name = ps.Dataset.from_tensor_slices(jpegs), tmp_path / "images.cache"
    (other,) = MARKS.keys() - {images}
    assert_pixels(list(ds.cache(name, images=other)), jpegs, other)
    with pytest.warns(RuntimeWarning, match="cache"):
        assert_pixels(list(ds.cache(name, images=images)), jpegs, images)


def test_another_kind_is_refused(jpegs):
    ds = ps.Dataset.from_tensor_slices(jpegs)
    with pytest.raises(ValueError, match="cache: images must be"):
        ds.cache(images="pixels")
