"""to_keras: errors, interrupts and the end of data; leftover threads and memory."""

import gc
import os
import signal
import threading

import keras
import numpy as np
import pytest
from keras_training import (
    BACKEND,
    BATCH,
    ROWS,
    X,
    Y,
    assert_no_threads,
    assert_trained_on,
    batches,
    compile_model,
    fit,
    model,
)

import penstock as ps
from process import STATM, resident


def failing(at):
    def look(i, x, y):
        if i == at:
            raise LookupError(f"row {i}")
        return x, y

    return ps.Dataset.from_tensor_slices((np.arange(ROWS), X, Y)).map(look).batch(BATCH)


def check_an_exception_of_a_function_comes_out_of_fit_as_itself_at_its_place():
    steps = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda step, logs: steps.append(step))
    data = failing(2 * BATCH + 1).to_keras()
    for _ in range(2):
        steps.clear()
        with pytest.raises(LookupError, match="row 33"):
            fit(data, callbacks=[count])
        assert steps == [0, 1]
    with pytest.raises(LookupError):
        model().predict(data, verbose=0)
    with pytest.raises(LookupError):
        model().evaluate(data, verbose=0)
    assert_no_threads()


def check_an_exception_behind_the_last_step_is_not_raised():
    data = failing(2 * BATCH + 1).to_keras()
    weights, _ = fit(data, steps_per_epoch=2)
    assert_trained_on(weights, [0, 1])


def check_interrupting_a_step_stops_all_threads():
    def interrupt(step, logs):
        if step == 1:
            os.kill(os.getpid(), signal.SIGINT)

    data = batches(X, Y).repeat(1000).to_keras()
    with pytest.raises(KeyboardInterrupt):
        fit(data, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=interrupt)])
    data.close()
    assert_no_threads()
    with batches(X, Y).repeat(1000).to_keras(steps_per_epoch=3) as endless:
        fit(endless)
    assert_no_threads()


def check_interrupting_while_keras_waits_for_a_batch():
    reached, release = threading.Event(), threading.Event()

    def stuck(x, y):
        reached.set()
        release.wait(60)
        return x, y

    def interrupt():
        reached.wait(60)
        # TensorFlow checks for signals only between batches.
        if BACKEND == "tensorflow":
            release.set()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    data = batches(X, Y).map(stuck, output_signature=batches(X, Y).element_spec).to_keras()
    killer = threading.Thread(target=interrupt)
    killer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(data, epochs=1000)
        assert BACKEND == "tensorflow" or not release.is_set()
    finally:
        release.set()
        killer.join()
    data.close()
    assert_no_threads()


def check_threads_end_with_each_fit():
    data = batches(X, Y).shuffle(3).to_keras()
    unknown = batches(X, Y).filter(lambda x, y: True).to_keras()
    for _ in range(2):
        fit(data, validation_data=unknown)
        gc.collect()
        assert_no_threads()


def check_memory_is_flat_over_fits():
    if not STATM.exists():
        return
    rows = np.zeros((256, 1024), np.float32)  # 1 MiB; an epoch makes four such batches
    dataset = ps.Dataset.range(4).map(lambda i: (rows + i, np.zeros((256, 1), np.float32)))
    trained = keras.Sequential([keras.layers.Input((1024,)), keras.layers.Dense(1)])
    compile_model(trained, "mse")

    def fits(n):
        for _ in range(n):
            trained.fit(dataset.to_keras(), epochs=2, verbose=0)
        gc.collect()
        return resident()

    before = fits(3)
    grown = fits(8) - before
    # 64 MiB passed through; Keras itself leaks less than this limit per fit.
    assert grown < 16 * 2**20, f"{grown / 2**20:.0f} MiB more"
