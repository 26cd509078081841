"""Reviews in a folder for each class, read by Keras' utility, cleaned, and looked up."""

import re
import string

import tensorflow as tf

REVIEWS = {
    "pos": ["A GREAT film!<br />I loved it.", "Simply, the best.", "great fun; great cast"],
    "neg": ["Terrible...<br />Never again!", "The worst film (ever)", "boring, boring, boring"],
}


def write_reviews(folder):
    for split in ("train", "test"):
        for name, reviews in REVIEWS.items():
            (folder / split / name).mkdir(parents=True)
            for i, review in enumerate(reviews):
                (folder / split / name / f"{i}_7.txt").write_text(f"{review} {split}")


def custom_standardization(input_data):
    lowercase = tf.strings.lower(input_data)
    stripped_html = tf.strings.regex_replace(lowercase, "<br />", " ")
    return tf.strings.regex_replace(stripped_html, "[%s]" % re.escape(string.punctuation), "")


def vocabulary_of(dataset):
    counts = {}
    for texts, _ in dataset:
        for row in tf.strings.split(custom_standardization(texts)).to_list():
            for word in row:
                counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))


def results(folder):
    write_reviews(folder)
    train_dir = str(folder / "train")
    raw_train_ds = tf.keras.utils.text_dataset_from_directory(train_dir, batch_size=2, seed=1)
    raw_val_ds = tf.keras.utils.text_dataset_from_directory(
        train_dir, batch_size=2, validation_split=0.34, subset="validation", seed=42
    )
    raw_test_ds = tf.keras.utils.text_dataset_from_directory(
        str(folder / "test"), batch_size=4, shuffle=False
    )
    words = vocabulary_of(raw_test_ds)
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(words, tf.range(len(words), dtype=tf.int64)),
        num_oov_buckets=1,
    )

    def vectorize_text(text, label):
        ids = table.lookup(tf.strings.split(custom_standardization(text)).to_tensor(""))
        return ids, label

    test_ds = raw_test_ds.map(vectorize_text).cache().prefetch(buffer_size=tf.data.AUTOTUNE)
    text_batch, label_batch = next(iter(raw_test_ds))
    return {
        "classes": raw_train_ds.class_names,
        "texts": text_batch,
        "labels": label_batch,
        "clean": custom_standardization(text_batch),
        "vocabulary": words,
        "ids": [ids for ids, _ in test_ds],
        "training": sorted(text for texts, _ in raw_train_ds for text in texts.numpy()),
        "sizes": [len(raw_train_ds), len(raw_val_ds), int(raw_test_ds.cardinality())],
        "positive": sum(int(tf.reduce_sum(labels)) for _, labels in raw_train_ds),
    }
