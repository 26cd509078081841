"""to_keras: fit, evaluate and predict behave as with arrays."""

import gc
from itertools import chain

import keras
import numpy as np
import pytest
from keras_training import (
    BACKEND,
    BATCH,
    BATCHES,
    ROWS,
    W,
    X,
    Y,
    arrays_fit,
    assert_no_threads,
    assert_same,
    assert_trained_on,
    batches,
    compile_model,
    fit,
    model,
)

import penstock as ps
from penstock.adapters import keras_data


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
    trained.fit(X, rows, verbose=0)  # in the first fit, Keras takes one batch in advance
    data = data.to_keras()
    if BACKEND == "tensorflow":
        data.get_tf_dataset()  # makes one batch to infer the shapes
        seen.clear()
    trained.fit(data, epochs=3, verbose=0)
    orders = [list(chain.from_iterable(seen[k : k + 7])) for k in (0, 7, 14)]
    assert len(seen) == 21
    assert all(sorted(order) == list(range(ROWS)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


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
    if BACKEND == "torch":  # it has no such method
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
        gc.collect()  # free objects that Keras kept from the others
        assert_no_threads()
    finally:
        keras_data._data_adapter = original
        keras_data.data_class.cache_clear()
