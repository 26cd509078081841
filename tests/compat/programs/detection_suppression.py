"""Crops around objects and suppression of overlapping predictions."""

import numpy as np
import tensorflow as tf

BOXES = np.array(
    [
        [0, 0, 10, 10],
        [1, 1, 11, 11],
        [20, 20, 30, 32],
        [21, 19, 31, 30],
        [5, 5, 12, 14],
        [40, 2, 48, 9],
    ],
    np.float32,
)
SCORES = np.array([0.9, 0.75, 0.6, 0.8, 0.3, 0.05], np.float32)


def suppress(boxes, scores):
    selected = tf.image.non_max_suppression(
        boxes, scores, max_output_size=4, iou_threshold=0.5, score_threshold=0.1
    )
    return tf.gather(boxes, selected), tf.gather(scores, selected)


def crop_to_object(image, box, label, seed):
    begin, size, bbox_for_draw = tf.image.stateless_sample_distorted_bounding_box(
        tf.shape(image),
        tf.reshape(box, [1, 1, 4]),
        seed=seed,
        min_object_covered=0.7,
        area_range=(0.1, 1.0),
        aspect_ratio_range=(0.5, 2.0),
    )
    cropped = tf.slice(image, begin, size)
    cropped.set_shape([None, None, 3])
    return tf.image.resize(cropped, [8, 8]), bbox_for_draw[0, 0], label


def coverage(box, crop):
    top_left = tf.maximum(box[:2], crop[:2])
    bottom_right = tf.minimum(box[2:], crop[2:])
    size = tf.maximum(bottom_right - top_left, 0.0)
    return tf.reduce_prod(size) / tf.reduce_prod(box[2:] - box[:2])


def results(folder):
    ds = tf.data.Dataset.from_tensors((BOXES, SCORES)).repeat(2)
    ds = ds.enumerate().map(lambda i, bs: (bs[0] + tf.cast(i, tf.float32), bs[1]))
    kept = [suppress(boxes, scores) for boxes, scores in ds]
    combined = tf.image.combined_non_max_suppression(
        tf.reshape(BOXES / 50.0, [1, 6, 1, 4]),
        tf.stack([SCORES, SCORES[::-1]], axis=-1)[tf.newaxis],
        max_output_size_per_class=3,
        max_total_size=5,
        iou_threshold=0.5,
        score_threshold=0.25,
    )
    image = tf.constant(np.arange(20 * 24 * 3).reshape(20, 24, 3) % 256, tf.float32)
    box = tf.constant([0.3, 0.3, 0.6, 0.7])
    crops = tf.data.Dataset.range(30).map(
        lambda i: crop_to_object(image, box, i, tf.stack([i, np.int64(5)]))
    )
    covered = [coverage(box, crop) for _, crop, _ in crops]
    pieces = tf.image.crop_and_resize(
        image[tf.newaxis], [[0.0, 0.0, 0.5, 0.5], [0.2, 0.3, 1.0, 0.9]], [0, 0], [4, 4]
    )
    glimpse = tf.image.crop_to_bounding_box(image, 3, 4, 5, 6)
    return {
        "kept": kept,
        "combined": list(combined),
        "crops": [crop.shape.as_list() for crop, _, _ in crops.take(2)],
        "covered": bool(tf.reduce_min(covered) >= 0.65),
        "pieces": pieces,
        "glimpse": tf.reduce_sum(glimpse),
    }
