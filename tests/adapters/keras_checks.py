"""What holds for to_keras on one backend: run with KERAS_BACKEND set, writes a result per check.

One process per backend, because importing one costs seconds.
"""

import dataclasses
import faulthandler
import gc
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from itertools import chain
from pathlib import Path

import keras
import numpy as np
import pytest

import penstock as ps
from penstock.adapters import keras_data

BACKEND = keras.backend.backend()
ROWS, BATCH = 70, 16  # four whole batches and one of six rows
BATCHES = 5
STATM = Path("/proc/self/statm")

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
    # Compiling takes longer than all of the training here.
    made.compile(keras.optimizers.SGD(0.1), loss, jit_compile=jit_compile, **compile_args)


def batches(*arrays):
    return ps.Dataset.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0]).batch(BATCH)


def fit(data, *args, built=True, **kwargs):
    """Train a new model; return its weights and history."""
    trained = model(built)
    with warnings.catch_warnings():
        # Keras says so at the end of every dataset of unknown length.
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
    """Train on batches of X and Y by their numbers; return the weights."""
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
        thread.join(10)
    assert not threads()


def check_fit_is_that_of_arrays():
    assert_same(fit(batches(X, Y).to_keras(), epochs=2), arrays_fit(epochs=2))


def check_a_model_that_is_not_built_is_trained_the_same():
    assert_same(fit(batches(X, Y).to_keras(), built=False), arrays_fit(built=False))


def check_a_dataset_of_unknown_length_gives_every_batch_once_in_each_epoch():
    data = batches(X, Y).filter(lambda x, y: True).to_keras()
    assert data.num_batches is None
    assert_same(fit(data, epochs=3), arrays_fit(epochs=3))


def check_evaluate_and_predict_are_those_of_arrays():
    trained = model()
    expected = trained.evaluate(X, Y, batch_size=BATCH, verbose=0)
    np.testing.assert_allclose(trained.evaluate(batches(X, Y).to_keras(), verbose=0), expected)
    expected = trained.predict(X, batch_size=BATCH, verbose=0)
    assert expected.shape == (ROWS, 3)
    forms = {
        "x": batches(X),
        "(x,)": batches(X).map(lambda x: (x,)),
        "(x, y)": batches(X, Y),
    }
    for form, dataset in forms.items():
        predicted = trained.predict(dataset.to_keras(), verbose=0)
        np.testing.assert_array_equal(predicted, expected, form)


def check_validation_data_is_that_of_arrays():
    data, validation = batches(X, Y).to_keras(), batches(X[:40], Y[:40]).to_keras()
    expected = arrays_fit(epochs=2, validation_data=(X[:40], Y[:40]))
    assert_same(fit(data, epochs=2, validation_data=validation), expected)


def check_a_dataset_without_end_needs_the_number_of_steps():
    with pytest.raises(ValueError, match="steps_per_epoch was expected"):
        batches(X, Y).repeat().to_keras()
    with pytest.raises(ValueError, match="steps_per_epoch must be an int >= 1"):
        batches(X, Y).repeat().to_keras(steps_per_epoch=0)


def check_epochs_of_some_steps_go_on_over_passes():
    order = [i % BATCHES for i in range(9)]
    nine = fit(batches(X, Y).repeat().take(9).to_keras(), built=False)[0]
    for dataset in (batches(X, Y), batches(X, Y).repeat()):
        for built in (True, False):
            weights, history = fit(dataset.to_keras(steps_per_epoch=3), epochs=3, built=built)
            assert len(history["loss"]) == 3
            if built:
                assert_trained_on(weights, order)
            else:
                assert_same((weights, {}), (nine, {}))
    assert_no_threads()


def check_steps_that_fit_is_given_continue_an_iteration_until_the_end():
    if BACKEND == "tensorflow":
        import tensorflow as tf

        theirs = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
        assert_same(
            fit(batches(X, Y).to_keras(), epochs=4, steps_per_epoch=3),
            fit(theirs, epochs=4, steps_per_epoch=3),
        )
    weights, _ = fit(batches(X, Y).to_keras(), epochs=3, steps_per_epoch=3)
    # Keras ends the second epoch at the end of the data, with a warning, as with tf.data.
    assert_trained_on(weights, [0, 1, 2, 3, 4, 0, 1, 2])


