"""to_keras: supported elements, and the form in which Keras receives them."""

import dataclasses
import sys

import keras
import numpy as np
import pytest
from keras_training import (
    BACKEND,
    BATCH,
    BATCHES,
    W,
    X,
    Y,
    arrays_fit,
    assert_no_threads,
    assert_same,
    batches,
    compile_model,
    fit,
)

import penstock as ps
from penstock.adapters import keras_data


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


def check_wrong_elements_are_named():
    wrong = {
        r"a tuple of 4": batches(X, Y, W, W),
        r"y should have a batch axis": ps.Dataset.from_tensor_slices((X, Y)),
        r"x\['a'\] should have a batch axis": ps.Dataset.range(5).map(lambda i: {"a": i}),
    }
    for message, dataset in wrong.items():
        with pytest.raises(ValueError, match=message):
            fit(dataset.to_keras())


def check_an_empty_dataset_is_an_error():
    with pytest.raises(ValueError, match="the dataset has none"):
        batches(X, Y).take(0).to_keras()
    with pytest.raises(ValueError, match="the dataset has none"):
        fit(batches(X, Y).filter(lambda x, y: False).to_keras())


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

    from fake_cuda import FakeTorch  # imports torch

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


def check_a_dataset_itself_is_refused_by_keras():
    # Keras has no protocol by which a foreign class could describe itself.
    with pytest.raises(ValueError, match="Unrecognized data type"):
        fit(batches(X, Y))


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
