"""The identity of a function covers the values of the tensors and models it refers to."""

import pytest

from penstock.digest import identity_of


def digest(value):
    return identity_of(lambda x: (x, value)).digest


def calling(model):
    return identity_of(lambda x: model(x)).digest


def test_torch_tensors_are_compared_by_value():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        zeros, same, ones = torch.zeros(3), torch.zeros(3), torch.ones(3)
        zeros, same, ones = (each.to(dtype) for each in (zeros, same, ones))
        assert digest(zeros) == digest(same) != digest(ones)
    assert digest(torch.zeros(3, requires_grad=True)) != digest(torch.ones(3, requires_grad=True))


def test_torch_models_are_compared_by_weights():
    torch = pytest.importorskip("torch")
    one, same, other = (torch.nn.Sequential(torch.nn.Linear(2, 2)) for _ in range(3))
    same.load_state_dict(one.state_dict())
    assert calling(one) == calling(same) != calling(other)


def test_jax_arrays_are_compared_by_value():
    jnp = pytest.importorskip("jax.numpy")
    assert digest(jnp.zeros(3)) == digest(jnp.zeros(3)) != digest(jnp.ones(3))


def test_hugging_face_datasets_are_compared_by_fingerprint():
    datasets = pytest.importorskip("datasets")
    one, same, other = (datasets.Dataset.from_dict({"a": [1, n]}) for n in (2, 2, 3))
    assert digest(one) == digest(same) != digest(other)
