"""Rules about DataLoaders, and the loaders of a program."""

import json

import pytest

import penstock as ps
from penstock import cli
from penstock.lint import findings_of_loader
from penstock.lint.rules import loaders as rules
from penstock.loaders import LoaderView, outermost

PROGRAM = """
import penstock as ps


class Photos:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return i


rows = ps.Dataset.range(9).repeat(2).shuffle(9)
loader = ps.DataLoader(Photos(), batch_size=2)
over_rows = ps.DataLoader(rows, batch_size=2)
prefetched = ps.prefetch(Photos())
quick = ps.DataLoader([1, 2, 3])
iterator = iter(quick)


def made():
    return ps.DataLoader(Photos(), num_workers=99, worker_method="process")
"""


class Photos:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return i


def view(workers=2, *, ours=False, processes=True, pinned=True, persistent=True, dataset=None):
    dataset = Photos() if dataset is None else dataset
    return LoaderView(ours, dataset, workers, processes, pinned, persistent)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Simulate four CPUs and an accelerator."""
    monkeypatch.setattr(rules, "processors", lambda: 4.0)
    monkeypatch.setattr(rules, "has_accelerator", lambda: True)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize(
    ("loader", "code"),
    [
        (view(0), "PS028"),
        (view(0, ours=True, processes=False), "PS028"),
        (view(pinned=False), "PS029"),
        (view(persistent=False), "PS030"),
        (view(ours=True, persistent=False), "PS030"),
        (view(5), "PS031"),
    ],
)
def test_a_setting_that_costs_time_is_found(loader, code):
    (found,) = findings_of_loader(loader)
    assert found.rule == code
    assert found.stage == str(loader)


@pytest.mark.parametrize(
    "loader",
    [
        view(),
        view(4),
        view(0, dataset=[1, 2]),
        view(0, dataset=ps.Dataset.range(3)),
        view(99, ours=True, processes=False, persistent=False),
        view(pinned=False, dataset=range(3)),
    ],
)
def test_good_settings_draw_no_finding(loader):
    assert findings_of_loader(loader) == []


def test_pinned_memory_needs_an_accelerator(monkeypatch):
    monkeypatch.setattr(rules, "has_accelerator", lambda: False)
    assert findings_of_loader(view(pinned=False)) == []


@pytest.mark.parametrize("cpus", [0.5, 1.0, 2.5, 64.0])
def test_no_more_processes_than_cpus_are_advised(monkeypatch, cpus):
    monkeypatch.setattr(rules, "processors", lambda: cpus)
    for found in (*findings_of_loader(view(0)), *findings_of_loader(view(99))):
        number = int(found.fix.partition("num_workers=")[2].partition(",")[0])
        assert 1 <= number <= max(cpus, 1)


def test_loaders_of_a_program_are_found(program, capsys):
    assert cli.main(["lint", "--json", str(program)]) == 1
    found = {(each["dataset"], each["rule"]) for each in json.loads(capsys.readouterr().out)}
    assert {("loader", "PS028"), ("over_rows", "PS001")} <= found
    assert not {name for name, _ in found} & {"rows", "quick", "iterator"}


def test_a_function_that_returns_a_loader(program, capsys):
    assert cli.main(["lint", f"{program}:made"]) == 1
    out = capsys.readouterr().out
    assert "made: PS031 ps.DataLoader(num_workers=99, worker_method='process'): its 99" in out


@pytest.mark.parametrize("name", ["loader", "over_rows", "prefetched", "quick"])
def test_loaders_of_a_program_are_profiled(program, capsys, name):
    assert cli.main(["profile", f"{program}:{name}", "--seconds", "0.1"]) == 0
    assert "The loop" in capsys.readouterr().out


def test_a_report_needs_stages(program, capsys, tmp_path):
    report = ["--report", str(tmp_path / "report.html"), "--seconds", "0.1"]
    assert cli.main(["profile", f"{program}:loader", *report]) == 2
    assert "a report shows the stages of a dataset" in capsys.readouterr().err
    assert cli.main(["profile", f"{program}:over_rows", *report]) == 0


def test_parts_of_other_loaders_are_omitted():
    ds = ps.Dataset.range(9)
    loader = ps.DataLoader(ds, batch_size=2)
    other = ps.Dataset.range(9)
    values = {"ds": ds, "loader": loader, "other": other}
    assert outermost(values) == {"loader": loader, "other": other}
