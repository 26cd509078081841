"""Image operations of augmentation policies: posterize, solarize, equalize and others."""

import numpy as np
import tensorflow as tf


def blend(image1, image2, factor):
    image1 = tf.cast(image1, tf.float32)
    image2 = tf.cast(image2, tf.float32)
    temp = image1 + factor * (image2 - image1)
    if 0.0 < factor < 1.0:
        return tf.cast(temp, tf.uint8)
    return tf.cast(tf.clip_by_value(temp, 0.0, 255.0), tf.uint8)


def solarize(image, threshold=128):
    return tf.where(image < threshold, image, 255 - image)


def solarize_add(image, addition=0, threshold=128):
    added_image = tf.cast(image, tf.int64) + addition
    added_image = tf.cast(tf.clip_by_value(added_image, 0, 255), tf.uint8)
    return tf.where(image < threshold, added_image, image)


def posterize(image, bits):
    shift = 8 - bits
    return tf.bitwise.left_shift(tf.bitwise.right_shift(image, shift), shift)


def color(image, factor):
    degenerate = tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(image))
    return blend(degenerate, image, factor)


def autocontrast(image):
    def scale_channel(image):
        lo = tf.cast(tf.reduce_min(image), tf.float32)
        hi = tf.cast(tf.reduce_max(image), tf.float32)

        def scale_values(im):
            scale = 255.0 / (hi - lo)
            offset = -lo * scale
            im = tf.cast(im, tf.float32) * scale + offset
            im = tf.clip_by_value(im, 0.0, 255.0)
            return tf.cast(im, tf.uint8)

        return tf.cond(hi > lo, lambda: scale_values(image), lambda: image)

    return tf.stack([scale_channel(image[..., c]) for c in range(3)], -1)


def sharpness(image, factor):
    orig_image = image
    image = tf.cast(image, tf.float32)
    image = tf.expand_dims(image, 0)
    kernel = tf.constant([[1, 2, 1], [2, 4, 2], [1, 2, 1]], tf.float32, shape=[3, 3, 1, 1]) / 16.0
    kernel = tf.tile(kernel, [1, 1, 3, 1])
    degenerate = tf.nn.depthwise_conv2d(image, kernel, [1, 1, 1, 1], "VALID", dilations=[1, 1])
    degenerate = tf.squeeze(tf.cast(tf.clip_by_value(degenerate, 0.0, 255.0), tf.uint8), [0])
    mask = tf.ones_like(degenerate)
    padded_mask = tf.pad(mask, [[1, 1], [1, 1], [0, 0]])
    padded_degenerate = tf.pad(degenerate, [[1, 1], [1, 1], [0, 0]])
    return blend(
        tf.where(tf.equal(padded_mask, 1), padded_degenerate, orig_image), orig_image, factor
    )


def equalize(image):
    def scale_channel(im, c):
        im = tf.cast(im[:, :, c], tf.int32)
        histo = tf.histogram_fixed_width(im, [0, 255], nbins=256)
        nonzero = tf.where(tf.not_equal(histo, 0))
        nonzero_histo = tf.reshape(tf.gather(histo, nonzero), [-1])
        step = (tf.reduce_sum(nonzero_histo) - nonzero_histo[-1]) // 255

        def build_lut(histo, step):
            lut = (tf.cumsum(histo) + (step // 2)) // step
            lut = tf.concat([[0], lut[:-1]], 0)
            return tf.clip_by_value(lut, 0, 255)

        result = tf.cond(
            tf.equal(step, 0), lambda: im, lambda: tf.gather(build_lut(histo, step), im)
        )
        return tf.cast(result, tf.uint8)

    return tf.stack([scale_channel(image, c) for c in range(3)], 2)


def cutout(image, pad_size, center_height, center_width, replace=0):
    image_height, image_width = tf.shape(image)[0], tf.shape(image)[1]
    lower_pad = tf.maximum(0, center_height - pad_size)
    upper_pad = tf.maximum(0, image_height - center_height - pad_size)
    left_pad = tf.maximum(0, center_width - pad_size)
    right_pad = tf.maximum(0, image_width - center_width - pad_size)
    cutout_shape = [image_height - (lower_pad + upper_pad), image_width - (left_pad + right_pad)]
    padding_dims = [[lower_pad, upper_pad], [left_pad, right_pad]]
    mask = tf.pad(tf.zeros(cutout_shape, dtype=image.dtype), padding_dims, constant_values=1)
    mask = tf.tile(tf.expand_dims(mask, -1), [1, 1, 3])
    return tf.where(tf.equal(mask, 0), tf.ones_like(image, dtype=image.dtype) * replace, image)


POLICY = {
    "invert": lambda image: 255 - image,
    "solarize": lambda image: solarize(image, 100),
    "solarize_add": lambda image: solarize_add(image, 40),
    "posterize": lambda image: posterize(image, 3),
    "color": lambda image: color(image, 0.4),
    "contrast": lambda image: tf.image.adjust_contrast(image, 1.4),
    "brightness": lambda image: blend(tf.zeros_like(image), image, 1.3),
    "autocontrast": autocontrast,
    "sharpness": lambda image: sharpness(image, 1.5),
    "equalize": equalize,
    "cutout": lambda image: cutout(image, 3, 2, 10, replace=128),
}


def results(folder):
    rng = np.random.default_rng(7)
    image = tf.constant(rng.integers(30, 220, (18, 20, 3)), tf.uint8)
    ds = tf.data.Dataset.from_tensors(image)
    return {
        name: tf.cast(next(iter(ds.map(op, num_parallel_calls=2))), tf.int32)
        for name, op in POLICY.items()
    }
