"""Images from a Python generator, with both styles of output signatures, and statistics."""

import itertools

import numpy as np
import tensorflow as tf


class ShapeGenerator:
    def __init__(self, n, size=10):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __call__(self):
        for i in range(self.n):
            image = np.zeros((self.size, self.size, 1), np.uint8)
            if i % 2:
                image[1 : 3 + i % 5, 2 : 4 + i % 3] = 10 * i
            else:
                np.fill_diagonal(image[..., 0], 255 - i)
            yield image, i % 2, {"name": f"shape-{i}", "corner": (i % 5, i % 3)}


def normalize_img(image, label, info):
    return tf.cast(image, tf.float32) / 255.0, label, info


def class_statistics(ds):
    def add(state, element):
        count, total = state
        image, label, _ = element
        hot = tf.one_hot(label, 2)
        return count + hot, total + hot * tf.reduce_mean(image)

    count, total = ds.reduce((tf.zeros(2), tf.zeros(2)), add)
    return count, tf.math.divide_no_nan(total, count)


def results(folder):
    generator = ShapeGenerator(9)
    signature = (
        tf.TensorSpec(shape=(10, 10, 1), dtype=tf.uint8),
        tf.TensorSpec(shape=(), dtype=tf.int32),
        {"name": tf.TensorSpec((), tf.string), "corner": (tf.TensorSpec([], tf.int64),) * 2},
    )
    ds = tf.data.Dataset.from_generator(generator, output_signature=signature)
    ds = ds.apply(tf.data.experimental.assert_cardinality(len(generator)))
    ds = ds.map(normalize_img, num_parallel_calls=tf.data.AUTOTUNE)
    old = tf.data.Dataset.from_generator(
        lambda stop: itertools.islice(itertools.count(5), stop),
        output_types=tf.int64,
        output_shapes=tf.TensorShape([]),
        args=(4,),
    )
    count, means = class_statistics(ds)
    images, labels, info = next(iter(ds.batch(4)))
    doubled = tf.image.resize(images, [20, 20], method="nearest")
    pieces = tf.image.extract_patches(
        images, sizes=[1, 5, 5, 1], strides=[1, 5, 5, 1], rates=[1, 1, 1, 1], padding="VALID"
    )
    return {
        "images": images,
        "labels": labels,
        "info": info,
        "counts": count,
        "means": means,
        "length": len(ds),
        "old": [x.numpy() for x in old],
        "doubled": doubled[:, 3],
        "patches": tf.reshape(pieces, [4, 2, 2, 25]),
        "edges": tf.image.sobel_edges(images),
        "variation": tf.image.total_variation(images),
        "names": [i["name"] for _, _, i in ds.skip(6).as_numpy_iterator()],
        "types": tf.nest.map_structure(lambda spec: spec.dtype.name, ds.element_spec),
    }
