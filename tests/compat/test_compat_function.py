"""tf.function: its results, and datasets that call decorated functions."""

import pickle

import numpy as np
import pytest

import penstock as ps
import penstock.compat.tf as tf


@tf.function
def doubled(x):
    return x * 2


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    @tf.function
    def scale(self, x):
        return x * self.factor

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def signed(self, x):
        return x * self.factor


def numbers(dataset):
    return [x.tolist() for x in dataset.as_numpy_iterator()]


def test_methods_are_bound():
    scaler = Scaler(3)
    assert scaler.scale(np.array([1])).numpy().tolist() == [3]
    assert scaler.signed(4) == 12
    with pytest.raises(TypeError, match="Cannot convert"):
        scaler.signed(4.5)
    assert numbers(tf.data.Dataset.range(3).map(scaler.scale)) == [0, 3, 6]


def test_a_dataset_calls_what_was_decorated():
    seen = []

    @tf.function(autograph=False)
    def kept(x):
        seen.append(type(x))
        return x

    assert numbers(tf.data.Dataset.range(2).map(kept)) == [0, 1]
    assert seen == [tf.Tensor] * 2
    assert numbers(tf.data.Dataset.range(3).filter(tf.function(lambda x: x > 0))) == [1, 2]
    assert "doubled" in repr(tf.data.Dataset.range(2).shuffle(2).map(doubled))


def test_shapes_are_found_through_it():
    calls = tf.data.Dataset.range(3).batch(2).map(lambda x: doubled(x) + 1)
    assert calls.element_spec.shape.as_list() == [None]
    assert numbers(calls.unbatch()) == [1, 3, 5]


@pytest.mark.parametrize("wrap", [lambda f: ps.native(f), lambda f: tf.function(ps.native(f))])
def test_it_may_be_native(wrap):
    assert numbers(tf.data.Dataset.range(3).map(wrap(doubled))) == [0, 2, 4]


def test_it_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    dataset = pickle.loads(pickle.dumps(tf.data.Dataset.range(3).map(doubled)._inner))
    assert [int(x) for x in dataset] == [0, 2, 4]
    bound = pickle.loads(pickle.dumps(Scaler(2).scale))
    assert bound(np.array(2)) == 4


def test_fingerprints_are_those_of_the_function():
    def of(function):
        return tf.data.Dataset.range(3).map(function)._inner.fingerprint()

    assert of(tf.function(lambda x: x + 1)) == of(tf.function(lambda x: x + 1))
    assert of(tf.function(lambda x: x + 1)) != of(tf.function(lambda x: x + 2))
    one, two = tf.function(lambda x: x + 1), tf.function(lambda x: x + 2)
    assert of(lambda x: one(x)) != of(lambda x: two(x))


def test_what_is_known_of_it():
    assert doubled.name == doubled.__name__ == "doubled"
    assert doubled.experimental_get_tracing_count() == 1
    assert doubled.get_concrete_function(tf.TensorSpec([]))(2) == 4
    assert "doubled(x)" in doubled.pretty_printed_signature()
    assert "doubled" in repr(doubled)
    assert Scaler.scale.name == "scale"


def test_datasets_are_shown_with_their_elements():
    dataset = tf.data.Dataset.range(3)
    assert repr(dataset) == (
        "<_RangeDataset element_spec=TensorSpec(shape=(), dtype=tf.int64, name=None)>"
    )
    batches = dataset.map(lambda x: tf.cast(x, tf.float32)).batch(2)
    assert "BatchDataset element_spec=TensorSpec(shape=(None,), dtype=tf.float32" in repr(batches)
    calls = []
    counted = dataset.map(lambda x: (calls.append(1), x)[1])
    assert "_MapDataset range(" in repr(counted)
    assert calls == []
    assert "element_spec" in repr(tf.data.TFRecordDataset("missing"))
    assert "_MapDataset" in repr(dataset.shuffle(2).map(doubled))


def test_a_length_that_is_unknown_is_said_how_to_tell():
    with pytest.raises(TypeError, match=r"tf\.data\.experimental\.assert_cardinality"):
        len(tf.data.Dataset.range(3).filter(lambda x: x > 1))


def test_checks_say_what_tensorflow_does():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.debugging.assert_equal(1, 2)
    assert str(caught.value) == (
        "Condition x == y did not hold.\nFirst 1 elements of x:\n[1]\nFirst 1 elements of y:\n[2]"
    )
    with pytest.raises(ValueError, match=r"^Tensor must have rank 2"):
        tf.debugging.assert_rank([1], 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x > 0 did not hold .*\n.*\n-2"):
        tf.debugging.assert_positive(-2)
    with pytest.raises(IndexError):
        tf.constant([1])[3]
    with pytest.raises(FileNotFoundError):
        tf.data.Dataset.list_files("/nothing*")
    with pytest.raises(ValueError, match="rows differ in length"):
        tf.constant([[1], [1, 2]])
