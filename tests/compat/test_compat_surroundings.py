"""tf.config, tf.distribute, tf.io.gfile, logging and messages: everything around pipelines."""

import importlib.machinery
import importlib.util
import logging
import pickle
import sys
import types

import pytest

import penstock as ps
import penstock.compat.tf as tf
import penstock.compat.v1 as v1
from penstock.compat.tf.config import settings


@pytest.fixture
def log(caplog):
    logger = tf.get_logger()
    before = logger.propagate, logger.level
    logger.propagate = True
    yield caplog
    logger.propagate, logger.level = before


def test_settings_are_remembered_and_said_once_to_have_no_effect(log, monkeypatch):
    monkeypatch.setattr(settings, "_said", set())
    monkeypatch.setattr(settings, "_values", {})
    tf.config.set_visible_devices([], "GPU")
    tf.config.run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly() is True
    assert log.messages == []
    tf.config.threading.set_inter_op_parallelism_threads(4)
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.optimizer.set_jit(True)
    tf.config.experimental.set_memory_growth(tf.config.list_physical_devices()[0], True)
    assert tf.config.threading.get_inter_op_parallelism_threads() == 4
    assert tf.config.optimizer.get_jit() is True
    (said,) = log.messages
    assert "set_inter_op_parallelism_threads has no effect" in said
    with pytest.raises(ValueError, match="device"):
        tf.config.set_visible_devices(["GPU:0"])


def test_what_is_set_has_the_name_that_it_has_in_tensorflow(monkeypatch):
    monkeypatch.setattr(settings, "_values", {})
    tf.config.threading.set_intra_op_parallelism_threads(num_threads=3)
    tf.config.run_functions_eagerly(run_eagerly=True)
    tf.config.set_soft_device_placement(enabled=False)
    assert tf.config.threading.get_intra_op_parallelism_threads() == 3
    assert tf.config.functions_run_eagerly() is True
    assert tf.config.get_soft_device_placement() is False
    with pytest.raises(TypeError, match="enabled"):
        tf.config.set_soft_device_placement()
    with tf.name_scope(name="input"), tf.control_dependencies(control_inputs=[]):
        assert tf.get_current_name_scope() == ""


def test_a_strategy_has_one_replica():
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    dataset = tf.data.Dataset.range(4).batch(2)
    with strategy.scope() as inside:
        assert tf.distribute.get_strategy() is inside is strategy
        assert tf.distribute.has_strategy()
        assert strategy.experimental_distribute_dataset(dataset) is dataset
    assert not tf.distribute.has_strategy()
    made = strategy.distribute_datasets_from_function(
        lambda context: dataset.shard(context.num_input_pipelines, context.input_pipeline_id)
    )
    assert len(list(made)) == 2
    assert strategy.run(lambda x, y: x + y, args=(1,), kwargs={"y": 2}) == 3
    context = tf.distribute.get_replica_context()
    assert context.replica_id_in_sync_group == 0


def test_a_file_is_opened_when_it_is_used(tmp_path):
    name = str(tmp_path / "notes.txt")
    file = tf.io.gfile.GFile(name, "w")
    assert not tf.io.gfile.exists(name)
    file.write("hello\nwörld\n")
    assert file.size() == 13
    file.close()
    file = tf.io.gfile.GFile(name)
    assert isinstance(file, tf.io.gfile.GFile)
    assert (file.name, file.mode) == (name, "r")
    assert (file.read(3), file.readline(), file.tell()) == ("hel", "lo\n", 6)
    file.seek(0)
    assert file.readlines() == ["hello\n", "wörld\n"]
    assert list(tf.io.gfile.GFile(name, "rb")) == [b"hello\n", "wörld\n".encode()]
    with pytest.raises(tf.errors.PermissionDeniedError, match="writing"):
        file.write("x")
    with pytest.raises(tf.errors.PermissionDeniedError, match="reading"):
        tf.io.gfile.GFile(name, "a").read()
    with tf.io.gfile.GFile(str(tmp_path / "empty"), "w"):
        pass
    assert tf.io.gfile.stat(str(tmp_path / "empty")).length == 0
    found = tf.io.gfile.stat(name)
    assert (found.length, found.is_directory) == (13, False)
    assert found.mtime_nsec > 0
    assert tf.io.gfile.stat(str(tmp_path)).is_directory
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.io.gfile.copy(name, str(tmp_path / "empty"))
    tf.io.gfile.mkdir(str(tmp_path))
    assert v1.gfile.Stat(name).length == 13


