"""Programs in the style of tf.data's text tutorials: lines, words, buckets and vocabularies."""

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
    with pytest.raises(IndexError):
        words[3]
