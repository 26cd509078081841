"""Random functions of tf.image, and refused arguments; test_compat_expressions.py has the rest."""

import inspect

import numpy as np
import pytest

import penstock.compat.tf as tf

SEEDS = [(i, 7) for i in range(50)]
STATELESS = [
    ("brightness", (0.5,)),
    ("contrast", (0.2, 0.9)),
    ("hue", (0.4,)),
    ("saturation", (0.2, 0.9)),
    ("flip_left_right", ()),
    ("flip_up_down", ()),
    ("jpeg_quality", (5, 90)),
]


def picture(height=12, width=16, dtype=np.uint8):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    return pixels if dtype == np.uint8 else (pixels / 255).astype(dtype)


@pytest.mark.parametrize(("name", "limits"), STATELESS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float16])
def test_a_pair_of_seeds_says_what_is_drawn(name, limits, dtype):
    draw, image = getattr(tf.image, f"stateless_random_{name}"), picture(dtype=dtype)
    first = draw(image, *limits, (1, 2))
    assert first.dtype == dtype
    assert first.shape == image.shape
    np.testing.assert_array_equal(first, draw(image, *limits, seed=tf.constant([1, 2])))
    assert len({draw(image, *limits, seed).numpy().tobytes() for seed in SEEDS[:12]}) > 1


def test_stateless_functions_take_batches():
    images = np.stack([picture()] * 3)
    assert tf.image.stateless_random_contrast(images, 0.5, 0.9, (1, 2)).shape == images.shape
    cropped = tf.image.stateless_random_crop(images, [3, 4, 5, 3], (1, 2))
    assert cropped.shape == (3, 4, 5, 3)
    flipped = tf.image.stateless_random_flip_left_right(images, (1, 2))
    assert flipped.shape == images.shape


def test_a_seed_of_one_number_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="seed must have shape"):
        tf.image.stateless_random_flip_left_right(picture(), 3)


def test_the_seed_is_given_by_position_as_in_tensorflow():
    names = list(inspect.signature(tf.image.stateless_random_crop).parameters)
    assert names == ["value", "size", "seed", "name"]
    with pytest.raises(TypeError, match="seed"):
        tf.image.stateless_random_hue(picture(), 0.1)


BOX = tf.constant([0.25, 0.25, 0.75, 0.75], shape=[1, 1, 4])


def test_drawn_crops_have_the_area_and_ratio_that_are_asked_for():
    ratios = []
    for seed in SEEDS:
        begin, size, box = tf.image.stateless_sample_distorted_bounding_box(
            (200, 300, 3), BOX, seed, aspect_ratio_range=(0.5, 2.0), area_range=(0.1, 0.6)
        )
        (top, left, channel), (height, width, depth) = begin.tolist(), size.tolist()
        assert (channel, depth) == (0, -1)
        assert begin.dtype == size.dtype == tf.int32
        assert box.shape == (1, 1, 4)
        assert box.dtype == tf.float32
        edges = [top / 200, left / 300, (top + height) / 200, (left + width) / 300]
        np.testing.assert_allclose(box[0, 0], edges, rtol=1e-6)
        assert 0 <= edges[0] < edges[2] <= 1
        assert 0 <= edges[1] < edges[3] <= 1
        assert 0.1 <= height * width / (200 * 300) <= 0.6
        ratios.append(width / height)
        image = tf.slice(np.zeros((200, 300, 3)), begin, size)
        assert image.shape == (height, width, 3)
    assert min(ratios) >= 0.49
    assert max(ratios) <= 2.02
    assert len(set(ratios)) > 30


def test_drawn_crops_cover_enough_of_an_object():
    for seed in SEEDS:
        _, _, box = tf.image.stateless_sample_distorted_bounding_box(
            tf.constant([100, 100, 3], tf.int64), BOX, seed, min_object_covered=0.8
        )
        top, left, bottom, right = box[0, 0].tolist()
        covered = max(min(bottom, 0.75) - max(top, 0.25), 0)
        covered *= max(min(right, 0.75) - max(left, 0.25), 0)
        assert covered / 0.25 >= 0.8 - 1e-6


