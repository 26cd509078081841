"""ml_dtypes types: passed through, batched, saved, and cast."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

ml_dtypes = pytest.importorskip("ml_dtypes")
D = ps.Dataset
BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES = [BF16, np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.int4)]


def rows(dtype, n=6):
    return np.arange(2 * n).reshape(n, 2).astype(np.float32).astype(dtype)


def bits(array):
    return np.asarray(array).view(np.uint8).tolist()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "through",
    [
        lambda ds, _: ds,
        lambda ds, _: ds.map(lambda x: x),
        lambda ds, _: ds.map(lambda x: x, num_parallel_calls=2).prefetch(2),
        lambda ds, _: ds.map(ps.native(lambda x: x)),
        lambda ds, _: ds.filter(lambda x: True).shuffle(1),
        lambda ds, _: ds.batch(4).unbatch(),
        lambda ds, folder: ds.cache(str(folder / "cache")),
        lambda ds, folder: ds.snapshot(str(folder / "snapshot")),
        lambda ds, folder: ds.save(str(folder / "saved")) or D.load(str(folder / "saved")),
        lambda ds, _: pickle.loads(pickle.dumps(ds)),
        lambda ds, _: D.from_generator(lambda: iter(ds), output_signature=ds.element_spec),
    ],
)
def test_elements_stay_what_they_are(dtype, through, tmp_path):
    values = rows(dtype)
    ds = through(D.from_tensor_slices(values), tmp_path)
    for _ in range(2):
        batches = list(ds.batch(4))
        assert [batch.dtype for batch in batches] == [dtype, dtype]
        assert [bits(batch) for batch in batches] == [bits(values[:4]), bits(values[4:])]
    assert ds.element_spec.dtype == dtype


def test_scalars_are_scalars_of_the_type():
    values = np.arange(5).astype(BF16)
    assert [type(x) for x in D.from_tensor_slices(values)] == [ml_dtypes.bfloat16] * 5
    sums = D.from_tensor_slices(values).map(lambda x: x + x).batch(5).first()
    assert bits(sums) == bits(values + values)
    assert D.from_tensor_slices(values).reduce(BF16.type(0), lambda a, b: a + b) == 10


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_scalars_are_collated(dtype):
    values = np.arange(4).astype(np.float32).astype(dtype)
    for batch in (list(values), values):
        assert_same([ps.default_collate(batch)], [values])
    with pytest.raises(TypeError, match="default_collate"):
        ps.default_collate([values[0], "a"])


def test_a_state_goes_on_within_them():
    it = iter(D.from_tensor_slices(rows(BF16)).filter(lambda x: True).batch(2))
    next(it)
    state, rest = it.get_state(), [bits(x) for x in it]
    it.set_state(state)
    assert [bits(x) for x in it] == rest


def test_padding_is_zero_or_a_value_of_the_type():
    ds = D.range(1, 3).map(lambda n: np.ones(int(n), BF16))
    assert bits(ds.padded_batch(2).first()) == bits(np.array([[1, 0], [1, 1]], BF16))
    sevens = ds.padded_batch(2, padding_values=BF16.type(7)).first()
    assert bits(sevens) == bits(np.array([[1, 7], [1, 1]], BF16))


FLOATS = np.concatenate(
    [
        np.random.default_rng(0).integers(0, 2**32, 5000, dtype=np.uint32).view(np.float32),
        np.array([0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 1e-40, 1.00390625, 1.01171875], "f4"),
    ]
)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i1", "u1", "i4", "i8", "u8", "bool"])
def test_a_cast_to_bfloat16_rounds_as_ml_dtypes_does(dtype):
    with np.errstate(all="ignore"):
        values = (FLOATS if np.dtype(dtype).kind in "fc" else np.arange(5009)).astype(dtype)
        assert bits(ps.cast(values, BF16)) == bits(values.astype(BF16))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i1", "u1", "i4", "i8", "bool"])
def test_a_cast_from_bfloat16_is_one_of_float32(dtype):
    values = np.arange(2**16, dtype=np.uint16).view(BF16)
    with np.errstate(all="ignore"):
        assert_same(
            [ps.cast(values, dtype)], [np.asarray(ps.cast(values.astype(np.float32), dtype))]
        )


def test_a_native_cast_is_the_plain_one():
    def half(x):
        return ps.cast(ps.cast(x, BF16), np.float32) / 2

    ds = D.from_tensor_slices(FLOATS[:100])
    assert_same(list(ds.map(ps.native(half))), list(ds.map(half)))


@pytest.mark.parametrize("stage", [lambda ds: ds.unique(), lambda ds: ds.map(ps.native(np.sqrt))])
def test_what_does_not_know_the_type_says_so(stage):
    with pytest.raises(TypeError, match="bfloat16"):
        list(stage(D.from_tensor_slices(np.arange(3).astype(BF16))))


@pytest.mark.parametrize(
    "use",
    [
        "list(ds)",
        "list(ds.batch(2))",
        "ds.element_spec",
        "list(ds.map(lambda x: x))",
        "list(ds.map(lambda x: x, num_parallel_calls=2))",
        "list(ds.padded_batch(2))",
        "list(ds.window(2).first())",
    ],
)
def test_without_the_package_an_error_says_what_to_install(use, tmp_path):
    D.from_tensor_slices(np.arange(4).astype(BF16)).save(str(tmp_path / "saved"))
    program = f"""
import sys
sys.modules["ml_dtypes"] = None
import penstock as ps
ds = ps.Dataset.load({str(tmp_path / "saved")!r})
try:
    {use}
except ImportError as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "dtype bfloat16 needs ml_dtypes: pip install ml_dtypes" in ended.stdout
