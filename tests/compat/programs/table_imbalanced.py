"""Fraud among ordinary transactions: classes counted, then balanced by sampling or rejection."""

import numpy as np
import tensorflow as tf


def transactions(n=400):
    rng = np.random.default_rng(11)
    labels = (np.arange(n) % 20 == 0).astype(np.int64)
    amounts = rng.gamma(2.0, 30.0, n).astype(np.float32) + 100 * labels
    return {"amount": amounts, "hour": rng.integers(0, 24, n)}, labels


def count(counts, batch):
    features, labels = batch
    class_1 = tf.cast(labels == 1, tf.int32)
    class_0 = tf.cast(labels == 0, tf.int32)
    counts["class_0"] += tf.reduce_sum(class_0)
    counts["class_1"] += tf.reduce_sum(class_1)
    return counts


def share_of_ones(dataset, batches=20):
    ones, total = 0, 0
    for _, labels in dataset.take(batches):
        ones += int(tf.reduce_sum(labels))
        total += len(labels)
    return ones / total


def results(folder):
    features, labels = transactions()
    ds = tf.data.Dataset.from_tensor_slices((features, labels))
    counts = (
        ds.batch(32).take(10).reduce(initial_state={"class_0": 0, "class_1": 0}, reduce_func=count)
    )
    counts = np.array([counts["class_0"].numpy(), counts["class_1"].numpy()]).astype(np.float32)
    fractions = counts / counts.sum()

    negative_ds = ds.filter(lambda features, label: label == 0).repeat()
    positive_ds = ds.filter(lambda features, label: label == 1).repeat()
    balanced_ds = tf.data.Dataset.sample_from_datasets(
        [negative_ds, positive_ds], [0.5, 0.5], seed=3
    ).batch(20)

    resample_ds = (
        ds.repeat(40)
        .rejection_resample(lambda features, label: label, [0.5, 0.5], fractions, seed=4)
        .map(lambda extra_label, features_and_label: features_and_label)
        .batch(20)
    )
    old = tf.data.experimental.sample_from_datasets([negative_ds, positive_ds], [0.9, 0.1]).batch(
        50
    )
    choice = tf.data.Dataset.range(2).repeat(3)
    alternating = tf.data.Dataset.choose_from_datasets([negative_ds, positive_ds], choice)
    fixed = tf.data.Dataset.sample_from_datasets(
        [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 14)], weights=[0.5, 0.5]
    )
    weights = tf.data.Dataset.from_tensor_slices(tf.constant([0.0, 1.0])).repeat()
    steered = tf.data.Dataset.sample_from_datasets(
        [tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9)],
        tf.data.Dataset.from_tensors([0.0, 1.0]).repeat(),
        stop_on_empty_dataset=True,
    )
    return {
        "counts": counts,
        "fractions": fractions,
        "balanced": abs(share_of_ones(balanced_ds) - 0.5) < 0.12,
        "resampled": abs(share_of_ones(resample_ds) - 0.5) < 0.12,
        "old": abs(share_of_ones(old) - 0.1) < 0.08,
        "alternating": [int(y) for _, y in alternating],
        "all of both": sorted(fixed.as_numpy_iterator()),
        "steered": [int(x) for x in steered],
        "weights": next(iter(weights.batch(3))),
        "mean amounts": [
            float(tf.reduce_mean(next(iter(d.batch(20)))[0]["amount"]))
            for d in (negative_ds, positive_ds)
        ],
        "initial bias": np.log([counts[1] / counts[0]]),
    }
