"""tf.nest, tf.io.gfile, tf.train, tf.lookup, tf.random and function wrappers."""

import collections
import io

import numpy as np
import pytest

import penstock.compat.tf as tf

Point = collections.namedtuple("Point", "x y")


def test_nested_structures_are_flattened_and_packed():
    nested = {"b": (1, [2]), "a": Point(3, 4)}
    assert tf.nest.flatten(nested) == [3, 4, 1, 2]
    packed = tf.nest.pack_sequence_as(nested, "wxyz")
    assert packed == {"b": ("y", ["z"]), "a": Point("w", "x")}
    assert list(packed) == ["b", "a"]
    doubled = tf.nest.map_structure(lambda a, b: a + b, nested, nested)
    assert doubled == {"b": (2, [4]), "a": Point(6, 8)}
    assert tf.nest.flatten(tf.constant([1, 2]))[0].shape == (2,)


@pytest.mark.parametrize(
    ("a", "b"), [((1, 2), (1,)), ({"a": 1}, {"b": 1}), (1, (1,)), (((1,), 2), (1, 2))]
)
def test_structures_that_differ_are_refused(a, b):
    with pytest.raises(ValueError, match="nest"):
        tf.nest.assert_same_structure(a, b)
    with pytest.raises(ValueError, match="nest"):
        tf.nest.map_structure(lambda x, y: x, a, b)


def test_leaves_that_are_too_few_or_many_are_refused():
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="2 leaves were expected"):
            tf.nest.pack_sequence_as((0, 0), leaves)


def test_files_of_this_machine(tmp_path):
    folder = tf.io.gfile.join(str(tmp_path), "a", "b")
    tf.io.gfile.makedirs(folder)
    name = tf.io.gfile.join(folder, "x.txt")
    with tf.io.gfile.GFile(name, "w") as file:
        file.write("é")
    assert tf.io.gfile.GFile(name, "rb").read() == "é".encode()
    assert tf.io.gfile.exists(tf.constant(name))
    assert tf.io.gfile.isdir(folder)
    assert [files for _, _, files in tf.io.gfile.walk(folder)] == [["x.txt"]]
    assert tf.io.gfile.listdir(folder) == ["x.txt"]
    assert tf.io.gfile.glob([f"{folder}/*.txt", f"{folder}/none*"]) == [name]
    with pytest.raises(tf.errors.AlreadyExistsError, match="overwrite"):
        tf.io.gfile.copy(name, name)
    tf.io.gfile.copy(name, name + "2")
    tf.io.gfile.rename(name + "2", name, overwrite=True)
    assert tf.io.gfile.listdir(folder) == ["x.txt"]
    tf.io.gfile.remove(name)
    tf.io.gfile.rmtree(str(tmp_path / "a"))
    assert not tf.io.gfile.exists(folder)


def test_an_example_holds_lists_of_three_kinds():
    feature = {
        "bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", tf.constant("b")])),
        "floats": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5])),
        "ints": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, -(2**40)])),
        "none": tf.train.Feature(),
    }
    record = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    parsed = tf.io.parse_single_example(
        record,
        {
            "bytes": tf.io.FixedLenFeature([2], tf.string),
            "floats": tf.io.FixedLenFeature([], tf.float32),
            "ints": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
            "none": tf.io.VarLenFeature(tf.int64),
        },
    )
    assert parsed["bytes"].numpy().tolist() == [b"a", b"b"]
    assert parsed["floats"].numpy() == 1.5
    assert parsed["ints"].numpy().tolist() == [1, -(2**40)]
    assert parsed["none"].values.shape == (0,)


def test_tables_find_values_and_buckets():
    contents = tf.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20], tf.string, tf.int64)
    table = tf.lookup.StaticHashTable(contents, default_value=-1)
    found = table.lookup(tf.constant([["a", "z"]]))
    assert found.numpy().tolist() == [[10, -1]]
    assert found.dtype == tf.int64
    assert table.size() == 2
    assert table[tf.constant("b")] == 20
    vocabulary = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.range(2, dtype=tf.int64)), 3
    )
    ids = vocabulary.lookup(tf.constant(["b", "other", "x"])).numpy()
    assert ids[0] == 1
    assert set(ids[1:]) <= {2, 3, 4}


