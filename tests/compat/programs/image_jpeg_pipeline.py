"""JPEG files: shapes without decoding, crops while decoding, sizes that keep the aspect ratio."""

import numpy as np
import tensorflow as tf

TOLERANCE = 0.02


def make_files(folder):
    y, x = np.mgrid[0:48, 0:64] / 64.0
    for i in range(3):
        rgb = np.stack([x, y, (x + y) / 2], axis=-1) * (80 * (i + 1))
        encoded = tf.io.encode_jpeg(tf.cast(rgb, tf.uint8), quality=95)
        with tf.io.gfile.GFile(str(folder / f"photo_{i}.jpg"), "wb") as file:
            file.write(encoded.numpy())


def decode_and_center_crop(image_bytes, size=32):
    shape = tf.io.extract_jpeg_shape(image_bytes)
    height, width = shape[0], shape[1]
    crop = tf.minimum(height, width) * 7 // 8
    crop_window = tf.stack([(height - crop) // 2, (width - crop) // 2, crop, crop])
    image = tf.image.decode_and_crop_jpeg(image_bytes, crop_window, channels=3)
    return tf.image.resize([image], [size, size], method="area")[0]


def aspect_preserving_resize(image, resize_min):
    height, width = tf.shape(image)[0], tf.shape(image)[1]
    smaller_dim = tf.minimum(tf.cast(height, tf.float32), tf.cast(width, tf.float32))
    scale_ratio = tf.cast(resize_min, tf.float32) / smaller_dim
    new_height = tf.cast(tf.cast(height, tf.float32) * scale_ratio, tf.int32)
    new_width = tf.cast(tf.cast(width, tf.float32) * scale_ratio, tf.int32)
    return tf.image.resize(image, tf.stack([new_height, new_width]), antialias=True)


def results(folder):
    make_files(folder)
    files = tf.data.Dataset.list_files(str(folder / "photo_*.jpg"), shuffle=False)
    data = files.map(tf.io.read_file)
    decoded = data.map(lambda data: tf.io.decode_image(data, channels=3, expand_animations=False))
    floats = decoded.map(lambda image: tf.image.convert_image_dtype(image, tf.float32))
    small = floats.map(lambda image: aspect_preserving_resize(image, 12))
    crops = data.map(lambda data: decode_and_center_crop(data) / 255.0)
    padded = floats.map(lambda image: tf.image.resize_with_pad(image, 20, 20))
    gray = data.map(lambda data: tf.image.decode_jpeg(data, channels=1, ratio=2))
    central = floats.map(lambda image: tf.image.central_crop(image, 0.5))
    return {
        "are jpeg": [bool(tf.io.is_jpeg(d)) for d in data],
        "shapes": [image.shape.as_list() for image in decoded],
        "small": tf.stack(list(small)),
        "crops": tf.stack(list(crops)),
        "padded": tf.stack(list(padded)),
        "gray": tf.cast(tf.stack(list(gray)), tf.float32) / 255.0,
        "central": tf.stack(list(central)),
        "hsv": tf.reduce_mean(tf.image.rgb_to_hsv(tf.stack(list(small))), axis=[1, 2]),
        "gamma": tf.image.adjust_gamma(next(iter(small)), 0.5),
        "psnr": tf.image.psnr(tf.stack(list(small)), tf.stack(list(small)) * 0.9, max_val=1.0),
    }
