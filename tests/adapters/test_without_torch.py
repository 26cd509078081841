"""Errors of the PyTorch adapters when PyTorch is not installed."""

import sys

import pytest

import penstock as ps


@pytest.mark.parametrize("form", ["to_torch", "to_torch_iterable"])
def test_a_form_that_needs_torch_says_so_at_the_call(form, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match="torch"):
        getattr(ps.Dataset.range(3), form)()
