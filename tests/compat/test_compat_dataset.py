"""tf.data.Dataset: functions receive tensors, and results follow TensorFlow's rules."""

import collections
import pickle

import numpy as np
import pytest

import penstock as ps
import penstock.compat.tf as tf
from penstock.compat.tensor import Tensor

Point = collections.namedtuple("Point", "x y")


def values(ds):
    return list(ds.as_numpy_iterator())


def test_functions_get_tensors_and_so_does_the_loop():
    seen = []

    def look(x, name):
        seen.extend((x, name))
        return x, name

    ds = tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"])).map(look)
    for x, name in ds:
        assert type(x) is type(name) is Tensor
        assert (x.shape, name.shape) == ((), ())
        assert (x.dtype, name.dtype) == (tf.int32, tf.string)
    assert [type(each) for each in seen] == [Tensor] * 4
    assert values(ds) == [(1, b"a"), (2, b"b")]


@pytest.mark.parametrize(
    ("returned", "spec"),
    [
        (1, tf.TensorSpec([], tf.int32)),
        (2.5, tf.TensorSpec([], tf.float32)),
        (True, tf.TensorSpec([], tf.bool)),
        ("text", tf.TensorSpec([], tf.string)),
        (np.float64(1), tf.TensorSpec([], tf.float64)),
        (np.zeros((2, 1)), tf.TensorSpec([2, 1], tf.float64)),
        ([1, 2], (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32))),
        (([1, 2], "a"), (tf.TensorSpec([2], tf.int32), tf.TensorSpec([], tf.string))),
        ({"a": [1.5]}, {"a": tf.TensorSpec([1], tf.float32)}),
        (Point(1, ["a"]), Point(tf.TensorSpec([], tf.int32), tf.TensorSpec([1], tf.string))),
    ],
)
def test_what_a_function_returns_is_converted(returned, spec):
    ds = tf.data.Dataset.range(1).map(lambda _: returned)
    assert ds.element_spec == spec
    tf.nest.map_structure(lambda leaf, s: s.shape == leaf.shape, next(iter(ds)), spec)


def test_dicts_named_tuples_and_one_tuples_keep_their_kind():
    ds = tf.data.Dataset.from_tensors(Point({"a": 1}, (2,)))
    (point,) = ds.map(lambda p: Point(p.x["a"] + 1, p.y))
    assert type(point) is Point
    assert (point.x, point.y) == (2, (2,))
    assert values(tf.data.Dataset.from_tensors((1,)).map(lambda x: x)) == [1]


def test_element_spec_and_cardinality_are_tensorflows():
    ds = tf.data.Dataset.from_tensor_slices({"x": np.zeros((4, 3)), "s": list("abcd")}).batch(3)
    assert ds.element_spec["x"] == tf.TensorSpec([None, 3], tf.float64)
    assert repr(ds.element_spec["s"]) == "TensorSpec(shape=(None,), dtype=tf.string, name=None)"
    assert ds.cardinality().numpy() == len(ds) == 2
    assert tf.data.experimental.cardinality(ds) == 2
    assert ds.repeat().cardinality() == tf.data.INFINITE_CARDINALITY
    assert ds.filter(lambda e: True).cardinality() == tf.data.UNKNOWN_CARDINALITY


def test_every_public_method_of_penstock_is_there():
    names = {name for name in dir(ps.Dataset) if not name.startswith("_")}
    assert names <= set(dir(tf.data.Dataset))


def test_tensors_serve_as_arguments():
    n = tf.constant(2)
    assert values(tf.data.Dataset.range(tf.constant(5)).skip(n).take(n)) == [2, 3]
    assert [b.tolist() for b in values(tf.data.Dataset.range(4).batch(n))] == [[0, 1], [2, 3]]


def test_datasets_are_joined_and_nested():
    a, b = tf.data.Dataset.range(2), tf.data.Dataset.from_tensor_slices(["x", "y"])
    assert values(tf.data.Dataset.zip((a, b))) == [(0, b"x"), (1, b"y")]
    assert values(tf.data.Dataset.zip({"a": a, "b": (b, a)}))[1] == {"a": 1, "b": (b"y", 1)}
    assert values(tf.data.Dataset.zip(a, a).concatenate(tf.data.Dataset.zip(a, a)))[2] == (0, 0)
    nested = tf.data.Dataset.from_tensors(a)
    assert values(nested.flat_map(lambda ds: ds.map(lambda x: x + 1))) == [1, 2]
    assert values(a.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2))) == [0, 1, 0, 1]


def test_apply_takes_functions_of_datasets():
    def doubled(ds):
        assert isinstance(ds, tf.data.Dataset)
        return ds.map(lambda x: x * 2)

    assert values(tf.data.Dataset.range(3).apply(doubled)) == [0, 2, 4]
    batches = tf.data.Dataset.range(4).apply(tf.data.experimental.map_and_batch(lambda x: -x, 2))
    assert [b.tolist() for b in values(batches)] == [[0, -1], [-2, -3]]
    with pytest.raises(TypeError, match="apply"):
        tf.data.Dataset.range(3).apply(lambda ds: 3)


