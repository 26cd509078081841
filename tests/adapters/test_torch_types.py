"""Elements that are PyTorch tensors of types that NumPy lacks."""

import sys

import numpy as np
import pytest

import penstock as ps

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

NAMES = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


def tensor(name):
    return torch.arange(6.0).reshape(3, 2).to(getattr(torch, name))


def expected(name):
    return np.arange(6.0).reshape(3, 2).astype(getattr(ml_dtypes, name))


def assert_rows(dataset, name):
    rows = list(dataset)
    assert [row.dtype for row in rows] == [expected(name).dtype] * len(rows)
    np.testing.assert_array_equal(np.stack(rows).astype(float), expected(name).astype(float))


@pytest.mark.parametrize("name", NAMES)
def test_sources(name):
    x = tensor(name)
    assert_rows(ps.Dataset.from_tensor_slices(x), name)
    assert_rows(ps.Dataset.from_tensor_slices({"x": x}).map(lambda e: e["x"]), name)
    assert_rows(ps.Dataset.from_tensor_slices([x[0], x[1], x[2]]), name)
    assert_rows(ps.Dataset.from_tensors(x.T).map(lambda row: row.T).unbatch(), name)
    assert_rows(ps.Dataset.from_generator(lambda: iter(x)), name)
    assert_rows(ps.Dataset.from_indexable(list(x)), name)


@pytest.mark.parametrize("calls", [None, 2])
def test_results_of_functions(calls):
    x = tensor("bfloat16")
    ds = ps.Dataset.range(3).map(lambda i: x[int(i)], calls)
    assert_rows(ds, "bfloat16")
    (batch,) = ds.batch(3).to_torch()
    assert batch.dtype == torch.bfloat16
    assert torch.equal(batch, x)
    assert_rows(ps.Dataset.range(6).map(lambda i: x.ravel()[int(i)]).batch(2), "bfloat16")


def test_a_loader():
    (batch,) = ps.DataLoader(tensor("bfloat16"), batch_size=3)
    assert torch.equal(batch, tensor("bfloat16"))


def test_a_tensor_with_a_gradient_is_refused_by_pytorch():
    with pytest.raises(RuntimeError, match="requires grad"):
        list(ps.Dataset.from_tensors(tensor("bfloat16").requires_grad_()))


def test_without_ml_dtypes_the_error_names_the_conversion(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match=r"torch.bfloat16 need ml_dtypes: .*; or .* tensor.float"):
        ps.Dataset.from_tensor_slices(tensor("bfloat16"))
