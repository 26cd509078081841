"""Targets in the grid cells of a one-stage detector, written with tensor_scatter_nd_update."""

import numpy as np
import tensorflow as tf

ANCHORS = np.array([(10, 13), (16, 30), (33, 23), (30, 61), (62, 45), (59, 119)], np.float32) / 128
ANCHOR_MASKS = np.array([[3, 4, 5], [0, 1, 2]])
SIZE = 128


@tf.function
def transform_targets_for_output(y_true, grid_size, anchor_idxs):
    N = tf.shape(y_true)[0]
    y_true_out = tf.zeros((N, grid_size, grid_size, tf.shape(anchor_idxs)[0], 6))
    anchor_idxs = tf.cast(anchor_idxs, tf.int32)
    indexes = tf.TensorArray(tf.int32, 1, dynamic_size=True)
    updates = tf.TensorArray(tf.float32, 1, dynamic_size=True)
    idx = 0
    for i in tf.range(N):
        for j in tf.range(tf.shape(y_true)[1]):
            if tf.equal(y_true[i][j][2], 0):
                continue
            anchor_eq = tf.equal(anchor_idxs, tf.cast(y_true[i][j][5], tf.int32))
            if tf.reduce_any(anchor_eq):
                box = y_true[i][j][0:4]
                box_xy = (y_true[i][j][0:2] + y_true[i][j][2:4]) / 2
                anchor_idx = tf.cast(tf.where(anchor_eq), tf.int32)
                grid_xy = tf.cast(box_xy // (1 / grid_size), tf.int32)
                indexes = indexes.write(idx, [i, grid_xy[1], grid_xy[0], anchor_idx[0][0]])
                updates = updates.write(idx, [box[0], box[1], box[2], box[3], 1, y_true[i][j][4]])
                idx += 1
    return tf.tensor_scatter_nd_update(y_true_out, indexes.stack(), updates.stack())


def transform_targets(y_train, anchors, anchor_masks, size):
    y_outs = []
    grid_size = size // 32
    anchors = tf.cast(anchors, tf.float32)
    anchor_area = anchors[..., 0] * anchors[..., 1]
    box_wh = y_train[..., 2:4] - y_train[..., 0:2]
    box_wh = tf.tile(tf.expand_dims(box_wh, -2), (1, 1, tf.shape(anchors)[0], 1))
    box_area = box_wh[..., 0] * box_wh[..., 1]
    intersection = tf.minimum(box_wh[..., 0], anchors[..., 0]) * tf.minimum(
        box_wh[..., 1], anchors[..., 1]
    )
    iou = intersection / (box_area + anchor_area - intersection)
    anchor_idx = tf.cast(tf.argmax(iou, axis=-1), tf.float32)
    anchor_idx = tf.expand_dims(anchor_idx, axis=-1)
    y_train = tf.concat([y_train, anchor_idx], axis=-1)
    for anchor_idxs in anchor_masks:
        y_outs.append(transform_targets_for_output(y_train, grid_size, anchor_idxs))
        grid_size *= 2
    return tuple(y_outs)


def labels(n=4, boxes=3):
    rng = np.random.default_rng(15)
    low = rng.uniform(0.05, 0.5, (n, boxes, 2))
    high = low + rng.uniform(0.05, 0.45, (n, boxes, 2)) * [[0.3], [1.0], [1.0]]
    high[:, 1] = low[:, 1] + 0.45
    classes = rng.integers(0, 5, (n, boxes, 1))
    all_labels = np.concatenate([low, high, classes], axis=-1).astype(np.float32)
    all_labels[::2, -1] = 0.0
    return all_labels


def pad_to(y, count=5):
    paddings = [[0, count - tf.shape(y)[0]], [0, 0]]
    return tf.pad(y, paddings)


def results(folder):
    ds = tf.data.Dataset.from_tensor_slices(labels()).map(pad_to).batch(2)
    targets = ds.map(lambda y: transform_targets(y, ANCHORS, ANCHOR_MASKS, SIZE))
    coarse, fine = next(iter(targets))
    objects = [[tf.reduce_sum(t[..., 4]) for t in both] for both in targets]
    where = tf.where(fine[..., 4] > 0)
    return {
        "coarse": coarse,
        "fine": fine,
        "objects": objects,
        "where": where,
        "values": tf.gather_nd(fine, where),
        "padded": next(iter(ds)).shape.as_list(),
        "scattered": tf.scatter_nd([[1], [3]], [9, 8], [5]),
        "added": tf.tensor_scatter_nd_add(tf.ones([4], tf.int32), [[0], [2], [0]], [1, 2, 3]),
    }
