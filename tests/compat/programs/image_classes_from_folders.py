"""Image classification from folders of PNG files: labels from paths, resize, split, cache."""

import os

import numpy as np
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
IMG_SIZE = (16, 24)
BATCH_SIZE = 4


def make_images(folder):
    rng = np.random.default_rng(0)
    for label, name in enumerate(["cats", "dogs", "horses"]):
        (folder / name).mkdir()
        for i in range(4):
            pixels = rng.integers(0, 80, (20 + i, 30, 3)) + 60 * label
            png = tf.io.encode_png(tf.constant(pixels, tf.uint8))
            tf.io.write_file(str(folder / name / f"img_{i}.png"), png)


def results(folder):
    make_images(folder)
    class_names = tf.constant(sorted(os.listdir(folder)))
    files = tf.data.Dataset.list_files(str(folder / "*" / "*.png"), shuffle=False)
    image_count = tf.data.experimental.cardinality(files).numpy()

    def get_label(file_path):
        parts = tf.strings.split(file_path, os.path.sep)
        one_hot = parts[-2] == class_names
        return tf.argmax(one_hot)

    def decode_img(img):
        img = tf.io.decode_png(img, channels=3)
        return tf.image.resize(img, IMG_SIZE)

    def process_path(file_path):
        label = get_label(file_path)
        img = tf.io.read_file(file_path)
        img = decode_img(img)
        return img, label

    def scale(image, label):
        return tf.cast(image, tf.float32) / 127.5 - 1.0, tf.one_hot(label, len(class_names))

    val_size = int(image_count * 0.25)
    train_ds = files.skip(val_size).map(process_path, num_parallel_calls=AUTOTUNE)
    val_ds = files.take(val_size).map(process_path, num_parallel_calls=AUTOTUNE)
    train_ds = train_ds.map(scale).cache().batch(BATCH_SIZE).prefetch(buffer_size=AUTOTUNE)
    image_batch, label_batch = next(iter(train_ds))
    means = [float(tf.reduce_mean(images)) for images, _ in train_ds]
    labels = [label.numpy() for _, label in val_ds]
    shuffled = files.shuffle(12, reshuffle_each_iteration=False).map(get_label)
    return {
        "count": int(image_count),
        "class_names": class_names,
        "batch": image_batch,
        "labels": label_batch,
        "batches": len(train_ds),
        "means": means,
        "validation": labels,
        "all labels": sorted(int(label) for label in shuffled),
        "spec": [spec.dtype.name for spec in train_ds.element_spec],
        "names": [os.path.basename(f.decode("utf-8")) for f in files.as_numpy_iterator()],
    }
