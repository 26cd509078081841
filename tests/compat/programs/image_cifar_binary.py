"""CIFAR-10's binary files: records of a fixed length, transposed, padded and cropped."""

import numpy as np
import tensorflow as tf

HEIGHT, WIDTH, DEPTH = 8, 8, 3
LABEL_BYTES = 1
RECORD_BYTES = LABEL_BYTES + HEIGHT * WIDTH * DEPTH


def get_filenames(data_dir):
    return [str(data_dir / f"data_batch_{i}.bin") for i in range(1, 4)]


def write_files(data_dir):
    rng = np.random.default_rng(6)
    for i, name in enumerate(get_filenames(data_dir)):
        records = rng.integers(0, 256, (4, RECORD_BYTES), dtype=np.uint8)
        records[:, 0] = (np.arange(4) + i) % 10
        with open(name, "wb") as file:
            file.write(records.tobytes())


def parse_record(raw_record):
    record_vector = tf.io.decode_raw(raw_record, tf.uint8)
    label = tf.cast(record_vector[0], tf.int32)
    label = tf.one_hot(label, 10)
    depth_major = tf.reshape(record_vector[LABEL_BYTES:RECORD_BYTES], [DEPTH, HEIGHT, WIDTH])
    image = tf.cast(tf.transpose(depth_major, [1, 2, 0]), tf.float32)
    return image, label


def preprocess_image(image, is_training):
    if is_training:
        image = tf.image.resize_with_crop_or_pad(image, HEIGHT + 4, WIDTH + 4)
        image = tf.image.random_crop(image, [HEIGHT, WIDTH, DEPTH])
        image = tf.image.random_flip_left_right(image)
    image = tf.image.per_image_standardization(image)
    image.set_shape([HEIGHT, WIDTH, DEPTH])
    return image


def input_fn(is_training, filenames, batch_size, num_epochs=1):
    dataset = tf.data.FixedLengthRecordDataset(filenames, RECORD_BYTES)
    if is_training:
        dataset = dataset.shuffle(buffer_size=12)
    dataset = dataset.map(parse_record)
    dataset = dataset.map(lambda image, label: (preprocess_image(image, is_training), label))
    dataset = dataset.prefetch(2 * batch_size)
    dataset = dataset.repeat(num_epochs)
    return dataset.batch(batch_size)


def results(folder):
    write_files(folder)
    images, labels = next(iter(input_fn(False, get_filenames(folder), 5)))
    training = input_fn(True, get_filenames(folder), 5, num_epochs=2)
    seen = tf.concat([label for _, label in training], axis=0)
    header = tf.data.FixedLengthRecordDataset(
        get_filenames(folder)[0], 64, header_bytes=1, footer_bytes=4 * RECORD_BYTES - 1 - 5 * 64
    )
    return {
        "images": images,
        "labels": tf.argmax(labels, axis=1),
        "sizes": [image.shape[0] for image, _ in training],
        "seen": tf.reduce_sum(seen, axis=0),
        "with header": [
            tf.reduce_sum(tf.cast(tf.io.decode_raw(r, tf.uint8), tf.int32)) for r in header
        ],
        "as int16": tf.io.decode_raw(tf.constant(b"\x01\x00\x02\x00"), tf.int16),
    }
