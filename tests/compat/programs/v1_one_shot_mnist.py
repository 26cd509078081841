"""TensorFlow 1: records of small digits, read by an input function with a one-shot iterator."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def convert_to(images, labels, filename):
    with tf.python_io.TFRecordWriter(filename) as writer:
        for index in range(len(images)):
            feature = {
                "label": _int64_feature(int(labels[index])),
                "image_raw": _bytes_feature(images[index].tobytes()),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


def decode(serialized_example):
    features = tf.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape((16,))
    label = tf.cast(features["label"], tf.int32)
    return image, label


def augment(image, label):
    return image, label


def normalize(image, label):
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    return image, label


def inputs(filename, batch_size, num_epochs):
    with tf.name_scope("input"):
        dataset = tf.data.TFRecordDataset(filename)
        dataset = dataset.map(decode)
        dataset = dataset.map(augment)
        dataset = dataset.map(normalize)
        dataset = dataset.repeat(num_epochs)
        dataset = dataset.batch(batch_size)
        iterator = dataset.make_one_shot_iterator()
    return iterator.get_next()


def results(folder):
    rng = np.random.RandomState(0)
    images = rng.randint(0, 256, (7, 16)).astype(np.uint8)
    labels = np.arange(7) % 3
    filename = str(folder / "train.tfrecords")
    convert_to(images, labels, filename)
    collected, steps, totals = [], 0, []
    with tf.Graph().as_default():
        image_batch, label_batch = inputs(filename, batch_size=4, num_epochs=2)
        mean = tf.reduce_mean(image_batch, axis=1)
        init_op = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
        with tf.Session() as sess:
            sess.run(init_op)
            try:
                while True:
                    x, y, m = sess.run([image_batch, label_batch, mean])
                    collected.append(y)
                    totals.append(m)
                    steps += 1
            except tf.errors.OutOfRangeError:
                pass
    records = list(tf.python_io.tf_record_iterator(filename))
    return {
        "steps": steps,
        "labels": collected,
        "means": totals,
        "last": x,
        "records": [len(r) for r in records],
        "label of first": tf.train.Example.FromString(records[0])
        .features.feature["label"]
        .int64_list.value[0],
    }
