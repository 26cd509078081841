"""TensorFlow 1: training and validation switched by a handle, or by reinitializing."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def feedable():
    training_dataset = tf.data.Dataset.range(6).map(lambda x: x * 10).repeat()
    validation_dataset = tf.data.Dataset.range(3)
    handle = tf.placeholder(tf.string, shape=[])
    iterator = tf.data.Iterator.from_string_handle(
        handle,
        tf.data.get_output_types(training_dataset),
        tf.data.get_output_shapes(training_dataset),
    )
    next_element = iterator.get_next()
    training_iterator = tf.data.make_one_shot_iterator(training_dataset)
    validation_iterator = tf.data.make_initializable_iterator(validation_dataset)
    seen = []
    with tf.Session() as sess:
        training_handle = sess.run(training_iterator.string_handle())
        validation_handle = sess.run(validation_iterator.string_handle())
        for _ in range(2):
            for _ in range(4):
                seen.append(sess.run(next_element, feed_dict={handle: training_handle}))
            sess.run(validation_iterator.initializer)
            for _ in range(3):
                seen.append(sess.run(next_element, feed_dict={handle: validation_handle}))
    return [int(x) for x in seen]


def reinitializable():
    train = (np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(4))
    test = (-np.arange(4, dtype=np.float32).reshape(2, 2), np.arange(2))
    train_dataset = tf.data.Dataset.from_tensor_slices(train).batch(2)
    test_dataset = tf.data.Dataset.from_tensor_slices(test).batch(2)
    iterator = tf.data.Iterator.from_structure(
        train_dataset.output_types, train_dataset.output_shapes
    )
    features, labels = iterator.get_next()
    loss = tf.reduce_sum(features) + tf.to_float(tf.reduce_sum(labels))
    train_init = iterator.make_initializer(train_dataset)
    test_init = iterator.make_initializer(test_dataset)
    found = []
    with tf.Session() as sess:
        for init in (train_init, test_init, train_init):
            sess.run(init)
            while True:
                try:
                    found.append(float(sess.run(loss)))
                except tf.errors.OutOfRangeError:
                    break
    return found


def fed_arrays():
    features = np.arange(12.0).reshape(6, 2)
    labels = np.arange(6) % 2
    features_placeholder = tf.placeholder(features.dtype, features.shape)
    labels_placeholder = tf.placeholder(labels.dtype, labels.shape)
    batch_size = tf.placeholder_with_default(tf.constant(2, tf.int64), [])
    dataset = tf.data.Dataset.from_tensor_slices((features_placeholder, labels_placeholder))
    dataset = dataset.shuffle(buffer_size=6).batch(batch_size)
    iterator = dataset.make_initializable_iterator()
    x, y = iterator.get_next()
    sums, shapes = [], []
    with tf.Session() as sess:
        for size in (2, 4):
            feeds = {features_placeholder: features, labels_placeholder: labels, batch_size: size}
            sess.run(iterator.initializer, feed_dict=feeds)
            while True:
                try:
                    a, b = sess.run((x, y))
                    shapes.append(list(a.shape))
                    sums.append(a.sum() + 100 * b.sum())
                except tf.errors.OutOfRangeError:
                    break
    return float(np.sum(sums)), shapes


def results(folder):
    return {"feedable": feedable(), "reinitializable": reinitializable(), "fed": fed_arrays()}
