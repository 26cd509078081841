"""Leaves are NumPy arrays with TensorFlow's methods and types."""

import pickle

import numpy as np
import pytest

import penstock.compat.tf as tf
from penstock.compat.tensor import Tensor


def same(value, expected, dtype):
    assert isinstance(value, Tensor)
    assert value.dtype == dtype
    np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, tf.int32),
        (2**40, tf.int64),
        (1.5, tf.float32),
        (True, tf.bool),
        (1j, tf.complex128),
        ([1, 2], tf.int32),
        ([1, 2**40], tf.int64),
        ([[1.0], [2.0]], tf.float32),
        ([], tf.float32),
        (np.float64(1), tf.float64),
        ([np.float64(1), np.float64(2)], tf.float64),
        (np.arange(3), tf.int64),
        (range(3), tf.int32),
    ],
)
def test_numbers_have_the_types_of_tensorflow(value, dtype):
    same(tf.constant(value), value, dtype)


@pytest.mark.parametrize("value", ["é\0", "é\0".encode(), np.str_("é\0"), np.array("é\0", object)])
def test_a_string_is_bytes_with_all_its_zero_bytes(value):
    x = tf.constant(value)
    assert x.shape == ()
    assert x.dtype == tf.string
    assert x.numpy() == "é\0".encode()
    assert type(x.numpy()) is bytes


def test_arrays_of_strings_are_bytes_whatever_they_were():
    for value in (["a", b"b"], np.array(["a", "b"]), np.array(["a", b"b"], object)):
        x = tf.constant(value)
        assert x.tolist() == [b"a", b"b"]
        assert x[0].numpy() == b"a"
        assert [type(item.numpy()) for item in x] == [bytes, bytes]


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match="rows differ in length"):
        tf.constant([[1], [2, 3]])


def test_numpy_gives_plain_values():
    assert type(tf.constant([1]).numpy()) is np.ndarray
    assert type(tf.constant(1).numpy()) is np.int32
    assert type(tf.constant("a").numpy()) is bytes


def test_items_and_rows_are_tensors():
    x = tf.constant([[1, 2], [3, 4]])
    same(x[0], [1, 2], tf.int32)
    same(x[1, 0], 3, tf.int32)
    same(x[..., tf.newaxis, 1], [[2], [4]], tf.int32)
    assert [int(row[0]) for row in x] == [1, 3]
    with pytest.raises(TypeError):
        iter(tf.constant(1))


def test_ufuncs_and_functions_of_numpy_work():
    x = tf.constant([1.0, 4.0])
    same(np.sqrt(x), [1, 2], tf.float32)
    same(np.maximum(x, 2), [2, 4], tf.float32)
    assert type(np.concatenate([x, x])) is np.ndarray
    assert type(np.stack([x, x])) is np.ndarray
    assert np.mean(x) == 2.5
    assert x.sum() == 5
    same(x.astype(np.int8), [1, 4], tf.int8)
    assert np.asarray(tf.constant(3)).reshape(1).tolist() == [3]


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        (lambda: tf.constant([1.0]) + np.array([2.5]), tf.float32),
        (lambda: tf.constant([1.0]) * [0.5], tf.float32),
        (lambda: tf.constant([1.0]) * np.float64(2), tf.float32),
        (lambda: tf.constant([1], tf.int64) - [2], tf.int64),
        (lambda: tf.constant([1.0]) - np.array([2]), tf.float32),
        (lambda: tf.constant([1], tf.int64) + np.array([2], np.int32), tf.int64),
        (lambda: tf.constant([1], tf.uint8) / 2, tf.float32),
        (lambda: tf.constant(3) / 2, tf.float64),
        (lambda: 7 // tf.constant(2), tf.int32),
        (lambda: tf.constant([1.5]) > 1, tf.bool),
        (lambda: 255 - tf.constant([1], tf.uint8), tf.uint8),
    ],
)
def test_operators_give_the_types_of_tensorflow(compute, dtype):
    assert compute().dtype == dtype


