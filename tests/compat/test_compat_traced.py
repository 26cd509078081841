"""Tutorial code that relies on TensorFlow's tracing, where plain Python functions differ."""

import numpy as np
import pytest

import penstock as ps
import penstock.compat.tf as tf

LEVEL = 1


def numbers(dataset):
    return [np.asarray(x).tolist() for x in dataset.as_numpy_iterator()]


def labelled():
    parts = []
    for index in range(3):
        parts.append(tf.data.Dataset.range(1).map(lambda x: x * 0 + index))  # noqa: B023
    return parts


def test_lambda_in_a_loop_keeps_its_variable():
    assert [numbers(part) for part in labelled()] == [[0], [1], [2]]


def test_lambda_in_a_loop_of_a_module_keeps_its_variable():
    program = (
        "import penstock.compat.tf as tf\n"
        "parts = []\n"
        "for i in range(3):\n"
        "    parts.append(tf.data.Dataset.range(5).filter(lambda x: tf.equal(x, i)))\n"
    )
    names = {"__name__": "program"}
    exec(program, names)
    assert [numbers(part) for part in names["parts"]] == [[0], [1], [2]]


def test_function_that_counts_still_counts():
    calls = 0

    def count(x):
        nonlocal calls
        calls += 1
        return x

    assert numbers(tf.data.Dataset.range(3).map(count)) == [0, 1, 2]
    assert calls == 3


def test_py_function_sees_variables_as_they_are():
    step = 1
    dataset = tf.data.Dataset.range(2).map(
        lambda x: tf.py_function(lambda v: v * 0 + step, [x], tf.int64)
    )
    step = 7
    assert numbers(dataset) == [7, 7]


def test_function_of_a_module_is_itself():
    from penstock.compat.capture import captured

    assert captured(numbers) is numbers
    assert captured(np.add) is np.add


def test_captured_function_keeps_its_defaults():
    def scale(x, by=3, *, plus=1):
        return x * by + plus + LEVEL

    assert numbers(tf.data.Dataset.range(2).map(scale)) == [2, 5]


def test_assignment_with_an_operator_makes_another_tensor():
    def decrease(x):
        kept = x
        x -= 1
        x /= 2
        return x, kept

    rows = np.array([[1, 3], [5, 7]], np.uint8)
    found = tf.data.Dataset.from_tensor_slices(rows).map(decrease)
    assert [a.tolist() for a, _ in found.as_numpy_iterator()] == [[0, 1], [2, 3]]
    assert rows.tolist() == [[1, 3], [5, 7]]
    x = y = tf.constant([1, 2])
    y **= 2
    assert (x.numpy().tolist(), y.numpy().tolist()) == ([1, 2], [1, 4])


def test_rows_of_ragged_tensors():
    ragged = tf.ragged.constant([[1, 2], [], [3]])
    dataset = tf.data.Dataset.from_tensor_slices(ragged)
    assert numbers(dataset) == [[1, 2], [], [3]]
    assert dataset.element_spec == tf.RaggedTensorSpec([None], tf.int32)
    with pytest.raises(TypeError, match="`padded_batch` is only supported for datasets"):
        dataset.padded_batch(3)
    assert numbers(dataset.map(lambda row: row).padded_batch(3)) == [[[1, 2], [0, 0], [3, 0]]]


def test_rows_of_ragged_tensors_beside_others():
    tokens = tf.strings.split(["a b", "c"])
    dataset = tf.data.Dataset.from_tensor_slices(({"text": tokens}, [4, 5]))
    found = [(each["text"].tolist(), int(n)) for each, n in dataset.as_numpy_iterator()]
    assert found == [([b"a", b"b"], 4), ([b"c"], 5)]
    alone = [e["t"].tolist() for e in tf.data.Dataset.from_tensor_slices({"t": tokens})]
    assert alone == [[b"a", b"b"], [b"c"]]


def test_ragged_tensor_of_another_length():
    with pytest.raises(ValueError, match="has 3 rows"):
        tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[1], []]), [1, 2, 3]))


def test_matmul():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert tf.matmul(x, x).numpy().tolist() == [[7, 10], [15, 22]]
    assert tf.matmul(x, x, transpose_b=True).numpy().tolist() == [[5, 11], [11, 25]]
    assert tf.matmul(x, x, transpose_a=True).numpy().tolist() == [[10, 14], [14, 20]]


def test_readers_take_names_of_elements(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    names = tf.data.Dataset.from_tensor_slices([str(tmp_path / name) for name in "ab"])
    lines = names.interleave(tf.data.TextLineDataset, cycle_length=2)
    assert list(lines.as_numpy_iterator()) == [b"a1", b"b1", b"a2", b"b2"]
    assert list(ps.TextLineDataset(bytes(tmp_path / "a"))) == [b"a1", b"a2"]
    with pytest.raises(
        TypeError, match=r"TextLineDataset: each of filenames must be a str or a path, got 1"
    ):
        ps.TextLineDataset([1])
