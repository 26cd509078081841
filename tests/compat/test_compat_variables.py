"""tf.Variable, tf.TensorArray, tables and checkpoints: changes, saving and restoring."""

import copy
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock.compat.tf as tf


def test_a_value_that_was_read_stays():
    variable = tf.Variable([1, 2])
    before, held = variable.value(), variable.numpy()
    variable.assign_add([10, 10])
    variable.scatter_nd_update([[0]], [7])
    assert before.numpy().tolist() == held.tolist() == [1, 2]
    assert variable.numpy().tolist() == [7, 12]
    held[0] = 99
    assert variable[0] == 7


def test_a_variable_is_a_value_in_functions_of_a_dataset():
    scale = tf.Variable(2, dtype=tf.int64)
    dataset = tf.data.Dataset.range(3).map(lambda x: x * scale)
    assert [int(x) for x in dataset] == [0, 2, 4]
    scale.assign(3)
    assert [int(x) for x in dataset] == [0, 3, 6]


def test_additions_of_threads_are_all_counted():
    variable = tf.Variable(0)

    def add():
        for _ in range(500):
            variable.assign_add(1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(variable) == 2000


def test_a_variable_is_copied_and_pickled():
    variable = tf.Variable([1.5], name="v", trainable=False)
    for other in (copy.deepcopy(variable), pickle.loads(pickle.dumps(variable))):
        variable.assign([9.0])
        assert (other.name, other.trainable, other.numpy().tolist()) == ("v:0", False, [1.5])
        variable.assign([1.5])


def test_a_variable_refuses_what_changes_it_without_a_word():
    variable = tf.Variable(1)
    with pytest.raises(RuntimeError, match="assign"):
        variable += 1
    with pytest.raises(ValueError, match="shape"):
        variable.assign([1])
    assert {variable.ref(): 1}[variable.ref()] == 1
    assert variable.ref().deref() is variable


def test_a_tensor_is_read_once_from_an_array():
    array = tf.TensorArray(tf.int32, 2).write(0, 5)
    assert array.read(0) == 5
    with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
        array.read(0)
    array.write(0, 6)
    assert array.read(0) == 6
    kept = tf.TensorArray(tf.int32, 1, clear_after_read=False).write(0, 5)
    assert kept.read(0) == kept.read(0) == 5


def test_a_checkpoint_has_variables_and_iterators(tmp_path):
    step, table = tf.Variable(3), tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(["a", "b"], [1, 2])
    iterator = iter(tf.data.Dataset.range(9))
    next(iterator)
    checkpoint = tf.train.Checkpoint(step=step, it=iterator, table=table)
    path = checkpoint.save(tmp_path / "ck")
    checkpoint.step.assign(0)
    next(iterator)
    table.remove(["a"])
    status = tf.train.Checkpoint(step=step, it=iterator, table=table).restore(path)
    assert status.assert_consumed().expect_partial() is status
    assert int(step) == 3
    assert int(next(iterator)) == 1
    assert table.lookup(["a", "c"]).numpy().tolist() == [1, -1]
    with pytest.raises(tf.errors.NotFoundError):
        checkpoint.restore(str(tmp_path / "none"))
    checkpoint.restore(None)
    with pytest.raises(ValueError, match="variable"):
        tf.train.Checkpoint(step=3)


def test_a_restored_checkpoint_does_not_replace_what_was_saved(tmp_path):
    first = tf.train.Checkpoint(step=tf.Variable(1))
    paths = [first.save(str(tmp_path / "ck")) for _ in range(2)]
    again = tf.train.Checkpoint(step=tf.Variable(0))
    again.restore(tf.train.latest_checkpoint(tmp_path))
    assert int(again.save_counter) == 2
    assert again.save(str(tmp_path / "ck")) not in paths


def test_a_manager_saves_after_enough_steps_and_restores(tmp_path):
    step = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(step=step)
    manager = tf.train.CheckpointManager(
        checkpoint, tmp_path, max_to_keep=2, step_counter=step, checkpoint_interval=10
    )
    assert manager.restore_or_initialize() is None
    saved = []
    for value in range(0, 40, 5):
        step.assign(value)
        saved.append(manager.save())
    assert [path is not None for path in saved] == [True, False] * 4
    assert manager.checkpoints == [saved[4], saved[6]]
    assert manager.save(check_interval=False).endswith("ckpt-5")
    step.assign(0)
    assert manager.restore_or_initialize() == manager.latest_checkpoint
    assert int(step) == 35
    assert manager.directory == str(tmp_path)
    everything = tf.train.CheckpointManager(checkpoint, tmp_path / "all", max_to_keep=None)
    for _ in range(7):
        everything.save()
    assert len(everything.checkpoints) == 7
    with pytest.raises(ValueError, match="together"):
        tf.train.CheckpointManager(checkpoint, tmp_path, 1, checkpoint_interval=2)
    begun = []
    empty = tf.train.CheckpointManager(
        checkpoint, tmp_path / "none", 1, init_fn=lambda: begun.append(1)
    )
    assert empty.restore_or_initialize() is None
    assert begun == [1]


def test_old_checkpoints_are_kept_every_hour(tmp_path):
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 1, keep_checkpoint_every_n_hours=1)
    for hours in (0, 2, 2.5, 4):
        path = manager.save()
        for file in tmp_path.glob(f"{Path(path).name}.*"):
            moment = file.stat().st_mtime + hours * 3600
            os.utime(file, (moment, moment))
    manager.save()
    assert [path[-1] for path in manager.checkpoints] == ["2", "4", "5"]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("apple\t10\nbanana\t20\r\ncherry\t30\n")
    return path


