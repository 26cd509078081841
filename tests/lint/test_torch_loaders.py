"""PyTorch loaders of a program, for ``lint`` and ``profile``."""

import json

import pytest

from penstock import cli

pytest.importorskip("torch")
PROGRAM = """
import time

import penstock as ps
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Photos(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        time.sleep(0.001)
        return i


training = DataLoader(Photos(), batch_size=4)
workers = DataLoader(Photos(), batch_size=4, num_workers=999)
rows = DataLoader(TensorDataset(torch.zeros(4)))
ds = ps.Dataset.range(9).repeat(2).shuffle(9)
batches = ds.to_torch()
iterable = ds.to_torch_iterable()
over_iterable = DataLoader(iterable, batch_size=None)


def make():
    return DataLoader(Photos(), batch_size=4)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


def test_findings_of_loaders(program, capsys):
    assert cli.main(["lint", "--json", str(program)]) == 1
    found = {(each["dataset"], each["rule"]) for each in json.loads(capsys.readouterr().out)}
    assert {
        ("training", "PS028"),
        ("workers", "PS030"),
        ("workers", "PS031"),
        ("batches", "PS001"),
        ("over_iterable", "PS001"),
    } <= found
    assert not {name for name, _ in found} & {"rows", "ds", "iterable"}
    assert ("over_iterable", "PS028") not in found
    assert ("batches", "PS015") not in found  # it works ahead


@pytest.mark.parametrize("name", ["training", "make", "batches", "over_iterable", "iterable"])
def test_loaders_are_profiled(program, capsys, name):
    assert cli.main(["profile", f"{program}:{name}", "--seconds", "0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    if name in ("training", "make"):
        assert found["bottleneck"]["kind"] == "io"
        assert any(each["change"].startswith("num_workers=") for each in found["advice"])
        assert found["places"][0][0].startswith("Photos.__getitem__ (train.py:")
    else:
        assert found["stages"]


def test_a_jax_form_is_a_loader_too(tmp_path, capsys):
    pytest.importorskip("jax")
    path = tmp_path / "train.py"
    path.write_text(
        "import penstock as ps\nbatches = ps.Dataset.range(9).repeat(2).shuffle(9).to_jax()\n"
    )
    assert cli.main(["lint", str(path)]) == 1
    assert "batches: PS001" in capsys.readouterr().out
    assert cli.main(["profile", str(path), "--seconds", "0.1"]) == 0


def test_a_keras_form_is_a_loader_too(tmp_path, capsys):
    pytest.importorskip("keras")
    path = tmp_path / "train.py"
    path.write_text(
        "import penstock as ps\n"
        "pairs = ps.Dataset.range(9).repeat(2).shuffle(9).map(lambda x: (x, x)).batch(3)\n"
        "data = pairs.to_keras()\n"
    )
    assert cli.main(["lint", str(path)]) == 1
    assert "data: PS001" in capsys.readouterr().out
    assert cli.main(["profile", str(path), "--seconds", "0.1"]) == 0
