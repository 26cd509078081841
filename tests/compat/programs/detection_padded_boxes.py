"""Images with different numbers of boxes: box formats, flips, resizing, padded batches."""

import numpy as np
import tensorflow as tf


def swap_xy(boxes):
    return tf.stack([boxes[:, 1], boxes[:, 0], boxes[:, 3], boxes[:, 2]], axis=-1)


def convert_to_xywh(boxes):
    return tf.concat(
        [(boxes[..., :2] + boxes[..., 2:]) / 2.0, boxes[..., 2:] - boxes[..., :2]], axis=-1
    )


def random_flip_horizontal(image, boxes):
    if tf.random.uniform(()) > 0.5:
        image = tf.image.flip_left_right(image)
        boxes = flip(boxes)
    return image, boxes


def flip(boxes):
    return tf.stack([1 - boxes[:, 2], boxes[:, 1], 1 - boxes[:, 0], boxes[:, 3]], axis=-1)


def resize_and_pad_image(image, min_side=20.0, max_side=32.0, stride=8.0):
    image_shape = tf.cast(tf.shape(image)[:2], dtype=tf.float32)
    ratio = min_side / tf.reduce_min(image_shape)
    if ratio * tf.reduce_max(image_shape) > max_side:
        ratio = max_side / tf.reduce_max(image_shape)
    image_shape = ratio * image_shape
    image = tf.image.resize(image, tf.cast(image_shape, dtype=tf.int32))
    padded_image_shape = tf.cast(tf.math.ceil(image_shape / stride) * stride, dtype=tf.int32)
    image = tf.image.pad_to_bounding_box(image, 0, 0, padded_image_shape[0], padded_image_shape[1])
    return image, image_shape, ratio


def preprocess_data(sample):
    image = sample["image"]
    bbox = swap_xy(sample["objects"]["bbox"])
    class_id = tf.cast(sample["objects"]["label"], dtype=tf.int32)
    image, image_shape, _ = resize_and_pad_image(image)
    bbox = tf.stack(
        [
            bbox[:, 0] * image_shape[1],
            bbox[:, 1] * image_shape[0],
            bbox[:, 2] * image_shape[1],
            bbox[:, 3] * image_shape[0],
        ],
        axis=-1,
    )
    return image, convert_to_xywh(bbox), class_id


def samples():
    rng = np.random.default_rng(13)
    for i in range(4):
        low = rng.uniform(0, 0.5, (i + 1, 2))
        boxes = np.concatenate([low, low + rng.uniform(0.1, 0.5, (i + 1, 2))], axis=1)
        yield {
            "image": rng.integers(0, 256, (24 + 4 * i, 30, 3), dtype=np.uint8),
            "objects": {"bbox": boxes.astype(np.float32), "label": rng.integers(0, 5, i + 1)},
        }


def results(folder):
    signature = {
        "image": tf.TensorSpec([None, None, 3], tf.uint8),
        "objects": {
            "bbox": tf.TensorSpec(shape=(None, 4), dtype=tf.float32),
            "label": tf.TensorSpec(shape=(None,), dtype=tf.int64),
        },
    }
    ds = tf.data.Dataset.from_generator(samples, output_signature=signature)
    train = ds.map(preprocess_data, num_parallel_calls=tf.data.AUTOTUNE)
    train = train.padded_batch(batch_size=4, padding_values=(0.0, 1e-8, -1), drop_remainder=True)
    images, boxes, classes = next(iter(train))
    swapped = ds.map(lambda s: swap_xy(s["objects"]["bbox"]))
    twice = swapped.map(lambda b: tf.reduce_max(tf.abs(flip(flip(b)) - b)))
    flipped = ds.map(
        lambda s: random_flip_horizontal(
            tf.cast(s["image"], tf.float32), swap_xy(s["objects"]["bbox"])
        )
    )
    widths = flipped.map(lambda _, b: b[:, 2] - b[:, 0])
    return {
        "images": images,
        "boxes": boxes,
        "classes": classes,
        "flipped": [flip(b) for b in swapped],
        "twice": list(twice),
        "widths": list(widths),
        "ragged": next(iter(ds.map(lambda s: s["objects"]["label"]).ragged_batch(4))),
        "types": [s.dtype.name for s in train.element_spec],
        "drawn": tf.image.draw_bounding_boxes(
            tf.zeros([1, 12, 12, 3]), tf.constant([[[0.2, 0.2, 0.7, 0.8]]]), [[1.0, 0.0, 0.0]]
        )[..., 0],
    }