INDEX = tf.lookup.TextFileIndex


@pytest.mark.parametrize(
    ("columns", "key", "found"),
    [
        ((tf.string, 0, tf.int64, 1), "banana", 20),
        ((tf.string, 0, tf.float32, 1), "cherry", 30.0),
        ((tf.string, 0, tf.int64, INDEX.LINE_NUMBER), "cherry", 2),
        ((tf.int64, INDEX.LINE_NUMBER, tf.string, 0), 1, b"banana"),
        ((tf.string, INDEX.WHOLE_LINE, tf.int64, INDEX.LINE_NUMBER), "banana\t20", 1),
        ((tf.int64, 1, tf.string, INDEX.WHOLE_LINE), 30, b"cherry\t30"),
    ],
)
def test_a_table_of_the_lines_of_a_file(vocabulary, columns, key, found):
    contents = tf.lookup.TextFileInitializer(vocabulary, *columns)
    other = "?" if columns[2] == tf.string else -1
    table = tf.lookup.StaticHashTable(contents, other)
    assert table.size() == 3
    assert table.lookup(tf.constant([key], columns[0])).numpy().tolist() == [found]
    assert table.lookup(tf.constant([99 if type(key) is int else "?"], columns[0]))[0] == other


def test_lines_of_a_file_that_are_wrong(vocabulary, tmp_path):
    lines = tf.lookup.TextFileInitializer
    number = INDEX.LINE_NUMBER
    few = lines(vocabulary, tf.string, 0, tf.int64, number, vocab_size=2, value_index_offset=5)
    assert tf.lookup.StaticHashTable(few, -1).lookup(tf.constant(["banana", "cherry"]))[0] == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected at least 3 got 2"):
        lines(vocabulary, tf.string, 2, tf.int64, number)
    with pytest.raises(tf.errors.InvalidArgumentError, match="apple"):
        lines(vocabulary, tf.string, 0, tf.int64, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="4 lines"):
        lines(vocabulary, tf.string, 0, tf.int64, number, vocab_size=4)
    with pytest.raises(tf.errors.NotFoundError):
        lines(tmp_path / "none", tf.string, 0, tf.int64, number)


def test_a_table_that_changes():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(tf.constant(["a", "b"]), [1, 2])
    table.insert(["a"], [7])
    assert table.lookup(tf.constant(["a", "z"])).numpy().tolist() == [7, -1]
    given = table.lookup(["z", "b"], dynamic_default_values=[5, 6])
    assert given.numpy().tolist() == [5, 2]
    table.remove(["a", "q"])
    assert table.size() == 1
    assert [each.numpy().tolist() for each in table.export()] == [[b"b"], [2]]
    rows = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, [0.0, 0.0], 0, -1)
    rows.insert_or_assign([5], [[1.5, 2.5]])
    np.testing.assert_array_equal(rows.lookup([[5, 6]]), [[[1.5, 2.5], [0, 0]]])
    rows.erase([5])
    assert rows.size() == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
        rows.insert([0], [[1.0, 1.0]])
