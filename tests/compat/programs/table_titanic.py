"""Passengers from a CSV file: make_csv_dataset, numeric columns packed, categories one-hot."""

import numpy as np
import tensorflow as tf

HEADER = "survived,sex,age,n_siblings,fare,class,deck,alone"
ROWS = """0,male,22.0,1,7.25,Third,unknown,n
1,female,38.0,1,71.2833,First,C,n
1,female,26.0,0,7.925,Third,unknown,y
1,female,35.0,1,53.1,First,C,n
0,male,28.0,0,8.4583,Third,unknown,y
0,male,2.0,3,21.075,Third,unknown,n
1,female,27.0,0,11.1333,Third,unknown,n
1,,14.0,1,30.0708,Second,unknown,n"""
LABEL_COLUMN = "survived"
CATEGORIES = {"sex": ["male", "female"], "class": ["First", "Second", "Third"]}


class PackNumericFeatures:
    def __init__(self, names):
        self.names = names

    def __call__(self, features, labels):
        numeric_features = [features.pop(name) for name in self.names]
        numeric_features = [tf.cast(feat, tf.float32) for feat in numeric_features]
        features["numeric"] = tf.stack(numeric_features, axis=-1)
        return features, labels


def get_dataset(file_path, **kwargs):
    return tf.data.experimental.make_csv_dataset(
        file_path,
        batch_size=4,
        label_name=LABEL_COLUMN,
        na_value="?",
        num_epochs=1,
        shuffle=False,
        ignore_errors=True,
        **kwargs,
    )


def one_hot(features, labels):
    columns = [features["numeric"] / 10.0]
    for name, vocabulary in CATEGORIES.items():
        matches = tf.equal(tf.expand_dims(features[name], -1), tf.constant(vocabulary))
        columns.append(tf.cast(matches, tf.float32))
    return tf.concat(columns, axis=1), labels


def results(folder):
    path = folder / "train.csv"
    path.write_text("\n".join([HEADER, *ROWS.splitlines()]) + "\n")
    raw = get_dataset(str(path))
    first, labels = next(iter(raw))
    selected = get_dataset(
        str(path),
        select_columns=["survived", "sex", "age", "n_siblings", "class"],
        column_defaults=[0, "male", 0.0, 0.0, "none"],
    )
    packed = selected.map(PackNumericFeatures(["age", "n_siblings"]))
    matrices = packed.map(one_hot)
    numeric = np.concatenate([f["numeric"].numpy() for f, _ in packed])
    mean, std = numeric.mean(axis=0), numeric.std(axis=0)
    standardized = packed.map(lambda f, y: (f["numeric"] - mean) / std)
    shuffled = tf.data.experimental.make_csv_dataset([str(path)], 3, num_epochs=1, shuffle_seed=1)
    return {
        "first": dict(first),
        "labels": labels,
        "order": list(first),
        "matrices": [m for m, _ in matrices],
        "mean": mean,
        "standardized": tf.concat(list(standardized), axis=0),
        "survivors": int(sum(tf.reduce_sum(y) for _, y in raw)),
        "fares": sorted(float(fare) for batch in shuffled for fare in batch["fare"]),
        "types": {name: spec.dtype.name for name, spec in raw.element_spec[0].items()},
    }