def check_class_weights_are_those_of_arrays():
    weights = {0: 0.25, 2: 3.0}
    one_hot = np.eye(3, dtype=np.float32)[Y]
    for y in (Y, Y[:, None], one_hot):
        loss = keras.losses.CategoricalCrossentropy if y is one_hot else None
        trained = []
        for data in (batches(X, y).to_keras(class_weight=weights), None):
            made = model()
            if loss is not None:
                compile_model(made, loss(from_logits=True))
            arrays = {} if data else {"y": y, "batch_size": BATCH, "class_weight": weights}
            history = made.fit(data or X, shuffle=False, verbose=0, **arrays)
            trained.append((made.get_weights(), history.history))
        assert_same(*trained)


def check_what_keras_would_drop_is_refused():
    data, trained = batches(X, Y).to_keras(), model()
    for name, value in {"y": Y, "class_weight": {0: 2.0}, "sample_weight": W}.items():
        with pytest.raises(ValueError, match=f"Keras drops {name} when"):
            trained.fit(data, **{name: value}, verbose=0)
    trained.fit(data, verbose=0)


def check_sample_weights_are_those_of_arrays():
    assert_same(fit(batches(X, Y, W).to_keras()), arrays_fit(sample_weight=W))


def check_every_epoch_is_a_new_iteration_with_another_order():
    seen = []

    def note(x, y):
        seen.append(y.tolist())
        return x, y

    rows = np.arange(ROWS) % 3
    numbers = ps.Dataset.range(ROWS).shuffle(ROWS, seed=4)
    data = numbers.batch(10).map(lambda i: note(X[i], i)).map(lambda x, i: (x, rows[i]))
    trained = model()
    trained.fit(X, rows, verbose=0)  # for the first fit, Keras takes a batch in advance
    data = data.to_keras()
    if BACKEND == "tensorflow":
        data.get_tf_dataset()  # makes one batch to learn the shapes
        seen.clear()
    trained.fit(data, epochs=3, verbose=0)
    orders = [list(chain.from_iterable(seen[k : k + 7])) for k in (0, 7, 14)]
    assert len(seen) == 21
    assert all(sorted(order) == list(range(ROWS)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def check_nested_inputs_and_outputs():
    def nested():
        keras.utils.set_random_seed(1)
        a, b = keras.Input((4,), name="a"), keras.Input((2,), name="b")
        joined = keras.layers.Concatenate()([a, b])
        outputs = {name: keras.layers.Dense(1, name=name)(joined) for name in ("p", "q")}
        made = keras.Model({"a": a, "b": b}, outputs)
        compile_model(made, {"p": "mse", "q": "mse"})
        return made

    @dataclasses.dataclass
    class Inputs:
        a: np.ndarray
        b: np.ndarray

    inputs = {"a": X, "b": X[:, :2]}
    targets = {"p": W[:, None], "q": -W[:, None]}
    expected = nested()
    expected.fit(inputs, targets, batch_size=BATCH, shuffle=False, verbose=0)
    dataset = batches(inputs, targets)
    for form in (dataset, dataset.map(lambda x, y: (Inputs(**x), y))):
        came = nested()
        came.fit(form.to_keras(), verbose=0)
        for one, other in zip(came.get_weights(), expected.get_weights(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
        predicted = came.predict(form.map(lambda x, y: x).to_keras(), verbose=0)
        assert {name: p.shape for name, p in predicted.items()} == {"p": (70, 1), "q": (70, 1)}


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


def check_an_empty_dataset_is_an_error():
    with pytest.raises(ValueError, match="the dataset has none"):
        batches(X, Y).take(0).to_keras()
    with pytest.raises(ValueError, match="the dataset has none"):
        fit(batches(X, Y).filter(lambda x, y: False).to_keras())


def check_wrong_elements_are_named():
    wrong = {
        r"a tuple of 4": batches(X, Y, W, W),
        r"y should have a batch axis": ps.Dataset.from_tensor_slices((X, Y)),
        r"x\['a'\] should have a batch axis": ps.Dataset.range(5).map(lambda i: {"a": i}),
    }
    for message, dataset in wrong.items():
        with pytest.raises(ValueError, match=message):
            fit(dataset.to_keras())


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
        release.wait(30)
        return x, y

    def interrupt():
        reached.wait(30)
        # TensorFlow looks for signals only between batches.
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


def resident():
    """Return MiB of memory that this process holds."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


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
    # 64 MiB went through; what a fit leaves behind in Keras itself is less than this.
    assert grown < 16, f"{grown:.0f} MiB more"


def check_batches_are_not_copied():
    given = []

    class Noting(keras_data.Packing):
        def element(self, element):
            packed = super().element(element)
            given.append(packed[0].ctypes.data)
            return packed

    data = None
    try:
        keras_data.Packing, packing = Noting, keras_data.Packing
        data = batches(X, Y).prefetch(1).to_keras()
    finally:
        keras_data.Packing = packing
    if BACKEND == "torch":
        came = [x.data_ptr() for x, _ in data.get_torch_dataloader()]
    elif BACKEND == "jax":
        came = [x.ctypes.data for x, _ in data.get_jax_iterator()]
    else:
        came = [x.ctypes.data for x, _ in data.get_numpy_iterator()]
    assert len(came) == BATCHES
    assert came == given
    assert all(address % 64 == 0 for address in came)


def check_tensors_go_to_the_device_that_was_current_at_the_call():
    if BACKEND != "torch":
        return
    import torch

    sys.path.append(str(Path(__file__).parents[1]))
    from fake_cuda import FakeTorch

    fake = FakeTorch(device=1)
    with pytest.MonkeyPatch.context() as patch, batches(X, W).to_keras() as data:
        patch.setitem(sys.modules, "torch", fake)
        assert len(list(data._feed.tensors("cuda"))) == BATCHES
    assert set(fake.cuda.happened("to")) == {torch.device("cuda", 1)}


def check_strings_go_into_models_of_tensorflow_only():
    texts = np.array(["a cat", "a dog sat", "", "a cat sat on a dog"] * 5, object)
    dataset = ps.Dataset.from_tensor_slices((texts, np.arange(20.0, dtype=np.float32))).batch(8)
    vocabulary = ["a", "cat", "dog", "sat"]
    if BACKEND != "tensorflow":
        with pytest.raises(TypeError, match="x should hold numbers") as told:
            fit(dataset.to_keras())
        assert "in stage map" not in str(getattr(told.value, "__notes__", ()))
        return
    vectorize = keras.layers.TextVectorization(vocabulary=vocabulary, output_mode="multi_hot")
    text = keras.Input((), dtype="string")
    trained = keras.Model(text, keras.layers.Dense(1, use_bias=False)(vectorize(text)))
    compile_model(trained, "mse")
    trained.fit(dataset.to_keras(), verbose=0)
    predicted = trained.predict(dataset.map(lambda text, y: text).to_keras(), verbose=0)
    expected = np.asarray(vectorize(texts.tolist())) @ trained.get_weights()[-1]
    np.testing.assert_allclose(predicted, expected, rtol=1e-5)


def check_shapes_that_change():
    lengths = [3, 5, 2, 5]

    def row(i):
        return np.ones((4, lengths[i], 6), np.float32), np.ones((4, 1), np.float32)

    def made():
        keras.utils.set_random_seed(2)
        layers = [keras.layers.Input((None, 6)), keras.layers.GlobalAveragePooling1D()]
        trained = keras.Sequential([*layers, keras.layers.Dense(1)])
        compile_model(trained, "mse")
        return trained

    f32 = np.float32
    signature = (ps.TensorSpec((None, None, 6), f32), ps.TensorSpec((None, 1), f32))
    told = ps.Dataset.range(4).map(row, output_signature=signature)
    assert made().fit(told.to_keras(), verbose=0).history["loss"]
    untold = ps.Dataset.range(4).map(row).to_keras()
    if BACKEND == "tensorflow":
        with pytest.raises(ValueError, match="give output_signature to map"):
            made().fit(untold, verbose=0)
    else:
        made().fit(untold, verbose=0)


def check_batch_sizes():
    whole = batches(X, Y).to_keras()
    assert (whole.num_batches, whole.batch_size, whole.has_partial_batch) == (5, None, None)
    even = ps.Dataset.from_tensor_slices({"a": X}).batch(10, drop_remainder=True).to_keras()
    assert (even.num_batches, even.batch_size, even.has_partial_batch) == (7, 10, False)
    assert even.partial_batch_size is None


def check_evaluating_with_the_same_object_during_training():
    data, trained = batches(X, Y).to_keras(), model()
    losses = []

    class Evaluate(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            losses.append(self.model.evaluate(data, verbose=0)[0])

    trained.fit(data, epochs=2, verbose=0, callbacks=[Evaluate()])
    assert len(losses) == 2
    for one, other in zip(trained.get_weights(), arrays_fit(epochs=2)[0], strict=True):
        np.testing.assert_array_equal(one, other)


def check_several_steps_in_one_execution():
    if BACKEND == "torch":  # it has none
        return
    trained = []
    for data, arrays in ((batches(X, Y).to_keras(), {}), (X, {"y": Y, "batch_size": BATCH})):
        made = model(steps_per_execution=2, jit_compile="auto")
        made.fit(data, shuffle=False, epochs=2, verbose=0, **arrays)
        trained.append((made.get_weights(), {}))
    assert_same(*trained)


def check_the_wait_for_batches_is_counted():
    data = batches(X, Y).to_keras()
    assert data.wait_seconds == 0
    fit(data)
    assert data.wait_seconds > 0


def check_a_dataset_itself_is_refused_by_keras():
    # There is nothing in Keras by which a foreign class could say what it is.
    with pytest.raises(ValueError, match="Unrecognized data type"):
        fit(batches(X, Y))


def check_the_public_class_takes_its_place():
    def broken():
        raise ImportError("no such module")

    original = keras_data._data_adapter
    keras_data._data_adapter = broken
    keras_data.data_class.cache_clear()
    try:
        data = batches(X, Y).to_keras()
        assert isinstance(data, keras.utils.PyDataset)
        assert_same(fit(data, epochs=2), arrays_fit(epochs=2))
        assert_same(fit(data, built=False), arrays_fit(built=False))
        expected = model().predict(X, batch_size=BATCH, verbose=0)
        np.testing.assert_array_equal(model().predict(data, verbose=0), expected)
        with batches(X, Y).repeat().to_keras(steps_per_epoch=3) as endless:
            weights, _ = fit(endless, epochs=3)
        assert_trained_on(weights, [i % BATCHES for i in range(9)])
        weights, _ = fit(data, epochs=3, steps_per_epoch=3)
        assert_trained_on(weights, [0, 1, 2, 3, 4, 0, 1, 2])
        weighted = arrays_fit(class_weight={1: 5.0})
        assert_same(fit(data, class_weight={1: 5.0}), weighted)
        assert_same(fit(batches(X, Y).to_keras(class_weight={1: 5.0})), weighted)
        unknown = batches(X, Y).filter(lambda x, y: True)
        with pytest.raises(ValueError, match="needs to know the number of batches"):
            fit(unknown.to_keras())
        with unknown.to_keras(steps_per_epoch=6) as six:
            assert_trained_on(fit(six)[0], [0, 1, 2, 3, 4, 0])
        data.close()
        gc.collect()  # what Keras kept of the others
        assert_no_threads()
    finally:
        keras_data._data_adapter = original
        keras_data.data_class.cache_clear()


def check_a_py_dataset_is_a_source():
    made = []

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return BATCHES

        def __getitem__(self, i):
            rows = slice(i * BATCH, (i + 1) * BATCH)
            made.append((X[rows], Y[rows]))
            return made[-1]

    loader = Batches()
    prefetched = ps.prefetch(loader)
    assert len(prefetched) == BATCHES
    for _ in range(2):
        made.clear()
        came = list(prefetched)
        assert len(came) == BATCHES
        assert all(one is other for one, other in zip(came, made, strict=True))
        assert_no_threads()
    indexed = ps.Dataset.from_indexable(loader, num_parallel_calls=2)
    assert len(indexed) == BATCHES
    assert_same(fit(indexed.to_keras(), epochs=2), arrays_fit(epochs=2))


# Without training there is less to hold.
ON_NUMPY = [
    check_evaluate_and_predict_are_those_of_arrays,
    check_batches_are_not_copied,
]


def main():
    checks = [value for name, value in globals().items() if name.startswith("check_")]
    results = {}
    for check in ON_NUMPY if BACKEND == "numpy" else checks:
        faulthandler.dump_traceback_later(240, exit=True)
        print(check.__name__, file=sys.stderr, flush=True)  # the last one is what hangs or crashes
        try:
            check()
            results[check.__name__] = None
        except BaseException:  # also an interrupt that comes at another place
            results[check.__name__] = traceback.format_exc()
    Path(sys.argv[1]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
