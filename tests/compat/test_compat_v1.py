"""Programs in the style of the TensorFlow 1 guide to importing data: sessions and old names."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock.compat.tf as tf2
import penstock.compat.v1 as tf


def test_a_one_shot_iterator_ends_with_an_error():
    dataset = tf.data.Dataset.range(3)
    iterator = dataset.make_one_shot_iterator()
    next_element = iterator.get_next()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(3):
            value = sess.run(next_element)
            assert value == i
            assert type(value) is np.int64
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                sess.run(next_element)


def test_an_initializable_iterator_is_fed():
    max_value = tf.placeholder(tf.int64, shape=[])
    dataset = tf.data.Dataset.range(max_value)
    iterator = dataset.make_initializable_iterator()
    next_element = iterator.get_next()
    result = tf.add(next_element, next_element)
    sess = tf.Session()
    for stop in (2, 3):
        sess.run(iterator.initializer, feed_dict={max_value: stop})
        assert [sess.run(result) for _ in range(stop)] == [2 * i for i in range(stop)]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(result)
    with pytest.raises(ValueError, match="feed_dict"):
        sess.run(iterator.initializer)


def test_arrays_are_fed_to_a_pair_of_placeholders():
    features = np.arange(6.0).reshape(3, 2)
    labels = np.arange(3)
    features_placeholder = tf.placeholder(features.dtype, features.shape)
    labels_placeholder = tf.placeholder(labels.dtype, labels.shape)
    dataset = tf.data.Dataset.from_tensor_slices((features_placeholder, labels_placeholder))
    dataset = dataset.map(lambda x, y: {"x": x, "y": y}).repeat(2).batch(4)
    iterator = dataset.make_initializable_iterator()
    batch = iterator.get_next()
    sess = tf.Session()
    feeds = {features_placeholder: features, labels_placeholder: labels}
    sess.run(iterator.initializer, feed_dict=feeds)
    first = sess.run(batch)
    assert first["y"].tolist() == [0, 1, 2, 0]
    assert first["x"].shape == (4, 2)


def test_an_iterator_without_its_initializer_is_an_error():
    next_element = tf.data.Dataset.range(2).make_initializable_iterator().get_next()
    with pytest.raises(tf.errors.FailedPreconditionError, match="initializer"):
        tf.Session().run(next_element)


def test_parts_of_one_element_come_from_one_step():
    dataset = tf.data.Dataset.from_tensor_slices((np.arange(4), ["a", "b", "c", "d"]))
    number, text = dataset.make_one_shot_iterator().get_next()
    sess = tf.Session()
    assert sess.run([number, text, number + 10]) == [0, b"a", 10]
    assert sess.run({"t": text, "more": (number * 2,)}) == {"t": b"b", "more": (2,)}
    assert sess.run(1 - number) == -1
    assert text.eval() == b"d"


def test_one_iterator_for_training_and_validation():
    training = tf.data.Dataset.range(100, 102).map(lambda x: x + 1)
    validation = tf.data.Dataset.range(2)
    iterator = tf.data.Iterator.from_structure(training.output_types, training.output_shapes)
    next_element = iterator.get_next()
    training_init = iterator.make_initializer(training)
    validation_init = iterator.make_initializer(validation)
    sess = tf.Session()
    for _ in range(2):
        sess.run(training_init)
        assert [sess.run(next_element) for _ in range(2)] == [101, 102]
        sess.run(validation_init)
        assert [sess.run(next_element) for _ in range(2)] == [0, 1]


def test_an_iterator_is_chosen_by_its_handle():
    training = tf.data.Dataset.range(3).repeat()
    validation = tf.data.Dataset.range(50, 52)
    handle = tf.placeholder(tf.string, shape=[])
    iterator = tf.data.Iterator.from_string_handle(
        handle, training.output_types, training.output_shapes
    )
    next_element = iterator.get_next()
    training_iterator = training.make_one_shot_iterator()
    validation_iterator = validation.make_initializable_iterator()
    sess = tf.Session()
    training_handle = sess.run(training_iterator.string_handle())
    validation_handle = sess.run(validation_iterator.string_handle())
    seen = []
    for _ in range(2):
        seen += [sess.run(next_element, {handle: training_handle}) for _ in range(2)]
        sess.run(validation_iterator.initializer)
        seen += [sess.run(next_element, {handle: validation_handle}) for _ in range(2)]
    assert seen == [0, 1, 50, 51, 2, 0, 50, 51]


def test_a_monitored_session_stops_at_the_end():
    next_element = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    seen = []
    with tf.train.MonitoredTrainingSession() as sess:
        while not sess.should_stop():
            seen.append(sess.run(next_element))
    assert seen == [0, 1, 2]


def test_types_and_shapes():
    pair = tf.data.Dataset.from_tensor_slices((np.zeros((4, 10), np.float32), ["x"] * 4))
    nested = tf.data.Dataset.zip((pair, pair.batch(3)))
    assert nested.output_types == ((tf.float32, tf.string), (tf.float32, tf.string))
    assert nested.output_shapes == (((10,), ()), ((None, 10), (None,)))
    assert tf.data.get_output_types(pair) == (tf.float32, tf.string)
    assert tf.data.get_output_shapes(pair)[0].as_list() == [10]


def test_contrib_transformations():
    files = tf.data.Dataset.range(4)
    dataset = files.apply(
        tf.contrib.data.parallel_interleave(
            lambda n: tf.data.Dataset.from_tensors(n).repeat(2), cycle_length=2, sloppy=True
        )
    )
    dataset = dataset.apply(tf.contrib.data.shuffle_and_repeat(8, 2))
    dataset = dataset.apply(
        tf.contrib.data.map_and_batch(
            map_func=lambda x: (x, tf.to_float(x)), batch_size=4, num_parallel_batches=2
        )
    )
    dataset = dataset.apply(tf.contrib.data.unbatch())
    dataset = dataset.apply(tf.contrib.data.batch_and_drop_remainder(4))
    numbers, floats = dataset.prefetch(buffer_size=1).make_one_shot_iterator().get_next()
    sess = tf.Session()
    batches = [sess.run([numbers, floats]) for _ in range(4)]
    assert sorted(np.concatenate([n for n, _ in batches])) == sorted([*range(4)] * 4)
    assert batches[0][1].dtype == np.float32


def test_images_with_the_old_names(tmp_path):
    names, labels = [], []
    for i in range(4):
        names.append(str(tmp_path / f"{i}.jpg"))
        pixels = np.full((20, 30, 3), 60 * i, np.uint8)
        with tf.gfile.GFile(names[-1], "wb") as file:
            file.write(tf.image.encode_jpeg(pixels).numpy())
        labels.append(i)

    def _parse_function(filename, label):
        image_string = tf.read_file(filename)
        image_decoded = tf.image.decode_jpeg(image_string, channels=3)
        image = tf.image.convert_image_dtype(image_decoded, tf.float32)
        return tf.image.resize_images(image, [28, 28]), label

    dataset = tf.data.Dataset.from_tensor_slices((tf.constant(names), tf.constant(labels)))
    dataset = dataset.shuffle(len(names)).map(_parse_function, num_parallel_calls=2).batch(4)
    images, numbers = tf.Session().run(dataset.make_one_shot_iterator().get_next())
    assert images.shape == (4, 28, 28, 3)
    np.testing.assert_allclose(images[:, 0, 0, 0], numbers * 60 / 255, atol=0.02)
    assert tf.image.resize_images(images, [3, 3], align_corners=True).shape == (4, 3, 3, 3)
    nearest = tf.image.resize_images(
        np.zeros((4, 4, 3), np.uint8), [2, 2], tf.image.ResizeMethod.NEAREST_NEIGHBOR
    )
    assert nearest.dtype == tf.uint8


def test_records_with_the_old_names(tmp_path):
    filename = str(tmp_path / "train.tfrecords")
    pixels = np.arange(12, dtype=np.uint8)
    with tf.python_io.TFRecordWriter(filename) as writer:
        for label in range(3):
            feature = {
                "image_raw": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[(pixels + label).tobytes()])
                ),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())

    def parser(record):
        keys_to_features = {
            "image_raw": tf.FixedLenFeature((), tf.string, default_value=""),
            "label": tf.FixedLengthFeature((), tf.int64, default_value=tf.zeros([], tf.int64)),
        }
        parsed = tf.parse_single_example(record, keys_to_features)
        image = tf.decode_raw(parsed["image_raw"], tf.uint8)
        image = tf.cast(tf.reshape(image, [2, 6]), tf.float32) * (1.0 / 255) - 0.5
        return {"image": image}, tf.cast(parsed["label"], tf.int32)

    filenames = tf.placeholder(tf.string, shape=[None])
    dataset = tf.data.TFRecordDataset(filenames).map(parser).batch(3)
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    sess = tf.Session()
    sess.run(iterator.initializer, feed_dict={filenames: [filename]})
    features, labels = sess.run(element)
    assert labels.tolist() == [0, 1, 2]
    assert labels.dtype == np.int32
    np.testing.assert_allclose(features["image"][2].ravel(), (pixels + 2) / 255 - 0.5, atol=1e-6)


def test_text_with_the_old_names(tmp_path):
    (tmp_path / "a.txt").write_text("# comment\nthe cat\n")
    (tmp_path / "b.txt").write_text("# comment\nsat  down\n")
    files = tf.data.Dataset.from_tensor_slices([str(tmp_path / n) for n in ("a.txt", "b.txt")])
    lines = files.flat_map(
        lambda filename: (
            tf.data.TextLineDataset(filename)
            .skip(1)
            .filter(lambda line: tf.not_equal(tf.substr(line, 0, 1), "#"))
        )
    )
    words = lines.map(lambda line: tf.string_split([line]).values)
    next_words = words.make_one_shot_iterator().get_next()
    sess = tf.Session()
    assert sess.run(next_words).tolist() == [b"the", b"cat"]
    assert sess.run(next_words).tolist() == [b"sat", b"down"]
    parsed = tf.string_to_number(tf.string_split(["1,2"], ",").values, tf.int32)
    assert parsed.numpy().tolist() == [1, 2]
    label, text = tf.decode_csv("3,x", record_defaults=[[0], [""]])
    assert (label.numpy(), text.numpy()) == (3, b"x")


def test_a_python_function_with_the_old_name():
    def _read_py_function(filename, label):
        assert type(filename) is bytes
        return np.full((2, 2), len(filename), np.uint8), label

    dataset = tf.data.Dataset.from_tensor_slices((["ab", "cde"], [0, 1])).map(
        lambda filename, label: tuple(
            tf.py_func(_read_py_function, [filename, label], [tf.uint8, label.dtype])
        )
    )
    image, label = dataset.make_one_shot_iterator().get_next()
    pixels, number = tf.Session().run((image, label))
    assert (pixels.max(), number, number.dtype) == (2, 0, np.int32)


def test_datasets_can_be_iterated_without_a_session():
    tf.enable_eager_execution()
    assert [x.numpy() for x in tf.data.Dataset.range(2)] == [0, 1]
    it = tf2.compat.v1.data.make_one_shot_iterator(tf2.data.Dataset.range(2))
    assert it.get_next().numpy() == 0
    assert tf2.compat.as_str(tf2.compat.as_bytes("é")) == "é"


def test_what_a_session_computes_is_not_known_before():
    value = tf.placeholder(tf.int32)
    with pytest.raises(TypeError, match="iterated"):
        list(value)
    with pytest.raises(TypeError, match="True nor False"):
        bool(value)
    assert tf.Session().run((-value, abs(value), value < 3), {value: -2}) == (2, 2, True)


def test_functions_of_images_wait_for_a_session():
    images = tf.placeholder(tf.float32, [1, 2, 2, 1])
    larger = tf.image.resize_bilinear(images, [4, 4])
    mean = tf.nn.avg_pool(larger, [1, 4, 4, 1], [1, 4, 4, 1], "VALID")
    found = tf.Session().run(mean, {images: np.full((1, 2, 2, 1), 3.0, np.float32)})
    np.testing.assert_allclose(found, np.full((1, 1, 1, 1), 3.0))


def test_an_element_that_cannot_be_known_before_is_unpacked(tmp_path):
    path = str(tmp_path / "lines.txt")
    tf.gfile.GFile(path, "w").write("a,1\n")
    filename = tf.placeholder(tf.string, shape=[])
    lines = tf.data.TextLineDataset(filename).map(lambda line: ((line, tf.size(line)), {"n": 7}))
    iterator = lines.make_initializable_iterator()
    (text, size), rest = iterator.get_next()
    sess = tf.Session()
    sess.run(iterator.initializer, {filename: path})
    assert sess.run([text, size, rest["n"]]) == [b"a,1", 1, 7]
    _, second, _ = iterator.get_next()
    sess.run(iterator.initializer, {filename: path})
    with pytest.raises(ValueError, match="3 values to unpack were expected, got 2"):
        sess.run(second)
    with pytest.raises(TypeError, match="iterated") as caught:
        list(iterator.get_next())
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_the_size_of_batches_is_fed():
    size = tf.placeholder(tf.int64, [])
    iterator = tf.data.Dataset.range(3).batch(size).make_initializable_iterator()
    assert iterator.output_types == tf.int64
    sess = tf.Session()
    sess.run(iterator.initializer, {size: 3})
    assert sess.run(iterator.get_next()).tolist() == [0, 1, 2]


def test_placeholders_have_types_and_shapes():
    x = tf.placeholder(tf.float32, [None, 2])
    assert (x.name, x.dtype, x.get_shape().as_list()) == ("Placeholder:0", tf.float32, [None, 2])
    assert tf.placeholder(tf.int32, name="n").name == "n:0"
    sess = tf.Session()
    assert sess.run(x, {x: np.zeros([1, 2])}).dtype == np.float32
    for wrong in ([1, 2], [[1, 2, 3]]):
        with pytest.raises(ValueError, match=r"Cannot feed value of shape .* for Tensor Placeh"):
            sess.run(x, {x: wrong})
    ids = tf.placeholder(tf.int64)
    assert sess.run(ids, {ids: [1, 2]}).dtype == np.int64
    assert sess.run(tf.placeholder_with_default([1], [None])).tolist() == [1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
        sess.run(ids)
    assert sess.graph is tf.get_default_graph()


def test_elements_have_types_and_shapes_before_a_session_runs():
    rows = {"x": np.zeros([5, 3], np.float32), "text": ["a"] * 5}
    dataset = tf.data.Dataset.from_tensor_slices(rows).batch(2)
    element = dataset.make_one_shot_iterator().get_next()
    x = element["x"]
    assert x.get_shape().as_list() == x.shape.as_list() == [None, 3]
    assert int(x.shape[1]) == 3
    assert (x.dtype, element["text"].dtype) == (tf.float32, tf.string)
    assert isinstance(x, tf.Tensor)
    assert tf.is_tensor(x)
    assert (x * 2).shape.as_list() == [None, 3]
    assert tf.cast(x, tf.int32).dtype == tf.int32
    assert tf.reshape(x, [-1]).shape.as_list() == [None]
    assert dataset.output_classes == {"x": tf.Tensor, "text": tf.Tensor}


def test_datasets_over_placeholders_have_types_and_shapes():
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64)
    dataset = tf.data.Dataset.from_tensor_slices(x).batch(3)
    assert (dataset.output_types, dataset.output_classes) == (tf.float32, tf.Tensor)
    assert dataset.output_shapes.as_list() == [None, 2]
    assert dataset.map(lambda rows: rows[0]).output_shapes.as_list() == [2]
    pairs = tf.data.Dataset.from_tensor_slices((x, y))
    assert pairs.output_types == (tf.float32, tf.int64)
    assert pairs.output_shapes[0].as_list() == [2]
    iterator = tf.data.Iterator.from_structure(tf.float32, [None, 2])
    assert iterator.get_next().shape.as_list() == [None, 2]
    assert (iterator.output_types, iterator.output_classes) == (tf.float32, tf.Tensor)


def test_cond_waits_for_a_session():
    n = tf.data.Dataset.range(6).make_one_shot_iterator().get_next()
    chosen = tf.cond(n > 3, lambda: n * 10, lambda: n)
    sess = tf.Session()
    assert [int(sess.run(chosen)) for _ in range(6)] == [0, 1, 2, 3, 40, 50]
    with sess.as_default():
        assert tf.constant(3).eval() == 3


@pytest.mark.parametrize("kind", [tf.train.MonitoredSession, tf.train.SingularMonitoredSession])
def test_monitored_sessions_end_with_the_data(kind):
    n = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
    seen = []
    with kind() as sess:
        while not sess.should_stop():
            seen.append(int(sess.run(n)))
    assert seen == [0, 1]


def test_a_coordinator_stops_threads():
    coordinator = tf.train.Coordinator()
    seen = []

    def work():
        with coordinator.stop_on_exception():
            seen.append(1)
            raise KeyError("missing")

    threads = [threading.Thread(target=work)]
    assert tf.train.start_queue_runners(coord=coordinator) == []
    assert not coordinator.should_stop()
    threads[0].start()
    with pytest.raises(KeyError, match="missing"):
        coordinator.join(threads)
    assert seen == [1]
    assert coordinator.should_stop()
    assert coordinator.joined
    coordinator.clear_stop()
    coordinator.request_stop(tf.errors.OutOfRangeError(None, None, "end"))
    coordinator.join()
    assert coordinator.wait_for_stop(0)


def test_arguments_by_position_are_those_of_tensorflow_1():
    pairs, picked = [[1, 2], [3, 4]], [True, False]
    assert tf.boolean_mask(pairs, picked, "name", 1).numpy().tolist() == [[1], [3]]
    row = tf.decode_csv(["1,x"], [[0], [5]], ",", True, "name", "x", None)
    assert [column.numpy().tolist() for column in row] == [[1], [5]]
    assert tf.transpose(pairs, None, "name", False).numpy().tolist() == [[1, 3], [2, 4]]
    assert tf.pad([1], [[1, 0]], "CONSTANT", "name", 7).numpy().tolist() == [7, 1]
    assert tf.nn.in_top_k([[0.1, 0.9]], [1], 1).numpy().tolist() == [True]
    assert tf.shape(pairs, "name", tf.int64).dtype == tf.int64
    blocks = tf.space_to_batch(np.zeros((1, 4, 4, 1)), [[0, 0], [0, 0]], 2)
    assert blocks.shape.as_list() == [4, 2, 2, 1]
    assert tf.batch_to_space(blocks, [[0, 0], [0, 0]], 2).shape.as_list() == [1, 4, 4, 1]
    tf.assert_equal(1, 1, ["data"], 3, "message", "name")


def test_arguments_with_older_names():
    pairs = [[1, 2], [3, 4]]
    assert tf.reduce_sum(pairs, reduction_indices=1, keep_dims=True).numpy().tolist() == [[3], [7]]
    assert tf.argmax(pairs, dimension=1, output_type=tf.int32).numpy().tolist() == [1, 1]
    assert tf.zeros_like(tensor=pairs, optimize=False).numpy().tolist() == [[0, 0], [0, 0]]
    assert tf.expand_dims([1], dim=0).shape.as_list() == [1, 1]
    ones = np.ones((1, 2, 2, 1))
    assert tf.nn.max_pool(value=ones, ksize=2, strides=2, padding="VALID").numpy().size == 1
    assert tf.gfile.Exists(filename="no such file") is False
    with pytest.raises(TypeError, match="several values for argument 'reduction_indices'"):
        tf.reduce_sum(pairs, 1, reduction_indices=1)
    with pytest.raises(TypeError, match="expected at most 4 positional arguments, got 5"):
        tf.boolean_mask(pairs, [True, False], "name", 0, 5)


def test_scopes_take_all_arguments_and_have_no_effect():
    with tf.name_scope(None, "s", [1]) as scope:
        assert scope == "s/"
    with tf.variable_scope("s", reuse=True) as scope:
        assert (scope.name, scope.reuse) == ("s", True)
    with tf.variable_scope(scope, "default", [1]) as again:
        again.reuse_variables()
    assert (again.name, again.reuse) == ("s", True)


def test_one_result_is_returned_without_its_list():
    def count(**more):
        return tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], **more)

    assert count().numpy() == 3
    assert [value.numpy() for value in count(return_same_structure=True)] == [3]
    pair = tf.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j), (tf.constant(0), 5))
    assert [int(value) for value in pair] == [3, 5]
    assert tf.cond(True, lambda: [tf.constant(1)], lambda: [tf.constant(2)]).numpy() == 1
    assert len(tf.cond(True, lambda: [tf.constant(1)], lambda: [1], strict=True)) == 1


def test_strings_are_split_into_the_kind_that_is_asked_for():
    assert tf.strings.split(["a b", "c"]).dense_shape.numpy().tolist() == [2, 2]
    assert tf.strings.split("a b", result_type="RaggedTensor").to_list() == [[b"a", b"b"]]
    assert tf.string_split(["a b"], result_type="RaggedTensor").to_list() == [[b"a", b"b"]]
    with pytest.raises(ValueError, match="result_type must be"):
        tf.strings.split(["a"], result_type="list")


def test_names_that_tensorflow_1_had_at_the_top():
    assert int(tf.floormod(5, 3)) == 2
    assert tf.fft(np.ones(2, np.complex64)).numpy().tolist() == [2, 0]
    assert issubclass(tf.errors.OutOfRangeError, tf.OpError)


def test_dir_lists_what_is_reachable():
    shown = dir(tf)
    assert len(shown) == len(set(shown))
    assert {name for name in shown if not hasattr(tf, name)} == set()
    signatures = json.loads((Path(__file__).parent / "signatures_v1.json").read_text())
    reachable = {name for name in (*signatures, "DType", "VERSION") if hasattr(tf, name)}
    assert {name for name in reachable if "." not in name} <= set(shown)