def test_the_logger_of_programs(log):
    v1.logging.set_verbosity(v1.logging.INFO)
    assert v1.logging.get_verbosity() == logging.INFO
    v1.logging.info("at %d", 3)
    v1.logging.debug("not said")
    v1.logging.log_if(v1.logging.WARN, "said", True)
    for _ in range(5):
        v1.logging.log_first_n(v1.logging.INFO, "first", 2)
        v1.logging.log_every_n(v1.logging.INFO, "every", 3)
    assert log.messages == ["at 3", "said", "first", "every", "first", "every"]
    assert tf.compat.v1.logging is v1.logging


def test_fields_of_messages_are_made_when_they_are_asked_for():
    example = tf.train.Example()
    feature = example.features.feature
    feature["x"].int64_list.value.extend([1, 2])
    feature["x"].int64_list.value.append(3)
    feature["s"].bytes_list.value[:] = [b"a", b"b"]
    feature["s"].bytes_list.value[0] = b"c"
    feature["f"].float_list.value.append(0.5)
    again = tf.train.Example.FromString(example.SerializeToString())
    assert again == example
    assert sorted(again.features.feature) == ["f", "s", "x"]
    assert again.features.feature["s"].bytes_list.value == [b"c", b"b"]
    assert "y" not in again.features.feature
    assert again.features.feature["y"].WhichOneof("kind") is None
    assert pickle.loads(pickle.dumps(example)) == example
    with pytest.raises(ValueError, match="CopyFrom"):
        feature["x"] = tf.train.Feature()
    with pytest.raises(AttributeError, match="CopyFrom"):
        example.features = tf.train.Features()
    with pytest.raises(TypeError, match="bytes"):
        feature["s"].bytes_list.value.append("text")
    with pytest.raises(TypeError, match="integer"):
        feature["x"].int64_list.value.append(1.5)


def test_messages_are_copied_and_merged():
    one = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
    held = tf.train.Features(feature={"a": one, "b": one})
    one.int64_list.value.append(2)
    held.feature["a"].int64_list.value.append(3)
    assert held.feature["b"].int64_list.value == [1]
    one.MergeFrom(held.feature["a"])
    assert one.int64_list.value == [1, 2, 1, 3]
    one.CopyFrom(tf.train.Feature())
    assert one == tf.train.Feature()
    assert one.MergeFromString(held.feature["a"].SerializeToString()) == one.ByteSize()
    assert one.int64_list.value == [1, 3]
    one.ClearField("int64_list")
    assert not one.HasField("int64_list")
    one.Clear()
    with pytest.raises(TypeError, match="Feature was expected"):
        one.CopyFrom(held)


def test_a_sequence_example_is_read_as_it_was_written():
    example = tf.train.SequenceExample()
    example.context.feature["id"].bytes_list.value.append(b"q")
    steps = example.feature_lists.feature_list["t"].feature
    for count in range(3):
        steps.add().int64_list.value.extend(range(count))
    record = example.SerializeToString()
    assert tf.train.SequenceExample.FromString(record) == example
    context, lists = tf.io.parse_single_sequence_example(
        record,
        {"id": tf.io.FixedLenFeature([], tf.string)},
        {"t": tf.io.VarLenFeature(tf.int64)},
    )
    assert context["id"].numpy() == b"q"
    assert tf.sparse.to_dense(lists["t"], -1).numpy().tolist() == [[-1, -1], [0, -1], [0, 1]]
    made = ps.io.make_sequence_example({"id": [b"q"]}, {"t": [[0], [0, 1]]})
    del steps[0]
    assert tf.train.SequenceExample.FromString(made) == example


def test_records_are_iterated(tmp_path):
    for compression in (None, "GZIP", "ZLIB"):
        path = str(tmp_path / f"records{compression}")
        options = compression and tf.io.TFRecordOptions(compression)
        with tf.io.TFRecordWriter(path, options) as writer:
            for i in range(3):
                writer.write(b"%d" % i)
        assert list(v1.python_io.tf_record_iterator(path, options)) == [b"0", b"1", b"2"]
        assert next(tf.compat.v1.io.tf_record_iterator(path, options)) == b"0"
    with pytest.raises(tf.errors.NotFoundError):
        next(v1.io.tf_record_iterator("no such file"))


