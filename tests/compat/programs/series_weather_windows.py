"""A class that makes windows from a table of measurements: inputs, labels, splits by time."""

import numpy as np
import tensorflow as tf

COLUMNS = ["T (degC)", "p (mbar)", "Wx"]


def make_frame(n=90):
    t = np.arange(n, dtype=np.float64)
    table = np.stack([10 + 5 * np.sin(t / 12), 990 + t % 7, np.cos(t / 24)], axis=1)
    day = 24.0
    signals = np.stack([np.sin(t * 2 * np.pi / day), np.cos(t * 2 * np.pi / day)], axis=1)
    return np.concatenate([table, signals], axis=1)


class WindowGenerator:
    def __init__(self, input_width, label_width, shift, data, label_columns=None):
        self.train_df, self.val_df = data
        self.label_columns = label_columns
        self.column_indices = {name: i for i, name in enumerate(COLUMNS)}
        self.total_window_size = input_width + shift
        self.input_slice = slice(0, input_width)
        self.label_start = self.total_window_size - label_width
        self.labels_slice = slice(self.label_start, None)
        self.input_width, self.label_width = input_width, label_width

    def split_window(self, features):
        inputs = features[:, self.input_slice, :]
        labels = features[:, self.labels_slice, :]
        if self.label_columns is not None:
            labels = tf.stack(
                [labels[:, :, self.column_indices[name]] for name in self.label_columns], axis=-1
            )
        inputs.set_shape([None, self.input_width, None])
        labels.set_shape([None, self.label_width, None])
        return inputs, labels

    def make_dataset(self, data, shuffle):
        data = np.array(data, dtype=np.float32)
        ds = tf.keras.utils.timeseries_dataset_from_array(
            data=data,
            targets=None,
            sequence_length=self.total_window_size,
            sequence_stride=1,
            shuffle=shuffle,
            batch_size=8,
        )
        return ds.map(self.split_window)

    @property
    def train(self):
        return self.make_dataset(self.train_df, True)

    @property
    def val(self):
        return self.make_dataset(self.val_df, False)

    @property
    def example(self):
        result = getattr(self, "_example", None)
        if result is None:
            result = next(iter(self.val))
            self._example = result
        return result


def results(folder):
    frame = make_frame()
    train, val = frame[:63], frame[63:]
    mean, std = train.mean(axis=0), train.std(axis=0)
    data = ((train - mean) / std, (val - mean) / std)
    w1 = WindowGenerator(12, 1, 6, data, label_columns=["T (degC)"])
    w2 = WindowGenerator(6, 6, 1, data)
    example_inputs, example_labels = w1.example
    count = sum(int(tf.shape(x)[0]) for x, _ in w1.train)
    total = sum(float(tf.reduce_sum(y)) for _, y in w1.train)
    targets = tf.keras.utils.timeseries_dataset_from_array(
        np.arange(20.0),
        np.arange(20) * 10,
        sequence_length=4,
        sampling_rate=2,
        sequence_stride=3,
        batch_size=2,
        start_index=1,
        end_index=17,
    )
    return {
        "inputs": example_inputs,
        "labels": example_labels,
        "spec": [spec.dtype.name for spec in w1.val.element_spec],
        "count": count,
        "total": total,
        "wide": next(iter(w2.val)),
        "baseline": [tf.reduce_mean(tf.square(x[:, -1:, :1] - y)) for x, y in w1.val],
        "targets": list(targets),
        "batches": len(w1.val),
    }
