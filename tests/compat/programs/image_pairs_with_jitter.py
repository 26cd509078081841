"""Image pairs side by side in one file, as for pix2pix: split, jittered, normalized."""

import numpy as np
import tensorflow as tf

IMG_WIDTH = 12
IMG_HEIGHT = 12


def load(image_file):
    image = tf.io.read_file(image_file)
    image = tf.io.decode_png(image)
    w = tf.shape(image)[1]
    w = w // 2
    input_image = image[:, w:, :]
    real_image = image[:, :w, :]
    return tf.cast(input_image, tf.float32), tf.cast(real_image, tf.float32)


def resize(input_image, real_image, height, width):
    method = tf.image.ResizeMethod.NEAREST_NEIGHBOR
    input_image = tf.image.resize(input_image, [height, width], method=method)
    real_image = tf.image.resize(real_image, [height, width], method=method)
    return input_image, real_image


def random_crop(input_image, real_image):
    stacked_image = tf.stack([input_image, real_image], axis=0)
    cropped_image = tf.image.random_crop(stacked_image, size=[2, IMG_HEIGHT, IMG_WIDTH, 3])
    return cropped_image[0], cropped_image[1]


def normalize(input_image, real_image):
    input_image = (input_image / 127.5) - 1
    real_image = (real_image / 127.5) - 1
    return input_image, real_image


@tf.function()
def random_jitter(input_image, real_image):
    input_image, real_image = resize(input_image, real_image, 14, 14)
    input_image, real_image = random_crop(input_image, real_image)
    if tf.random.uniform(()) > 0.5:
        input_image = tf.image.flip_left_right(input_image)
        real_image = tf.image.flip_left_right(real_image)
    return input_image, real_image


def load_image_train(image_file):
    return normalize(*random_jitter(*load(image_file)))


def load_image_test(image_file):
    input_image, real_image = load(image_file)
    input_image, real_image = resize(input_image, real_image, IMG_HEIGHT, IMG_WIDTH)
    return normalize(input_image, real_image)


def results(folder):
    rng = np.random.default_rng(5)
    for i in range(5):
        left = rng.integers(0, 128, (16, 16, 3), dtype=np.uint8)
        both = np.concatenate([left, 255 - left], axis=1)
        tf.io.write_file(str(folder / f"{i}.png"), tf.io.encode_png(both))
    train_dataset = tf.data.Dataset.list_files(str(folder / "*.png"))
    train_dataset = train_dataset.map(load_image_train, num_parallel_calls=tf.data.AUTOTUNE)
    train_dataset = train_dataset.shuffle(400).batch(1)
    test_dataset = tf.data.Dataset.list_files(str(folder / "*.png"), shuffle=False)
    test_dataset = test_dataset.map(load_image_test).batch(1)
    mirrored = [tf.reduce_max(tf.abs(a + b)) for a, b in train_dataset]
    example_input, example_target = next(iter(test_dataset.take(1)))
    return {
        "input": example_input,
        "target": example_target,
        "inputs": [tf.reduce_mean(a) for a, _ in test_dataset],
        "the same crop of both": tf.stack(mirrored),
        "shapes": sorted({tuple(a.shape) for a, _ in train_dataset}),
    }
