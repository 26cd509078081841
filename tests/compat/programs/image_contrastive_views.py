"""Two views of each image, as in contrastive learning: crops, colours, blur."""

import functools

import numpy as np
import tensorflow as tf


def random_apply(func, p, x):
    return tf.cond(
        tf.less(
            tf.random.uniform([], minval=0, maxval=1, dtype=tf.float32),
            tf.cast(p, tf.float32),
        ),
        lambda: func(x),
        lambda: x,
    )


def color_jitter(image, strength):
    image = tf.image.random_brightness(image, max_delta=0.8 * strength)
    image = tf.image.random_contrast(image, lower=1 - 0.8 * strength, upper=1 + 0.8 * strength)
    image = tf.image.random_saturation(image, 1 - 0.8 * strength, 1 + 0.8 * strength)
    image = tf.image.random_hue(image, max_delta=0.2 * strength)
    return tf.clip_by_value(image, 0, 1)


def to_grayscale(image, keep_channels=True):
    image = tf.image.rgb_to_grayscale(image)
    if keep_channels:
        image = tf.tile(image, [1, 1, 3])
    return image


def gaussian_blur(image, kernel_size, sigma, padding="SAME"):
    radius = tf.cast(kernel_size / 2, dtype=tf.int32)
    kernel_size = radius * 2 + 1
    x = tf.cast(tf.range(-radius, radius + 1), dtype=tf.float32)
    blur_filter = tf.exp(-tf.pow(x, 2.0) / (2.0 * tf.pow(tf.cast(sigma, dtype=tf.float32), 2.0)))
    blur_filter /= tf.reduce_sum(blur_filter)
    blur_v = tf.reshape(blur_filter, [kernel_size, 1, 1, 1])
    blur_h = tf.reshape(blur_filter, [1, kernel_size, 1, 1])
    num_channels = tf.shape(image)[-1]
    blur_h = tf.tile(blur_h, [1, 1, num_channels, 1])
    blur_v = tf.tile(blur_v, [1, 1, num_channels, 1])
    expand_batch_dim = image.shape.ndims == 3
    if expand_batch_dim:
        image = tf.expand_dims(image, axis=0)
    blurred = tf.nn.depthwise_conv2d(image, blur_h, strides=[1, 1, 1, 1], padding=padding)
    blurred = tf.nn.depthwise_conv2d(blurred, blur_v, strides=[1, 1, 1, 1], padding=padding)
    if expand_batch_dim:
        blurred = tf.squeeze(blurred, axis=0)
    return blurred


def one_view(image, size):
    image = tf.image.random_crop(image, (12, 12, 3))
    image = tf.image.resize(image, (size, size), tf.image.ResizeMethod.BICUBIC)
    image = tf.image.random_flip_left_right(tf.clip_by_value(image, 0.0, 1.0))
    image = random_apply(functools.partial(color_jitter, strength=0.5), 0.8, image)
    image = random_apply(to_grayscale, 0.2, image)
    return random_apply(functools.partial(gaussian_blur, kernel_size=3, sigma=1.0), 0.5, image)


def results(folder):
    rng = np.random.default_rng(4)
    images = rng.integers(0, 256, (6, 16, 16, 3), dtype=np.uint8)
    ds = tf.data.Dataset.from_tensor_slices(images)
    ds = ds.map(lambda image: tf.image.convert_image_dtype(image, tf.float32))
    views = ds.map(lambda image: tf.concat([one_view(image, 10), one_view(image, 10)], -1))
    batch = next(iter(views.batch(6)))
    first, second = tf.split(batch, num_or_size_splits=2, axis=-1)
    blurred = ds.map(lambda image: gaussian_blur(image, 5, 1.5))
    gray = ds.map(to_grayscale)
    return {
        "shapes": [first.shape.as_list(), second.shape.as_list()],
        "in range": bool(tf.reduce_all((batch >= -1e-5) & (batch <= 1 + 1e-5))),
        "differ": bool(tf.reduce_any(first != second)),
        "blurred": next(iter(blurred)),
        "valid": gaussian_blur(next(iter(ds)), 3, 0.8, padding="VALID"),
        "gray": tf.stack(list(gray))[:, ::4, ::4, 0],
    }