def test_random_numbers_follow_seeds():
    tf.random.set_seed(1)
    first = tf.random.uniform([3], maxval=5, dtype=tf.int32)
    tf.random.set_seed(1)
    np.testing.assert_array_equal(first, tf.random.uniform([3], maxval=5, dtype=tf.int32))
    assert first.dtype == tf.int32
    assert tf.random.normal([2, 2]).dtype == tf.float32
    a, b = (tf.random.Generator.from_seed(3) for _ in range(2))
    np.testing.assert_array_equal(a.normal([4]), b.normal([4]))
    assert a.uniform([2], 0, 9, tf.int64).dtype == tf.int64
    image = np.arange(75.0).reshape(5, 5, 3)
    crops = [tf.image.stateless_random_crop(image, (2, 2, 3), seed=(1, s)) for s in (2, 2)]
    np.testing.assert_array_equal(*crops)
    many = [
        float(tf.image.stateless_random_crop(image, (2, 2, 3), seed=(1, s))[0, 0, 0])
        for s in range(20)
    ]
    assert len(set(many)) > 3


def test_print_shows_values_as_numpy_has_them():
    stream = io.StringIO()
    tf.print("x:", tf.constant([1, 2]), tf.constant("é"), 3, output_stream=stream, sep="|")
    assert stream.getvalue() == 'x:|[1 2]|"é"|3\n'


def test_decorators_and_choices():
    @tf.function
    def plain(x):
        return x

    @tf.function(reduce_retracing=True)
    def with_arguments(x):
        return x

    assert plain(1) == with_arguments(1) == 1
    assert tf.cond(tf.constant(0) > 0, lambda: 1, lambda: 2) == 2
    with pytest.raises(ValueError, match="default"):
        tf.case([(False, lambda: 1)])
    assert tf.executing_eagerly()
    assert tf.is_tensor(tf.constant(1))
    assert not tf.is_tensor(1)


def test_checks_pass_where_they_hold():
    tf.debugging.assert_equal(tf.shape([[1, 2]]), [1, 2])
    tf.debugging.assert_less([1.0, 2.0], 3)
    tf.debugging.Assert(tf.constant([True]), ["data"])
    assert tf.debugging.check_numerics([1.0], "bad").numpy() == [1]


def test_means_of_small_integers_hold_their_sum():
    mean = tf.reduce_mean(np.full((4, 500), 200, np.uint8), axis=1)
    assert mean.dtype == np.uint8
    assert np.asarray(mean).tolist() == [200] * 4


def test_devices_and_names_are_contexts_without_meaning():
    with tf.device("/cpu:0"), tf.name_scope("input"):
        assert tf.add(1, 1) == 2


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            lambda: tf.debugging.assert_equal([1], 2, "said"),
            ValueError,
            "said\nCondition x == y did not hold",
        ),
        (lambda: tf.debugging.Assert(False, ["seen"]), ValueError, "seen"),
        (lambda: tf.debugging.check_numerics([float("nan")], "bad"), ValueError, "bad"),
        (lambda: tf.ensure_shape([1, 2], [3]), tf.errors.InvalidArgumentError, "ensure_shape"),
        (lambda: tf.split([1, 2, 3], 2), tf.errors.InvalidArgumentError, "split"),
        (lambda: tf.reshape([1, 2], [3]), tf.errors.InvalidArgumentError, "reshape"),
        (lambda: tf.io.read_file("/none"), tf.errors.NotFoundError, "none"),
        (
            lambda: tf.py_function(lambda: 1, [], [tf.int32, tf.int32]),
            ValueError,
            "2 results were expected",
        ),
        (lambda: tf.strings.to_number("x"), tf.errors.InvalidArgumentError, "to_number"),
    ],
)
def test_wrong_arguments_are_named(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()
