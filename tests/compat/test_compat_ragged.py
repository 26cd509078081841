"""Ragged and sparse tensors: errors, specs, files and other behaviour without expressions."""

import pickle

import numpy as np
import pytest

import penstock.compat.tf as tf
import penstock.compat.v1 as v1

ROWS = tf.ragged.constant([[1, 2], [], [3]])
DEEP = tf.ragged.constant([[[1], [2, 3]], [[4]]])
SPARSE = tf.sparse.from_dense([[0, 5], [0, 0], [6, 7]])
Dataset = tf.data.Dataset


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: ROWS[:, 0], ValueError, "Cannot index into an inner ragged dimension"),
        (lambda: ROWS[5], IndexError, "Row key 5 out of bounds"),
        (lambda: ROWS[0, 0, 0], IndexError, "Too many indices"),
        (lambda: ROWS + tf.constant([[1, 2]] * 3), tf.errors.InvalidArgumentError, "broadcast"),
        (lambda: ROWS + tf.ragged.constant([[1], [], [3]]), ValueError, "broadcast"),
        (lambda: tf.RaggedTensor.from_row_splits([1, 2], [0, 1]), ValueError, "end at 1"),
        (lambda: tf.RaggedTensor.from_row_splits([1, 2], [1, 2]), ValueError, "rise from 0"),
        (lambda: tf.RaggedTensor.from_value_rowids([1, 2], [1, 0]), ValueError, "must not fall"),
        (lambda: tf.RaggedTensor.from_tensor([1, 2]), ValueError, "ragged_rank"),
        (lambda: tf.ragged.constant([[1], 2]), ValueError, "same nesting depth"),
        (lambda: tf.gather([1, 2], tf.ragged.constant([[5]])), ValueError, r"in \[0, 2\)"),
        (lambda: tf.concat([ROWS, ROWS[:1]], 1), ValueError, "incompatible shapes"),
        (lambda: tf.reduce_sum(ROWS, axis=2), ValueError, "axis=2 out of bounds"),
        (lambda: ROWS.with_values([1]), ValueError, "3 values were expected"),
        (lambda: tf.squeeze(ROWS), ValueError, "must have an axis"),
        (lambda: tf.squeeze(ROWS, 1), ValueError, "not squeezable"),
        (lambda: tf.convert_to_tensor(ROWS), ValueError, "a tensor was expected"),
        (lambda: tf.constant(ROWS, tf.float32), ValueError, "a tensor was expected"),
        (lambda: bool(ROWS), TypeError, "may not be used as a boolean"),
        (lambda: len(ROWS), TypeError, r"has no len\(\)"),
        (lambda: hash(ROWS), TypeError, "unhashable"),
        (lambda: tf.RaggedTensorSpec(dtype=tf.int32), ValueError, "Must specify ragged_rank"),
        (lambda: tf.shape(ROWS)[1], ValueError, "not uniform"),
        (lambda: tf.SparseTensor([[0]], [1, 2], [3]), ValueError, "indices of shape"),
        (lambda: tf.sparse.to_dense([1]), TypeError, "must be a SparseTensor"),
        (lambda: tf.sparse.add([1], [2]), TypeError, "should be SparseTensor"),
        (
            lambda: tf.sparse.to_dense(tf.SparseTensor([[1], [0]], [1, 2], [3])),
            tf.errors.InvalidArgumentError,
            "in order",
        ),
    ],
)
def test_what_makes_no_sense_is_an_error(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


@pytest.mark.parametrize(
    ("dataset", "spec"),
    [
        (Dataset.from_tensor_slices(ROWS), tf.RaggedTensorSpec([None], tf.int32)),
        (Dataset.from_tensor_slices(ROWS).batch(2), tf.RaggedTensorSpec([None, None], tf.int32)),
        (
            Dataset.from_tensor_slices(ROWS).batch(2, drop_remainder=True),
            tf.RaggedTensorSpec([2, None], tf.int32),
        ),
        (Dataset.from_tensor_slices(DEEP), tf.RaggedTensorSpec([None, None], tf.int32)),
        (Dataset.from_tensors(ROWS), tf.RaggedTensorSpec([3, None], tf.int32)),
        (Dataset.from_tensors(ROWS).unbatch(), tf.RaggedTensorSpec([None], tf.int32)),
        (
            Dataset.from_tensor_slices(ROWS).map(lambda row: row),
            tf.TensorSpec([None], tf.int32),
        ),
        (
            Dataset.from_tensors(["a b", "c"]).map(tf.strings.split),
            tf.RaggedTensorSpec([None, None], tf.string),
        ),
        (
            Dataset.from_generator(
                lambda: iter([np.ones((1, 2)), np.ones((3, 2))]),
                output_signature=tf.TensorSpec([None, 2], tf.float64),
            ).ragged_batch(2),
            tf.RaggedTensorSpec([None, None, 2], tf.float64, 1),
        ),
        (Dataset.from_tensor_slices(SPARSE), tf.SparseTensorSpec([2], tf.int32)),
        (Dataset.from_tensor_slices(SPARSE).batch(2), tf.SparseTensorSpec([None, 2], tf.int32)),
        (
            Dataset.from_generator(
                lambda: iter([ROWS]), output_signature=tf.RaggedTensorSpec([3, None], tf.int32)
            ),
            tf.RaggedTensorSpec([3, None], tf.int32),
        ),
        (
            Dataset.zip({"r": Dataset.from_tensors(ROWS), "n": Dataset.range(2)}),
            {"r": tf.RaggedTensorSpec([3, None], tf.int32), "n": tf.TensorSpec([], tf.int64)},
        ),
    ],
    ids=str,
)
def test_element_spec(dataset, spec):
    assert dataset.element_spec == spec


def test_element_spec_claims_no_size_that_a_later_element_contradicts():
    def made(n):
        return tf.RaggedTensor.from_row_splits(tf.ones([3, n]), [0, 1, 3])

    dataset = Dataset.range(1, 4).map(made)
    assert dataset.element_spec == tf.RaggedTensorSpec([None, None, None], tf.float32, 1)
    assert dataset.unbatch().element_spec == tf.RaggedTensorSpec([None, None], tf.float32, 0)


@pytest.mark.parametrize(
    "empty",
    [
        lambda ds: ds.take(0),
        lambda ds: ds.filter(lambda row: False),
        lambda ds: ds.skip(9).shuffle(3).repeat(2),
    ],
)
def test_element_spec_without_elements_is_that_of_the_input(empty):
    rows = Dataset.from_tensor_slices(DEEP)
    assert empty(rows).element_spec == rows.element_spec


def test_element_spec_that_cannot_be_known_is_said():
    none = Dataset.from_tensor_slices(tf.ragged.constant([], ragged_rank=1))
    assert list(none.batch(2)) == []
    with pytest.raises(ValueError, match="from the first element, and there is none"):
        none.element_spec


def test_element_spec_of_numbered_elements():
    rows = Dataset.from_tensor_slices(DEEP)
    assert rows.enumerate().element_spec == (tf.TensorSpec([], tf.int64), rows.element_spec)


def test_element_spec_of_optionals():
    rows = Dataset.from_tensor_slices(DEEP)
    it = iter(rows.take(1))
    assert it.get_next_as_optional().element_spec == rows.element_spec
    assert it.get_next_as_optional().element_spec == rows.element_spec
    optional = tf.data.experimental.Optional
    made = optional.from_value((ROWS, [1.5]))
    assert made.element_spec == (
        tf.RaggedTensorSpec([3, None], tf.int32),
        tf.TensorSpec([1], tf.float32),
    )
    assert optional.empty(tf.TensorSpec([], tf.int32)).element_spec == tf.TensorSpec([], tf.int32)


def as_lists(dataset):
    return [
        element.to_list() if isinstance(element, tf.RaggedTensor) else element.numpy().tolist()
        for element in dataset
    ]


@pytest.mark.parametrize("tensor", [ROWS, DEEP, SPARSE], ids=["ragged", "nested", "sparse"])
def test_files_hold_ragged_and_sparse_tensors(tensor, tmp_path):
    rows = Dataset.from_tensor_slices({"x": tensor}).map(lambda e: e)
    batches = Dataset.from_tensor_slices(tensor).batch(2)
    expected = as_lists(batches)
    assert as_lists(batches.cache(str(tmp_path / "batches"))) == expected
    assert as_lists(batches.cache(str(tmp_path / "batches"))) == expected
    assert as_lists(batches.snapshot(str(tmp_path / "snapshot"))) == expected
    batches.save(str(tmp_path / "saved"))
    assert as_lists(Dataset.load(str(tmp_path / "saved"))) == expected
    assert as_lists(Dataset.load(str(tmp_path / "saved")).unbatch().batch(2)) == expected
    assert len(list(rows.cache(str(tmp_path / "rows")))) == tensor.shape[0]
    unbatched = Dataset.from_tensor_slices(tensor).cache(str(tmp_path / "unbatched"))
    assert as_lists(unbatched.batch(2)) == expected
    assert as_lists(Dataset.from_tensor_slices(tensor).cache().batch(2)) == expected


def test_py_function_takes_them():
    dataset = Dataset.from_tensors(ROWS).map(
        lambda rows: tf.py_function(lambda x: x.row_lengths(), [rows], tf.int64)
    )
    assert [lengths.numpy().tolist() for lengths in dataset] == [[len(r) for r in ROWS.to_list()]]


def test_rows_are_shuffled_whole():
    shuffled = Dataset.from_tensor_slices((ROWS, [2, 0, 1])).shuffle(3, seed=1).repeat(2)
    found = [(row.numpy().tolist(), int(size)) for row, size in shuffled.prefetch(2)]
    assert sorted(found) == sorted([([1, 2], 2), ([], 0), ([3], 1)] * 2)


def test_an_iterator_goes_on_where_it_was():
    dataset = Dataset.from_tensor_slices(ROWS).shuffle(3, seed=1).batch(1)
    iterator = iter(dataset)
    next(iterator)
    state = iterator.get_state()
    rest = as_lists(iterator)
    again = iter(dataset)
    again.set_state(state)
    assert as_lists(again) == rest


def test_numpy_values_of_elements():
    first, _ = Dataset.from_tensor_slices(ROWS).batch(2).as_numpy_iterator()
    assert [row.tolist() for row in first] == [[1, 2], []]
    assert next(Dataset.from_tensors(SPARSE).as_numpy_iterator()).tolist() == [
        [0, 5],
        [0, 0],
        [6, 7],
    ]


def test_padded_batch_is_for_tensors():
    with pytest.raises(TypeError, match="`padded_batch` is only supported"):
        Dataset.from_tensors(SPARSE).padded_batch(1)


def test_a_generator_yields_what_it_declares():
    declared = {"output_signature": tf.RaggedTensorSpec([None, None], tf.int32)}
    with pytest.raises(TypeError, match="did not match the expected structure"):
        list(Dataset.from_generator(lambda: iter([DEEP]), **declared))
    rows = Dataset.from_generator(
        lambda: iter([[1, 2], []]), output_signature=tf.RaggedTensorSpec([None], tf.int32)
    )
    assert as_lists(rows.batch(2)) == [[[1, 2], []]]


def test_values_of_a_session():
    found = v1.Session().run({"r": ROWS, "s": SPARSE})
    assert found["r"].to_list() == [[1, 2], [], [3]]
    assert found["s"].indices.tolist() == [[0, 1], [2, 0], [2, 1]]
    assert type(found["s"]).__name__ == "SparseTensorValue"


@pytest.mark.parametrize("tensor", [ROWS, DEEP, SPARSE], ids=["ragged", "nested", "sparse"])
def test_they_are_pickled(tensor):
    again = pickle.loads(pickle.dumps(tensor))
    assert repr(again) == repr(tensor)
    assert tf.type_spec_from_value(again) == tf.type_spec_from_value(tensor)


def test_names_of_one_function_stay_one():
    assert tf.add is tf.math.add
    assert pickle.loads(pickle.dumps(tf.add)) is tf.add


def test_specs_are_compatible_with_what_fits():
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    assert spec.is_compatible_with(ROWS)
    assert not spec.is_compatible_with(DEEP)
    assert not spec.is_compatible_with(tf.cast(ROWS, tf.float32))
    assert tf.RaggedTensorSpec([None], tf.int32).is_compatible_with(tf.constant([1]))
    assert tf.SparseTensorSpec([None, 2], tf.int32).is_compatible_with(SPARSE)


def test_arrays_and_ragged_tensors_in_any_order():
    assert (np.array([[10], [20], [30]]) + ROWS).to_list() == [[11, 12], [], [33]]
    assert (tf.constant([[10], [20], [30]]) * ROWS).to_list() == [[10, 20], [], [90]]
    assert (ROWS == ROWS).to_list() == [[True, True], [], [True]]