def test_a_list_with_arrays_takes_their_type():
    assert tf.constant([tf.constant(1, tf.int64), 2]).dtype == tf.int64
    assert tf.stack([tf.constant(1.0), 2]).dtype == tf.float32
    assert tf.concat([tf.constant([1], tf.uint8), [2]], 0).dtype == tf.uint8


def test_strings_are_compared_with_text_and_put_together():
    names = np.array(["daisy", "rose"])
    part = tf.constant(b"rose")
    assert (part == names).tolist() == [False, True]
    assert (names == part).tolist() == [False, True]
    assert bool(part == "rose")
    assert not bool(part != b"rose")
    assert (part + "/x").numpy() == b"rose/x"
    assert ("x/" + part).numpy() == b"x/rose"
    assert tf.argmax(part == names) == 1


def test_scalars_serve_as_numbers():
    n = tf.constant(2)
    assert [10, 20, 30][n] == 30
    assert list(range(n)) == [0, 1]
    assert int(n) == float(n) == 2
    assert f"{n} {tf.constant(2.5):.2f} {tf.constant('a')}" == "2 2.50 b'a'"
    assert n > 1
    assert not n > 2


def test_a_tensor_prints_as_in_tensorflow():
    assert repr(tf.constant([1])) == (
        "<tf.Tensor: shape=(1,), dtype=int32, numpy=array([1], dtype=int32)>"
    )
    assert repr(tf.constant(0.1)) == "<tf.Tensor: shape=(), dtype=float32, numpy=0.1>"
    assert repr(tf.constant("a")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"
    assert str(tf.constant([1, 2])) == "tf.Tensor([1 2], shape=(2,), dtype=int32)"


def test_tensors_are_pickled():
    for value in ([1, 2], 3, "text", ["a"]):
        x = tf.constant(value)
        y = pickle.loads(pickle.dumps(x))
        assert type(y) is Tensor
        assert (x.dtype, x.shape, x.tolist()) == (y.dtype, y.shape, y.tolist())


def test_set_shape_checks():
    x = tf.zeros([2, 3])
    x.set_shape([None, 3])
    x.set_shape(None)
    x.set_shape(tf.TensorShape([2, 3]))
    for wrong in ([3, 2], [2], [], [2, 3, 1]):
        with pytest.raises(ValueError, match=r"set_shape: shape .* was expected, got \(2, 3\)"):
            x.set_shape(wrong)


def test_shapes_are_tuples_with_methods():
    shape = tf.zeros([4, 3, 2]).shape
    assert shape == (4, 3, 2) == tuple(shape)
    assert shape == [4, 3, 2]
    assert shape.as_list() == [4, 3, 2]
    assert (shape.rank, shape.ndims, shape.num_elements()) == (3, 3, 24)
    assert shape[:2].as_list() == [4, 3]
    assert np.zeros(24).reshape(shape[:1] + (-1,)).shape == (4, 6)  # noqa: RUF005
    assert tf.TensorShape(None).rank is None
    assert tf.TensorShape([None, 2]).is_compatible_with(tf.TensorShape(None))
    assert not tf.TensorShape([None, 2]).is_compatible_with([1, 3])
    assert tf.TensorShape([1]).concatenate([None]) == [1, None]
    with pytest.raises(ValueError, match="number of axes"):
        tf.TensorShape(None).as_list()


def test_types_compare_with_those_of_numpy():
    x = tf.constant([1], tf.int64)
    assert x.dtype == tf.int64
    assert tf.int64 == x.dtype
    assert x.dtype != tf.int32
    assert tf.float32 == np.float32 == tf.float32
    assert tf.as_dtype("string") == tf.string == tf.constant("a").dtype
    assert {tf.int64: "here"}[x.dtype] == "here"
    assert tf.uint8.max == 255
    assert tf.float32.is_floating
    assert not tf.string.is_integer
    assert np.zeros(1, tf.float16).dtype == np.float16
    assert pickle.loads(pickle.dumps(tf.string)) is tf.string
    with pytest.raises(TypeError, match="as_dtype"):
        tf.as_dtype("int3")
    with pytest.raises(TypeError, match="limits"):
        _ = tf.string.max


def test_specs_compare_and_print():
    spec = tf.TensorSpec([None, 2], tf.string)
    assert repr(spec) == "TensorSpec(shape=(None, 2), dtype=tf.string, name=None)"
    assert spec == tf.TensorSpec((None, 2), tf.string)
    assert spec != tf.TensorSpec((None, 2), tf.int32)
    assert spec.shape.as_list() == [None, 2]
    assert spec.is_compatible_with(tf.constant([["a", "b"]]))
    assert not spec.is_compatible_with(tf.zeros([1, 2]))


def test_the_type_of_a_tensor_is_tensorflow_s_and_serves_numpy():
    x, text = tf.constant([1.5, 2.5]), tf.constant(["a"])
    assert x.dtype is tf.float32
    assert x.dtype.is_floating
    assert x.dtype.as_numpy_dtype is np.float32
    assert text.dtype is tf.string
    assert (text.dtype.name, str(x.dtype)) == ("string", "<dtype: 'float32'>")
    assert tf.constant(1).dtype.max == 2**31 - 1
    assert np.zeros(2, x.dtype).dtype == np.float32
    assert np.asarray([1]).astype(x.dtype).dtype == np.float32
    assert (x.dtype.kind, x.dtype.itemsize) == ("f", 4)
    assert np.issubdtype(x.dtype, np.floating)
    assert np.finfo(x.dtype).max == np.finfo(np.float32).max
    assert type(x.numpy().dtype) is type(np.dtype(np.float32))
    np.testing.assert_array_equal(x, x)
    np.testing.assert_array_equal(text, text)


def test_tensors_are_saved_by_numpy(tmp_path):
    np.save(tmp_path / "x.npy", tf.constant([1.5, 2.5]))
    assert np.load(tmp_path / "x.npy").tolist() == [1.5, 2.5]
    assert np.load(tmp_path / "x.npy").dtype == np.float32


def test_tensors_share_no_memory_with_the_arrays_of_a_program():
    buffer = np.zeros(2, np.float32)
    made = [tf.constant(buffer), tf.convert_to_tensor(buffer), tf.identity(buffer)]
    slices = tf.data.Dataset.from_tensor_slices(buffer)
    whole = tf.data.Dataset.from_tensors({"a": buffer})
    buffer += 1
    assert all((each.numpy() == 0).all() for each in made)
    assert [float(x) for x in slices] == [0, 0]
    assert (next(iter(whole))["a"].numpy() == 0).all()
    own = made[0].numpy()
    own += 5
    assert (made[0].numpy() == 0).all()
    for rows in tf.data.Dataset.from_tensor_slices(np.ones((2, 2))).cache():
        rows.numpy()[0] = 7
        assert (rows.numpy() == 1).all()
    with pytest.raises(TypeError, match="item assignment"):
        made[0][0] = 1


def test_tables_are_matrices():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"age": [1, 2], "share": [0.5, 1.5]})
    assert tf.convert_to_tensor(table).dtype == tf.float64
    rows = list(tf.data.Dataset.from_tensor_slices((table, [1, 2])))
    assert rows[1][0].numpy().tolist() == [2, 1.5]
    assert set(next(iter(tf.data.Dataset.from_tensor_slices(dict(table))))) == {"age", "share"}


def test_files_of_several_patterns_come_as_tensorflow_has_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a1", "b2", "b1"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "c").touch()

    def listed(patterns):
        dataset = tf.data.Dataset.list_files(patterns, shuffle=False)
        return [each.decode() for each in dataset.as_numpy_iterator()]

    assert listed(["b*", "a*"]) == ["./a1", "./b1", "./b2"]
    assert listed("folder/*") == ["folder/c"]
    assert listed("*/c") == ["./folder/c"]
    assert listed("a1") == ["a1"]
    assert tf.io.gfile.glob(["b*", "a*"]) == ["./b1", "./b2", "./a1"]
    assert tf.io.matching_files(["b*", "a*"]).numpy().tolist() == [b"./a1", b"./b1", b"./b2"]