def test_without_a_crop_that_fits_it_is_the_whole_image():
    begin, size, box = tf.image.sample_distorted_bounding_box(
        np.array([10, 20, 1], np.uint8), BOX, min_object_covered=1.0, area_range=(0.05, 0.1)
    )
    assert begin.tolist() == [0, 0, 0]
    assert size.astype(np.int8).tolist() == [10, 20, -1]
    assert box.tolist() == [[[0, 0, 1, 1]]]
    assert size.dtype == np.uint8


def test_a_seed_repeats_the_crop_and_zero_is_none():
    def crop(seed):
        return tf.image.sample_distorted_bounding_box((500, 500, 3), BOX, seed).bboxes.tolist()

    assert crop(5) == crop(5)
    assert len({str(crop(0)) for _ in range(5)}) > 1


def test_crops_drawn_in_a_map_belong_to_elements():
    def boxes(threads):
        tf.random.set_seed(3)
        dataset = tf.data.Dataset.range(8).map(
            lambda i: tf.image.sample_distorted_bounding_box((500, 500, 3), BOX).bboxes,
            num_parallel_calls=threads,
        )
        return [box.tolist() for box in dataset]

    try:
        assert boxes(1) == boxes(4)
        assert len({str(box) for box in boxes(1)}) == 8
    finally:
        tf.random.set_seed(None)


def test_random_jpeg_quality_is_within_its_range():
    image = picture(16, 16)
    allowed = [tf.image.adjust_jpeg_quality(image, q).numpy().tobytes() for q in range(20, 30)]
    drawn = {tf.image.random_jpeg_quality(image, 20, 30).numpy().tobytes() for _ in range(20)}
    assert drawn <= set(allowed)
    assert len(drawn) > 1
    with pytest.raises(ValueError, match="less than"):
        tf.image.random_jpeg_quality(image, 30, 20)
    with pytest.raises(ValueError, match="between 0 and 100"):
        tf.image.stateless_random_jpeg_quality(image, 30, 101, (1, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.image.sample_distorted_bounding_box((5, 5), BOX), "3 integers"),
        (lambda: tf.image.sample_distorted_bounding_box((5, 5, 3), BOX[0]), "3-dimensional"),
        (lambda: tf.image.sample_distorted_bounding_box((5, 5, 3), BOX * 2), "0.0, 1.0"),
        (lambda: tf.image.sample_distorted_bounding_box((5, 5, 3), BOX[:, :0]), "No bounding"),
        (
            lambda: tf.image.sample_distorted_bounding_box((5, 5, 3), BOX, area_range=(0.1, 2)),
            "Area range",
        ),
        (lambda: tf.image.draw_bounding_boxes(picture()[None], BOX, None), "float32 or float16"),
        (lambda: tf.image.adjust_jpeg_quality(picture(), 101), r"in \[0,100\]"),
        (lambda: tf.image.decode_gif(tf.io.encode_png(picture())), "another kind"),
        (lambda: tf.image.decode_bmp(b""), "another kind"),
        (lambda: tf.audio.decode_wav(b"RIFFxxxxWAVE"), "No data chunk"),
        (
            lambda: tf.nn.depthwise_conv2d(
                tf.zeros([1, 4, 4, 3]), tf.zeros([2, 2, 1, 1]), 1, "SAME"
            ),
            "filters of float32",
        ),
    ],
)
def test_wrong_arguments_are_explained(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()


def test_files_are_read_in_traced_functions_too(tmp_path):
    (tmp_path / "a.jpg").write_bytes(tf.io.encode_jpeg(picture()).numpy())

    def load(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.stateless_random_flip_left_right(tf.image.resize(image, (4, 5)), (1, 2))

    dataset = tf.data.Dataset.list_files(str(tmp_path / "*.jpg")).map(load)
    assert dataset.element_spec == tf.TensorSpec((4, 5, 3), tf.float32)
    assert next(iter(dataset)).shape == (4, 5, 3)