def test_a_subclass_that_is_a_function_works():
    class Squares(tf.data.Dataset):
        def __new__(cls, n=3):
            return tf.data.Dataset.range(n).map(lambda x: x * x)

    assert values(Squares().skip(1)) == [1, 4]


def test_a_second_argument_named_rng_is_a_part_of_the_element():
    ds = tf.data.Dataset.from_tensors((1, 2)).map(lambda x, rng: x + rng)
    assert values(ds) == [3]


@pytest.mark.parametrize("calls", [None, 1, 3, tf.data.AUTOTUNE])
def test_parallel_calls_change_nothing(calls):
    ds = tf.data.Dataset.range(50).map(lambda x: (x, tf.strings.as_string(x)), calls).batch(7)
    flat = [(int(x), s) for xs, ss in ds for x, s in zip(xs.numpy(), ss.numpy(), strict=True)]
    assert flat == [(i, str(i).encode()) for i in range(50)]


def test_native_functions_run_as_programs():
    @ps.native
    def half(x):
        assert type(x) is not Tensor
        return x / 2

    assert values(tf.data.Dataset.range(3).map(half)) == [0, 0.5, 1]


def test_a_dataset_is_pickled():
    ds = tf.data.Dataset.range(3).map(np.negative)
    assert values(pickle.loads(pickle.dumps(ds))) == [0, -1, -2]


def test_options_have_their_names():
    options = tf.data.Options()
    options.deterministic = options.experimental_deterministic = False
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.experimental_optimization.map_parallelization = True
    options.threading.private_threadpool_size = 2
    options.autotune.enabled = True
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.WARN
    ds = tf.data.Dataset.range(3).with_options(options)
    assert ds.map(lambda x: x).options().deterministic is False
    assert isinstance(options.threading, tf.data.ThreadingOptions)
    assert isinstance(options.autotune, tf.data.experimental.AutotuneOptions)


def test_looking_from_outside_gives_tensors():
    ds = tf.data.Dataset.range(5).map(lambda x: (x, "a"))
    element = tf.data.experimental.at(ds, tf.constant(3))
    assert [type(leaf) for leaf in element] == [Tensor, Tensor]
    assert element[0] == 3
    assert tf.data.experimental.get_structure(ds)[1] == tf.TensorSpec([], tf.string)
    optional = tf.data.experimental.get_next_as_optional(iter(ds))
    assert optional.get_value()[1].numpy() == b"a"
    made = tf.data.experimental.Optional.from_value(tf.constant(1))
    assert made.has_value()
    assert not tf.data.experimental.Optional.empty(made).has_value()


def test_debug_mode_is_switched_on():
    tf.data.experimental.enable_debug_mode()
    try:
        ds = tf.data.Dataset.range(3).map(lambda x: x + 1, num_parallel_calls=2).prefetch(2)
        assert values(ds) == [1, 2, 3]
    finally:
        tf.data.experimental.disable_debug_mode()


def test_iterators_have_the_methods_of_both():
    it = iter(tf.data.Dataset.range(4))
    assert it.get_next() == 0
    state = it.get_state()
    assert it.element_spec == tf.TensorSpec([], tf.int64)
    assert it.get_next_as_optional().get_value() == 1
    it.set_state(state)
    assert [int(x) for x in it] == [1, 2, 3]
    assert not it.get_next_as_optional().has_value()
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        it.get_next()
    with pytest.raises(tf.errors.InvalidArgumentError, match="has_value"):
        it.get_next_as_optional().get_value()


def test_a_checkpoint_saves_where_an_iterator_is(tmp_path):
    it = iter(tf.data.Dataset.range(20).shuffle(20, seed=1).batch(2))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(iterator=it), tmp_path, 2)
    next(it)
    paths = [manager.save() for _ in range(3)]
    assert manager.checkpoints == paths[1:]
    expected = [b.tolist() for b in it]
    tf.train.Checkpoint(iterator=it).restore(manager.latest_checkpoint)
    assert [b.tolist() for b in it] == expected
    with pytest.raises(ValueError, match="iterator"):
        tf.train.Checkpoint(iterator=3)


def test_a_generator_with_and_without_a_signature():
    def rows(n, name):
        assert (type(n), name) == (np.int32, b"x")
        for i in range(n):
            yield i, {"name": f"{i}", "half": i / 2}

    signature = (
        tf.TensorSpec([], tf.int64),
        {"name": tf.TensorSpec([], tf.string), "half": tf.TensorSpec([], tf.float32)},
    )
    ds = tf.data.Dataset.from_generator(rows, args=[2, "x"], output_signature=signature)
    assert values(ds) == [(0, {"name": b"0", "half": 0}), (1, {"name": b"1", "half": 0.5})]
    assert ds.element_spec == signature
    bare = tf.data.Dataset.from_generator(rows, args=[2, "x"])
    assert bare.element_spec[0] == tf.TensorSpec([], tf.int32)
    old = tf.data.Dataset.from_generator(
        lambda: iter([(1, [2.0])]),
        (tf.int64, tf.float32),
        (tf.TensorShape([]), tf.TensorShape([None])),
    )
    assert old.element_spec == (tf.TensorSpec([], tf.int64), tf.TensorSpec([None], tf.float32))