def test_older_names_take_older_arguments():
    assert v1.reduce_sum([[1, 2]], reduction_indices=1, keep_dims=True).numpy().tolist() == [[3]]
    assert v1.expand_dims([1], dim=0).shape == (1, 1)
    assert v1.arg_max([[1, 9], [5, 3]], dimension=1).numpy().tolist() == [1, 0]
    assert v1.matrix_band_part([[1, 2], [3, 4]], 0, 0).numpy().tolist() == [[1, 0], [0, 4]]
    assert v1.decode_raw(bytes=b"\x01", out_type=v1.uint8).numpy().tolist() == [1]
    assert v1.random_poisson(100.0, [2]).shape == (2,)
    assert [x.numpy().tolist() for x in v1.setdiff1d([1, 2, 3], [2])] == [[1, 3], [0, 2]]
    assert v1.batch_gather([[1, 2], [3, 4]], [[1], [0]]).numpy().tolist() == [[2], [3]]
    assert v1.to_double(1).dtype == v1.float64
    assert v1.verify_tensor_all_finite([1.0], "bad").numpy() == [1]
    with pytest.raises(v1.errors.InvalidArgumentError, match="said"):
        v1.assert_equal(1, 2, data=["x"], message="said")
    with pytest.raises(ValueError, match="rank"):
        v1.assert_rank([1], 2, ["data"], 3, "said")
    variable = v1.Variable(1)
    assert v1.assign_add(variable, 2).numpy() == 3


def test_modules_wait_for_the_session():
    with v1.Graph().as_default(), v1.Session(config=v1.ConfigProto()) as session:
        number = v1.data.Dataset.range(2).make_one_shot_iterator().get_next()
        text = v1.strings.join(["n", v1.as_string(number)])
        doubled = v1.math.add(number, number) + v1.placeholder_with_default(5, [])
        assert session.run([text, doubled]) == [b"n0", 5]


def test_settings_of_sessions_are_kept():
    config = v1.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    assert config.allow_soft_placement


def test_flags_need_absl(monkeypatch):
    monkeypatch.setitem(sys.modules, "absl", None)  # as if it were not installed
    for name in ("app", "flags"):
        with pytest.raises(AttributeError, match="pip install absl-py"):
            getattr(v1, name)


def test_flags_are_those_of_absl(monkeypatch):
    for name in ("absl", "absl.app", "absl.flags"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["absl.app"].run = list
    assert v1.flags is v1.app.flags is sys.modules["absl.flags"]
    assert v1.app.run is list


def test_bfloat16_is_there_without_its_package():
    assert tf.bfloat16.size == 2
    assert tf.as_dtype("bfloat16") is tf.bfloat16
    assert tf.bfloat16.is_floating
    if importlib.util.find_spec("ml_dtypes"):
        cast = tf.cast([1.5, 3.14159], tf.bfloat16)
        assert cast.dtype == tf.bfloat16
        assert tf.cast(cast, tf.float32).numpy().tolist() == [1.5, 3.140625]
    else:
        with pytest.raises(ModuleNotFoundError, match="pip install ml_dtypes"):
            tf.cast([1.5], tf.bfloat16)


def test_names_of_scipy_say_what_they_need(monkeypatch):
    if importlib.util.find_spec("scipy"):
        assert abs(float(tf.math.digamma(1.0)) + 0.5772157) < 1e-6
    monkeypatch.setitem(sys.modules, "scipy.special", None)  # as if it were not installed
    with pytest.raises(ModuleNotFoundError, match=r"tf\.math\.digamma .*pip install scipy"):
        tf.math.digamma(1.0)


def test_functions_of_scipy_have_the_arguments_of_tensorflow(monkeypatch):
    special = types.ModuleType("scipy.special")
    special.gammainc = lambda a, x: a - x
    monkeypatch.setitem(sys.modules, "scipy.special", special)
    assert tf.math.igamma(x=1.0, a=[5.0, 7.0], name="said").numpy().tolist() == [4, 6]
    with pytest.raises(TypeError, match="'x'"):
        tf.math.igamma(1.0)
