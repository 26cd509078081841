"""The command line: its commands, and the doctor's list of missing parts with instructions."""

import json

import pytest

from penstock import cli, doctor


def report(capsys):
    status = doctor.main([])
    return status, capsys.readouterr().out


def test_doctor_finds_a_working_engine(capsys):
    status, text = report(capsys)
    assert status == 0
    assert "engine" in text
    assert "runs" in text


@pytest.mark.parametrize(
    ("codec", "package"),
    [
        ("jpeg", "libjpeg62-turbo-dev"),
        ("png", "libpng-dev"),
        ("zlib", "zlib1g-dev"),
        ("zstd", "libzstd-dev"),
        ("re2", "libre2-dev"),
    ],
)
def test_doctor_tells_how_to_get_a_missing_codec(monkeypatch, capsys, codec, package):
    info = {**doctor._core.build_info(), codec: {"native": False, "version": ""}}
    monkeypatch.setattr(doctor._core, "build_info", lambda: info)
    status, text = report(capsys)
    assert status == 0
    assert f"{codec:13}  missing" in text
    assert f"fix: apt-get install {package} && pip install" in text


def test_doctor_tells_how_to_get_an_optional_package(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "_OPTIONAL", {"no-such-package": ("viz", "nothing")})
    status, text = report(capsys)
    assert status == 0
    assert "fix: pip install 'penstock[viz]'" in text


def test_doctor_fails_when_the_engine_does(monkeypatch, capsys):
    class Broken:
        @staticmethod
        def range(n):
            raise OSError("no engine")

    monkeypatch.setattr(doctor, "Dataset", Broken)
    status, text = report(capsys)
    assert status == 1
    assert "OSError: no engine" in text


@pytest.mark.parametrize(
    ("quota", "shown"), [(0.0, "none"), (-1.0, "none"), (float("inf"), "none"), (1.5, "1.5")]
)
def test_doctor_shows_the_processor_quota(monkeypatch, capsys, quota, shown):
    info = {"affinity": 4, "quota": quota, "effective": 2}
    monkeypatch.setattr(doctor._core, "cpu_info", lambda: info)
    (line,) = (line for line in report(capsys)[1].splitlines() if line.startswith("cpu quota"))
    assert line.split()[2] == shown


@pytest.mark.parametrize(
    ("available", "group", "shown"),
    [
        (3 << 30, 0, "3.0 GiB"),
        (3 << 30, 5 << 30, "3.0 GiB"),
        (2 << 30, 2 << 30, "2.0 GiB (limited by the cgroup)"),
        (0, 0, "unknown"),
    ],
)
def test_doctor_shows_the_memory(monkeypatch, capsys, available, group, shown):
    info = {"available": available, "cgroup": group}
    monkeypatch.setattr(doctor._core, "memory_info", lambda: info)
    (line,) = (line for line in report(capsys)[1].splitlines() if line.startswith("available"))
    assert shown in line


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "demo" in text
    assert "doctor" in text


def test_unknown_command_is_an_error_that_names_the_known_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["doktor"])
    assert stop.value.code == 2
    assert "doctor" in capsys.readouterr().err


def test_a_command_gets_the_arguments_after_its_name(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["doctor", "--help"])
    assert stop.value.code == 0
    assert "python -m penstock doctor" in capsys.readouterr().out


def test_ctrl_c_in_a_command_ends_with_130(monkeypatch):
    def interrupted(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "main", interrupted)
    assert cli.main(["doctor"]) == 130


def test_bench_compares_the_same_batches(capsys, monkeypatch):
    from penstock import comparison

    monkeypatch.setattr(comparison, "_ROWS", 640)
    monkeypatch.setattr(comparison, "_ROUNDS", 1)
    for case in comparison._cases():
        if "shuffled" in case.name:
            assert len(list(case.loop())) == len(list(case.pipeline()))
            continue
        for mine, theirs in zip(case.loop(), case.pipeline(), strict=True):
            assert (mine == theirs).all(), case.name
    assert cli.main(["bench", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [set(each) for each in found] == [{"case", "loop", "penstock"}] * 5
    assert all(each["loop"] > 0 and each["penstock"] > 0 for each in found)