@pytest.mark.parametrize("wrap", [tf.py_function, tf.numpy_function])
def test_python_functions_give_the_types_asked_for(wrap):
    def look(x, name):
        got = (x.numpy(), name.numpy()) if wrap is tf.py_function else (x, name)
        assert got == (3, b"a")
        assert isinstance(x, Tensor) == (wrap is tf.py_function)
        return got[0] + 1, "b"

    def call(x):
        number, text = wrap(look, [x, "a"], [tf.float32, tf.string])
        number.set_shape([])
        return number, text

    ((number, text),) = tf.data.Dataset.from_tensors(3).map(call)
    assert (number.dtype, number, text.numpy()) == (tf.float32, 4, b"b")


def test_errors_are_tensorflows_and_pythons(tmp_path):
    def fail(x):
        if x == 1:
            raise ValueError("no ones")
        return x

    it = iter(tf.data.Dataset.range(3).map(fail))
    next(it)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no ones") as caught:
        next(it)
    assert isinstance(caught.value, ValueError)
    assert caught.value.message == "no ones"
    assert any("map" in note for note in caught.value.__notes__)
    assert next(it) == 2

    with pytest.raises(tf.errors.NotFoundError):
        next(iter(tf.data.TFRecordDataset(str(tmp_path / "none"))))
    (tmp_path / "bad").write_bytes(b"x" * 30)
    with pytest.raises(tf.errors.DataLossError) as caught:
        next(iter(tf.data.TFRecordDataset(str(tmp_path / "bad"))))
    assert caught.value.file == str(tmp_path / "bad")
    (tmp_path / "words.csv").write_text("no number\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"words\.csv"):
        next(iter(tf.data.experimental.CsvDataset(str(tmp_path / "words.csv"), [tf.int32])))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_jpeg(b"\xff\xd8\xffnothing")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.data.Dataset.range(3).batch(0)
    own = KeyError("own")

    def fail_with_own(x):
        raise own

    with pytest.raises(KeyError) as caught:
        next(iter(tf.data.Dataset.range(3).map(fail_with_own)))
    assert caught.value is own
    with pytest.raises(tf.errors.OutOfRangeError):
        raise tf.errors.OutOfRangeError(None, None, "by hand")


def test_files_are_listed_as_bytes(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(f"{name}\n")
    files = tf.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert [f.numpy() for f in files] == [str(tmp_path / n).encode() for n in ("a.txt", "b.txt")]
    (batch,) = files.batch(2)
    assert batch[0].numpy().endswith(b"a.txt")
    for open_ in (tf.data.TextLineDataset, lambda name: tf.data.TextLineDataset(name)):
        assert values(files.interleave(open_, cycle_length=2)) == [b"a.txt", b"b.txt"]
    assert values(tf.data.TextLineDataset(files)) == [b"a.txt", b"b.txt"]
    assert values(tf.data.TextLineDataset(batch)) == [b"a.txt", b"b.txt"]
    assert tf.io.read_file(next(iter(files))).numpy() == b"a.txt\n"


def test_sources_that_are_classes_are_classes(tmp_path):
    file = tmp_path / "lines"
    file.write_text("a\nb\n")

    class Lines(tf.data.TextLineDataset):
        def __init__(self, path):
            super().__init__([path], num_parallel_reads=1)
            self.path = path

    lines = Lines(str(file))
    assert isinstance(lines, tf.data.TextLineDataset)
    assert isinstance(lines, tf.data.Dataset)
    assert lines.path == str(file)
    assert [x.numpy() for x in lines] == [b"a", b"b"]
    assert not isinstance(lines.take(1), tf.data.TextLineDataset)
    assert [x.numpy() for x in tf.data.TextLineDataset.range(2)] == [0, 1]
    assert not isinstance(tf.data.Dataset.range(2), tf.data.TFRecordDataset)
    assert [x.numpy() for x in tf.data.Dataset.zip((lines, lines)).map(lambda a, b: a + b)] == [
        b"aa",
        b"bb",
    ]
    opened = tf.data.Dataset.from_tensors(str(file)).flat_map(Lines)
    assert [x.numpy() for x in opened] == [b"a", b"b"]
    for name in ("CsvDataset", "RandomDataset", "SqlDataset"):
        assert issubclass(getattr(tf.data.experimental, name), tf.data.Dataset)


def test_bytes_of_a_string_are_its_text():
    assert bytes(tf.constant("abc")) == b"abc"
    assert bytes(tf.constant([1, 2], tf.uint8)) == b"\1\2"
    with pytest.raises(TypeError, match="one string was expected"):
        bytes(tf.constant(["a", "b"]))
