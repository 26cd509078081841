"""Errors for common beginners' mistakes, with the correct code."""

import pathlib
import sys
import warnings

import numpy as np
import pytest

import penstock as ps
import penstock.compat.tf as tf

Dataset = ps.Dataset


def _divided(x):
    x /= 255
    return x


def _failing(yields):
    return list(Dataset.from_generator(lambda: iter(yields)))


RECORD = ps.io.make_example({"x": 1})
FEATURES = {"x": ps.io.FixedLenFeature((), np.int64)}
PIXELS = np.zeros((2, 2, 3), np.float32)

SAYS = {
    "a damaged PNG": (
        lambda: ps.image.decode_png(b"\x89PNGxxxx"),
        r"must be a PNG, got one with a damaged signature",
    ),
    "a name": (lambda: ps.image.decode_jpeg("x.jpg"), r"got str; give ps\.io\.read_file\(path\)"),
    "None for bytes": (lambda: ps.image.decode_jpeg(None), r"got a Python object \(None, say\)"),
    "None in an example": (lambda: ps.io.make_example({"x": None}), r"got Python objects \(None"),
    "kinds in an example": (lambda: ps.io.make_example({"x": [1, "a"]}), "'x': values of one kind"),
    "kinds in a list": (lambda: Dataset.from_tensor_slices([1, "a"]), "has strings and numbers"),
    "None after numbers": (
        lambda: _failing([1, None]),
        "element 1 is None, the first one was int64",
    ),
    "nested after numbers": (lambda: _failing([1, (2, "a")]), r"element 1 is \(int64, str\)"),
    "a pattern": (lambda: list(ps.TextLineDataset("*.none")), r"Dataset\.list_files"),
    "one record": (lambda: ps.io.parse_example(RECORD, FEATURES), "use parse_single_example"),
    "a float JPEG": (
        lambda: ps.image.encode_jpeg(PIXELS),
        r"convert_image_dtype\(image, np\.uint8\)",
    ),
    "a float PNG": (
        lambda: ps.image.encode_png(PIXELS),
        r"convert_image_dtype\(image, np\.uint8\)",
    ),
    "a path": (
        lambda: list(
            ps.experimental.from_list([pathlib.Path("x")]).map(ps.native(ps.io.read_file))
        ),
        r"give str\(path\)",
    ),
    "bucket sizes": (
        lambda: Dataset.range(3).bucket_by_sequence_length(lambda x: 1, [3], [2]),
        "must have 2 sizes for 1 boundaries, one more, got 1",
    ),
    "a dtype": (
        lambda: ps.io.FixedLenFeature((), np.int32),
        "FixedLenFeature: dtype must be float32",
    ),
    "Keras": (lambda: tf.keras.Sequential, r"no attribute 'Sequential': import keras: Keras 3"),
    "a name of models": (lambda: tf.GradientTape, "training belongs to Keras, JAX or PyTorch"),
}


@pytest.mark.parametrize("name", SAYS)
def test_an_error_says_what_to_do(name):
    call, words = SAYS[name]
    with pytest.raises(
        (TypeError, ValueError, FileNotFoundError, AttributeError, ps.DataError), match=words
    ):
        call()


def test_a_short_file_may_hold_no_records(tmp_path):
    (tmp_path / "text").write_text("text")
    with pytest.raises(ps.DataError, match="or holds no TFRecords"):
        list(ps.TFRecordDataset(str(tmp_path / "text")))


def test_an_array_that_must_not_be_changed():
    with pytest.raises(ValueError, match="read-only") as caught:
        list(Dataset.from_tensor_slices(np.ones((2, 3))).map(_divided))
    assert any("x = x / 255" in note for note in caught.value.__notes__)


def test_a_native_function_with_too_few_arguments():
    with pytest.raises(TypeError) as caught:
        Dataset.from_tensor_slices(([1], [2])).map(ps.native(lambda pair: pair))
    assert any("calls the function with 2 arguments" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("form", "name"),
    [("to_torch", "torch"), ("to_jax", "jax"), ("to_keras", "keras"), ("shard_for_jax", "jax")],
)
def test_a_framework_that_is_not_installed(form, name, monkeypatch):
    class Missing:
        def find_spec(self, module, path=None, target=None):
            if module == name:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match=rf"{form}: .* pip install 'penstock\[{name}\]'"):
        iter(getattr(Dataset.range(3).batch(1), form)())


def test_shards_of_an_order_that_each_process_has_by_itself():
    with pytest.warns(RuntimeWarning, match="shuffle before it has no seed") as caught:
        Dataset.range(9).shuffle(9).map(lambda x: x).shard(2, 0)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Dataset.range(9).shuffle(9, seed=1).shard(2, 0)
        Dataset.range(9).shard(2, 0).shuffle(9)
        Dataset.range(9).shuffle(9).shard(1, 0)
        ps.random.set_seed(3)
        try:
            Dataset.range(9).shuffle(9).shard(2, 0)
        finally:
            ps.random.set_seed(None)


def test_the_latest_checkpoint_of_a_folder(tmp_path):
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    it = iter(tf.data.Dataset.range(9))
    checkpoint = tf.train.Checkpoint(iterator=it)
    for _ in range(8):
        next(it)
        path = checkpoint.save(str(tmp_path / "my-ckpt"))
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    checkpoint.restore(path)
