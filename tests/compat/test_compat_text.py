"""Programs in the style of the tf.data text tutorials: lines, words, buckets and vocabularies."""

import collections

import numpy as np
import pytest

import penstock.compat.tf as tf

AUTHORS = {
    "cowper.txt": "Achilles sing O Goddess\nHis wrath pernicious who ten thousand woes\n",
    "derby.txt": "Of Peleus son Achilles\nThe vengeance deep and deadly\nto Greece\n",
    "butler.txt": "Sing O goddess the anger\n",
}


@pytest.fixture
def texts(tmp_path):
    for name, text in AUTHORS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def labelled(texts):
    def labeler(example, index):
        return example, tf.cast(index, tf.int64)

    datasets = []
    for i, name in enumerate(AUTHORS):
        lines = tf.data.TextLineDataset(str(texts / name))
        datasets.append(lines.map(lambda ex, i=i: labeler(ex, i)))
    all_labeled_data = datasets[0]
    for dataset in datasets[1:]:
        all_labeled_data = all_labeled_data.concatenate(dataset)
    return all_labeled_data


def vocabulary_of(dataset):
    counts = collections.Counter()
    for words in dataset.as_numpy_iterator():
        counts.update(words)
    return sorted(counts)


def test_lines_of_several_authors_become_padded_numbers(texts):
    all_labeled_data = labelled(texts).shuffle(50, seed=1, reshuffle_each_iteration=False)

    def tokenize(text, unused_label):
        return tf.strings.split(tf.strings.lower(text))

    vocabulary = vocabulary_of(all_labeled_data.map(tokenize))
    keys, values = vocabulary, range(2, len(vocabulary) + 2)
    init = tf.lookup.KeyValueTensorInitializer(
        keys, values, key_dtype=tf.string, value_dtype=tf.int64
    )
    table = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=1)

    def preprocess_text(text, label):
        return table.lookup(tokenize(text, label)), label

    encoded = all_labeled_data.map(preprocess_text)
    train = encoded.skip(2).shuffle(10).padded_batch(2, padded_shapes=([None], []))
    valid = encoded.take(2).padded_batch(2)
    labels = []
    for texts_, labels_ in (*train, *valid):
        assert texts_.dtype == labels_.dtype == tf.int64
        assert texts_.shape[0] == labels_.shape[0]
        labels += labels_.numpy().tolist()
    assert sorted(labels) == [0, 0, 1, 1, 1, 2]


def test_words_one_by_one(texts):
    lines = tf.data.TextLineDataset([str(texts / name) for name in AUTHORS])
    words = lines.map(tf.strings.split).unbatch()
    assert [w.numpy() for w in words.take(2)] == [b"Achilles", b"sing"]
    flat = lines.flat_map(lambda line: tf.data.Dataset.from_tensor_slices(tf.strings.split(line)))
    assert list(flat.as_numpy_iterator()) == list(words.as_numpy_iterator())
    short = words.map(tf.strings.length).filter(lambda n: n < 3)
    assert [int(n) for n in short] == [1, 2, 2, 1]


def test_lines_are_cut_in_characters_and_shifted(texts):
    text = open(texts / "derby.txt", "rb").read().decode()  # noqa: PTH123, SIM115
    vocab = sorted(set(text))
    ids = {c: i for i, c in enumerate(vocab)}
    as_int = np.array([ids[c] for c in text])
    sequences = tf.data.Dataset.from_tensor_slices(as_int).batch(11, drop_remainder=True)

    def split_input_target(sequence):
        return sequence[:-1], sequence[1:]

    ds = sequences.map(split_input_target).shuffle(100, seed=2).batch(2, drop_remainder=True)
    for source, target in ds:
        assert source.shape == target.shape == (2, 10)
        np.testing.assert_array_equal(source[:, 1:], target[:, :-1])


def test_reviews_in_folders(tmp_path):
    for label, text in (("neg", "bad movie"), ("pos", "good one"), ("pos", "fine")):
        tf.io.write_file(str(tmp_path / label / f"{text[:3]}.txt"), text)
    files = tf.data.Dataset.list_files(str(tmp_path / "*/*.txt"), shuffle=False)

    def read(path):
        label = tf.strings.regex_full_match(path, ".*/pos/.*")
        return tf.io.read_file(path), tf.cast(label, tf.int32)

    reviews = {text.numpy(): int(label) for text, label in files.map(read)}
    assert reviews == {b"bad movie": 0, b"good one": 1, b"fine": 1}
    cleaned = files.map(lambda p: tf.strings.regex_replace(read(p)[0], "[aeiou]", "_"))
    assert b"b_d m_v__" in list(cleaned.as_numpy_iterator())


def test_ragged_rows_of_words():
    batch = tf.constant(["the cat", "sat", ""])
    words = tf.strings.split(batch)
    assert words.to_list() == [[b"the", b"cat"], [b"sat"], []]
    assert words.row_lengths().numpy().tolist() == [2, 1, 0]
    assert words[0][-1].numpy() == b"cat"
    assert words.to_tensor(shape=[None, 1]).numpy().tolist() == [[b"the"], [b"sat"], [b""]]
    ds = tf.data.Dataset.from_tensors(batch).map(tf.strings.split)
    (again,) = ds
    assert isinstance(again, tf.RaggedTensor)
    assert again.to_list() == words.to_list()
    assert ds.element_spec == tf.RaggedTensorSpec([None, None], tf.string)
    with pytest.raises(IndexError):
        words[3]


def test_rows_of_different_length_in_batches():
    ds = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
    first, second = ds.ragged_batch(2)
    assert isinstance(first, tf.RaggedTensor)
    assert first.to_list() == [[1], [2, 2]]
    assert second.to_list() == [[3, 3, 3]]
    named = ds.map(lambda row: {"row": row, "pair": (row, "s")}).ragged_batch(3)
    (element,) = named
    assert element["row"].to_list() == element["pair"][0].to_list() == [[1], [2, 2], [3, 3, 3]]
    assert tf.concat([element["pair"][1]], 0).numpy().tolist() == [b"s"] * 3
    older = ds.apply(tf.data.experimental.dense_to_ragged_batch(3, drop_remainder=True))
    assert [rows.to_list() for rows in older] == [[[1], [2, 2], [3, 3, 3]]]
    grown = ds.map(lambda row: tf.tile([row], [2, 1])).ragged_batch(2)
    assert next(iter(grown)).to_list()[0] == [[1], [1]]


def test_sentences_in_buckets_of_like_length():
    sentences = ["a", "b c d", "e f", "g h i j", "k"]
    ds = tf.data.Dataset.from_tensor_slices(sentences).map(tf.strings.split)
    bucketed = ds.bucket_by_sequence_length(
        element_length_func=lambda words: tf.shape(words)[0],
        bucket_boundaries=[3],
        bucket_batch_sizes=[3, 2],
    )
    batches = [b.numpy().tolist() for b in bucketed]
    assert sorted(map(len, batches)) == [2, 3]
    assert [[b"b", b"c", b"d", b""], [b"g", b"h", b"i", b"j"]] in batches
