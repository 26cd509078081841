"""The data, model and comparisons shared by all checks of to_keras."""

import threading
import warnings

import keras
import numpy as np

import penstock as ps

BACKEND = keras.backend.backend()
ROWS, BATCH = 70, 16  # four full batches and one of six rows
BATCHES = 5
rng = np.random.default_rng(5)
X = rng.normal(size=(ROWS, 4)).astype(np.float32)
Y = rng.integers(0, 3, ROWS)
W = rng.uniform(0.1, 2, ROWS).astype(np.float32)


def model(built=True, **compile_args):
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)]
    made = keras.Sequential([keras.layers.Input((4,)), *layers] if built else layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    compile_model(made, loss, weighted_metrics=["accuracy"], **compile_args)
    return made


def compile_model(made, loss, jit_compile=False, **compile_args):
    # Compilation would take longer than all of the training here.
    made.compile(keras.optimizers.SGD(0.1), loss, jit_compile=jit_compile, **compile_args)


def batches(*arrays):
    return ps.Dataset.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0]).batch(BATCH)


def fit(data, *args, built=True, **kwargs):
    """Train a new model; return its weights and history."""
    trained = model(built)
    with warnings.catch_warnings():
        # Keras warns at the end of every dataset of unknown length.
        warnings.filterwarnings("ignore", "Your input ran out of data")
        history = trained.fit(data, *args, verbose=0, **kwargs)
    return trained.get_weights(), history.history


def assert_same(one, other):
    for a, b in zip(one[0], other[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert one[1].keys() == other[1].keys()
    for name in one[1]:
        np.testing.assert_allclose(one[1][name], other[1][name], rtol=1e-6)


def fit_in_order(order):
    """Train on batches of X and Y with these indices; return the weights."""
    trained = model()
    for i in order:
        rows = slice(i * BATCH, (i + 1) * BATCH)
        trained.train_on_batch(X[rows], Y[rows])
    return trained.get_weights()


def assert_trained_on(weights, order):
    for one, other in zip(weights, fit_in_order(order), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def arrays_fit(**kwargs):
    return fit(X, Y, batch_size=BATCH, shuffle=False, **kwargs)


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "penstock"]


def assert_no_threads():
    for thread in threads():
        thread.join(60)
    assert not threads()
