"""tf.train.Checkpoint: saved objects, the files it writes, and tf.Module."""

import numpy as np
import pytest

import penstock.compat.tf as tf


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_an_object_given_by_position_is_saved():
    it = iter(tf.data.Dataset.range(9))
    checkpoint = tf.train.Checkpoint(it)
    next(it)
    path = checkpoint.save("./saved/ckpt")
    assert path == "./saved/ckpt-1"
    next(it)
    checkpoint.restore(path).assert_consumed()
    assert int(next(it)) == 1
    other = iter(tf.data.Dataset.range(9))
    tf.train.Checkpoint(other).restore(path)
    assert int(next(other)) == 1


def test_a_folder_says_what_was_saved_last(tmp_path):
    checkpoint = tf.train.Checkpoint(step=tf.Variable(1))
    paths = [checkpoint.save("./saved/ckpt") for _ in range(2)]
    state = tf.train.get_checkpoint_state("./saved")
    assert state.all_model_checkpoint_paths == paths
    assert state.model_checkpoint_path == tf.train.latest_checkpoint("./saved") == paths[1]
    assert tf.train.latest_checkpoint(tmp_path / "saved") == str(tmp_path / "saved" / "ckpt-2")
    assert (tmp_path / "saved" / "checkpoint").read_text() == (
        'model_checkpoint_path: "ckpt-2"\n'
        'all_model_checkpoint_paths: "ckpt-1"\nall_model_checkpoint_paths: "ckpt-2"\n'
    )
    assert tf.train.get_checkpoint_state("none") is None
    assert tf.train.latest_checkpoint("none") is None
    for file in (tmp_path / "saved").glob("ckpt-*"):
        file.unlink()
    assert tf.train.latest_checkpoint("./saved") is None


def test_a_manager_keeps_the_names_of_its_folder():
    nested = tf.train.Checkpoint(inner=tf.train.Checkpoint(step=tf.Variable(1)))
    manager = tf.train.CheckpointManager(nested, "./saved", max_to_keep=2, checkpoint_name="x")
    assert [manager.save() for _ in range(3)] == ["./saved/x-1", "./saved/x-2", "./saved/x-3"]
    assert manager.checkpoints == ["./saved/x-2", "./saved/x-3"]
    state = tf.train.get_checkpoint_state("./saved")
    assert state.all_model_checkpoint_paths == manager.checkpoints
    assert manager.directory == "./saved"
    assert manager.restore_or_initialize() == tf.train.latest_checkpoint("./saved")


def test_checkpoints_modules_and_lists_hold_others():
    class Counter(tf.Module):
        def __init__(self):
            super().__init__()
            self.value = tf.Variable(1.0)
            self.more = [tf.Variable(2), {"a": tf.Variable(3)}]
            self.itself = self

    counter, step = Counter(), tf.Variable(5, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(step=step, inner=tf.train.Checkpoint(counter=counter))
    options = tf.train.CheckpointOptions(experimental_io_device="/job:localhost")
    path = checkpoint.save("saved/ckpt", options=options)
    assert tf.train.list_variables("saved") == [
        ("inner/counter/more/0/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("inner/counter/more/1/a/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("inner/counter/value/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("step/.ATTRIBUTES/VARIABLE_VALUE", []),
    ]
    reader = tf.train.load_checkpoint(path)
    name = "step/.ATTRIBUTES/VARIABLE_VALUE"
    assert reader.get_tensor(name) == tf.train.load_variable("saved", name) == 5
    assert reader.has_tensor(name)
    assert not reader.has_tensor("step")
    assert reader.get_variable_to_dtype_map()[name] == tf.int64
    for variable in (step, counter.value, counter.more[1]["a"]):
        variable.assign(0)
    checkpoint.restore(path).assert_consumed()
    assert (int(step), float(counter.value), int(counter.more[1]["a"])) == (5, 1.0, 3)


def test_what_is_missing_can_be_asked_for():
    step = tf.Variable(3)
    path = tf.train.Checkpoint(step=step, other=tf.Variable(1)).save("saved/ckpt")
    step.assign(0)
    less = tf.train.Checkpoint(step=step).restore(path).expect_partial()
    assert int(step) == 3
    less.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="other"):
        less.assert_consumed()
    more = tf.train.Checkpoint(step=step, third=tf.Variable(1)).restore(path)
    with pytest.raises(AssertionError, match="third"):
        more.assert_existing_objects_matched()
    with pytest.raises(tf.errors.NotFoundError, match=r"at \./saved/ckpt-7: "):
        tf.train.Checkpoint(step=step).restore("./saved/ckpt-7")
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        tf.train.list_variables("none")
    with pytest.raises(ValueError, match="trackable"):
        tf.train.Checkpoint(3)


def test_a_module_knows_its_variables():
    class RandomCrop(tf.Module):
        def __init__(self, inner=None):
            super().__init__()
            self.fraction = tf.Variable(0.5)
            self.count = tf.Variable(1, trainable=False)
            self.inner = inner

        def __call__(self, x):
            with self.name_scope:
                return x * 2

    crop = RandomCrop(tf.Module(name="within"))
    assert (crop.name, crop.inner.name, tf.Module().name) == ("random_crop", "within", "module")
    assert crop(np.int32(2)) == 4
    assert crop.variables == (crop.count, crop.fraction)
    assert crop.trainable_variables == (crop.fraction,)
    assert crop.non_trainable_variables == (crop.count,)
    assert crop.submodules == (crop.inner,)
    assert tf.Module.with_name_scope(len) is len
