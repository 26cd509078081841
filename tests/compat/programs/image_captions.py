"""Image captioning: an image with five captions becomes five pairs, features from npy files."""

import collections
import json

import numpy as np
import tensorflow as tf

WORDS = ["a", "man", "dog", "rides", "runs", "on", "the", "beach", "street", "red"]


def write_annotations(folder):
    rng = np.random.default_rng(8)
    annotations = []
    for i in range(4):
        name = f"COCO_train_{i:012d}"
        np.save(folder / f"{name}.npy", rng.normal(size=(6, 4)).astype(np.float32))
        for _ in range(3):
            caption = " ".join(rng.choice(WORDS, rng.integers(2, 6)))
            annotations.append({"image_id": i, "file": name, "caption": caption})
    (folder / "captions.json").write_text(json.dumps({"annotations": annotations}))


def standardize(inputs):
    inputs = tf.strings.lower(inputs)
    inputs = tf.strings.regex_replace(inputs, r"[!\"#$%&\(\)\*\+.,-/:;=?@\[\\\]^_`{|}~]", "")
    return tf.strings.join(["[START]", inputs, "[END]"], separator=" ")


def build_vocabulary(captions):
    counts = collections.Counter()
    for caption in captions:
        counts.update(standardize(caption).numpy().decode().split())
    return ["", "[UNK]"] + [word for word, _ in sorted(counts.items(), key=lambda c: (-c[1], c[0]))]


def results(folder):
    write_annotations(folder)
    annotations = json.loads((folder / "captions.json").read_text())
    image_path_to_caption = collections.defaultdict(list)
    for val in annotations["annotations"]:
        image_path_to_caption[str(folder / f"{val['file']}.npy")].append(val["caption"])
    paths = list(image_path_to_caption)
    captions = [image_path_to_caption[path] for path in paths]
    vocabulary = build_vocabulary([c for group in captions for c in group])
    keys = tf.constant(vocabulary)
    init = tf.lookup.KeyValueTensorInitializer(keys, tf.range(len(vocabulary), dtype=tf.int64))
    word_to_index = tf.lookup.StaticHashTable(init, default_value=1)

    def map_func(img_name, cap):
        img_tensor = np.load(img_name.decode("utf-8"))
        return img_tensor, cap

    def load(path, caption):
        features, caption = tf.numpy_function(map_func, [path, caption], [tf.float32, tf.string])
        features.set_shape([6, 4])
        caption.set_shape([])
        return features, caption

    def match_shapes(path, captions):
        n = tf.shape(captions)[0]
        return tf.repeat(tf.expand_dims(path, 0), n, axis=0), captions

    def prepare(features, caption):
        tokens = word_to_index.lookup(tf.strings.split(standardize(caption)))
        input_tokens, label_tokens = tokens[:-1], tokens[1:]
        return (features, input_tokens), label_tokens

    ds = tf.data.Dataset.from_tensor_slices((paths, captions))
    ds = ds.map(match_shapes).unbatch()
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).map(prepare)
    ds = ds.padded_batch(4, padded_shapes=(([6, 4], [None]), [8]))
    (features, inputs), labels = next(iter(ds))
    return {
        "features": features,
        "inputs": inputs,
        "labels": labels,
        "lengths": [(x[1].shape.as_list(), y.shape.as_list()) for x, y in ds],
        "vocabulary": vocabulary,
        "size": int(word_to_index.size()),
    }
