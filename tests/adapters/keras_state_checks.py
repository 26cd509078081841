"""The state of to_keras, and the callback that saves it with the model."""

import contextlib
import json
import tempfile
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
from keras_training import BACKEND, BATCH, BATCHES, ROWS, X, Y, assert_no_threads, batches, model

import penstock as ps
from penstock.errors import StateError


class Stop(Exception):
    pass


class StopAt(keras.callbacks.Callback):
    def __init__(self, epoch, batch=None):
        super().__init__()
        self.at = epoch, batch
        self.epoch = None

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
        if self.at == (epoch, None):
            raise Stop

    def on_train_batch_end(self, batch, logs=None):
        if self.at == (self.epoch, batch):
            raise Stop


def shuffled():
    ps.set_seed(7)
    return ps.Dataset.from_tensor_slices((X, Y)).shuffle(ROWS).batch(BATCH)


def fitted(trained, data, **kwargs):
    with warnings.catch_warnings():
        # Keras reports that the rest of an epoch is shorter than an epoch.
        warnings.filterwarnings("ignore", "Your input ran out of data")
        trained.fit(data, verbose=0, **kwargs)
    return trained


def interrupted(make, stop, folder, **options):
    """Train for three epochs in two processes: one is interrupted, the other continues."""
    for last in (False, True):
        data = make()
        callbacks = [data.backup_and_restore(folder, **options)]
        if not last:
            callbacks.append(stop)
        trained = model()
        with contextlib.nullcontext() if last else pytest.raises(Stop):
            fitted(trained, data, epochs=3, callbacks=callbacks)
        data.close()
    assert_no_threads()
    return trained.get_weights()


def assert_continued(make, stop, **options):
    expected = fitted(model(), make(), epochs=3).get_weights()
    with tempfile.TemporaryDirectory() as folder:
        came = interrupted(make, stop, Path(folder) / "backup", **options)
    for one, other in zip(came, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def check_training_continues_at_an_epoch():
    assert_continued(lambda: shuffled().to_keras(), StopAt(2))
    unknown = lambda: shuffled().filter(lambda x, y: True).to_keras()  # noqa: E731
    assert_continued(unknown, StopAt(1))
    assert_continued(lambda: shuffled().repeat().to_keras(steps_per_epoch=3), StopAt(2))


def check_training_continues_within_an_epoch():
    assert_continued(lambda: shuffled().to_keras(), StopAt(1, 2), save_freq=1)
    assert_continued(lambda: shuffled().to_keras(steps_per_epoch=3), StopAt(1, 1), save_freq=1)
    assert_continued(lambda: shuffled().to_keras(), StopAt(1, BATCHES - 1), save_freq=1)
    steps = lambda: shuffled().to_keras(steps_per_epoch=3)  # noqa: E731
    assert_continued(steps, StopAt(1, 2), save_freq=1)
    # The last backup is older than the last batch, which is trained on again.
    assert_continued(lambda: shuffled().to_keras(), StopAt(1, 2), save_freq=2)


def check_a_batch_that_keras_takes_in_advance_is_not_lost():
    if BACKEND != "jax":
        return
    from keras.src.backend.jax import trainer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer.jax, "default_backend", lambda: "gpu")
        assert_continued(lambda: shuffled().to_keras(), StopAt(1, 2), save_freq=1)
        assert_continued(lambda: shuffled().to_keras(), StopAt(1, BATCHES - 1), save_freq=1)
        assert_continued(lambda: shuffled().to_keras(steps_per_epoch=3), StopAt(1, 1), save_freq=1)


def check_a_state_without_a_callback():
    expected = fitted(model(), shuffled().to_keras(), epochs=3).get_weights()
    for text in (False, True):
        data = shuffled().to_keras()
        assert not data.get_state(text)
        trained = fitted(model(), data, epochs=1)
        state = data.get_state(text)
        later = shuffled().to_keras()
        later.set_state(state)
        assert later.get_state(text) == state
        fitted(trained, later, epochs=3, initial_epoch=1)
        for one, other in zip(trained.get_weights(), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    again = shuffled().to_keras()
    again.load_state_dict(data.state_dict())
    assert again.state_dict() == data.state_dict()


def check_building_a_model_takes_nothing_from_a_state():
    data = shuffled().to_keras()
    fitted(model(), data, epochs=1)
    state = data.get_state()
    weights = []
    for built in (True, False):
        later = shuffled().to_keras()
        later.set_state(state)
        weights.append(fitted(model(built), later, epochs=1).get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def check_wrong_states_are_refused():
    data = shuffled().to_keras(steps_per_epoch=3)
    fitted(model(), data, epochs=1, steps_per_epoch=2)
    state = data.get_state()
    other = shuffled().to_keras()
    other.set_state(state)
    with pytest.raises(ValueError, match="saved with steps_per_epoch"):
        fitted(model(), other)
    other = batches(X[:40], Y[:40]).shuffle(9).to_keras(steps_per_epoch=3)
    other.set_state(fitted_state(batches(X, Y).shuffle(9)))
    with pytest.raises(StateError, match="other data"):
        fitted(model(), other)
    with pytest.raises(TypeError, match="set_state"):
        data.set_state(5)
    with pytest.raises(ValueError, match="load_state_dict"):
        data.load_state_dict({})


def fitted_state(dataset):
    data = dataset.to_keras(steps_per_epoch=3)
    fitted(model(), data, epochs=1)
    return data.get_state()


def check_a_backup_without_a_position_gives_a_warning():
    with tempfile.TemporaryDirectory() as folder:
        data = shuffled().to_keras()
        plain = keras.callbacks.BackupAndRestore(folder, delete_checkpoint=False)
        fitted(model(), data, epochs=1, callbacks=[plain])
        kept = data.backup_and_restore(folder, delete_checkpoint=False)
        with pytest.warns(RuntimeWarning, match="no position of the data"):
            model().fit(data, epochs=2, callbacks=[kept], verbose=0)
        saved = json.loads((Path(folder) / "training_metadata.json").read_text())
        assert saved["epoch"] == 2
        assert f"after {BATCHES} elements" in ps.describe_state(saved["penstock"])
