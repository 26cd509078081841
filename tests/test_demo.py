"""The demo: measurements, plots, and clear messages about missing packages."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.demo import command, forms, main, measure, photos
from penstock.demo.errors import DemoError
from penstock.demo.recorder import Recorder

pytest.importorskip("PIL")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.skipif(
    not command.ps.build_info()["jpeg"]["native"], reason="built without the JPEG codec"
)

QUICK = ["--images=20", "--batch=8", "--epochs=1", "--step-ms=1", "--open-ms=0"]
FORMS = ["naive", "prefetch", "parallel reads", "parallel map", "cache", "native"]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "deeper").mkdir()
    photograph = photos._photograph()
    for number in range(20):
        name = f"{number}.jpg" if number % 2 else f"deeper/[{number}].JPEG"
        (folder / name).write_bytes(photos._variation(photograph, number))
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows(text):
    """Return the name and images per second of each line of the table."""
    lines = text.split("accelerator idle\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return {line[:18].strip("+ "): float(line[18:28].replace(",", "")) for line in lines}


def test_table_has_every_form(pictures, capsys):
    assert main([str(pictures), *QUICK, "--no-picture"]) == 0
    table = rows(capsys.readouterr().out)
    assert list(table) == FORMS
    assert all(rate > 0 for rate in table.values())


def test_every_form_gives_every_image_as_float32_in_0_to_1(pictures):
    for form in command.FORMS:
        source = command.Source(photos.find(pictures, 20).patterns(), 8, 0.0)
        run = measure.Run(form, source, epochs=2, step_seconds=0)
        for _ in range(2):
            batches = list(run._dataset)
            assert [batch.shape for batch in batches] == [(n, 224, 224, 3) for n in (8, 8, 4)]
            assert {str(batch.dtype) for batch in batches} == {"float32"}
            assert all(batch.min() >= 0 and 0.2 < batch.max() <= 1 for batch in batches)


def test_plain_and_native_forms_give_the_same_images(pictures):
    source = command.Source(photos.find(pictures, 20).patterns(), 1, 0.0)
    call = forms.Functions(Recorder(), 0.0)
    encoded = ps.Dataset.list_files(source.patterns, shuffle=False).map(call.read)
    plain, native = encoded.map(call.prepare), encoded.map(forms.prepare_natively)
    for one, other in zip(with_seed(plain), with_seed(native), strict=True):
        assert np.array_equal(one, other)


def with_seed(ds):
    """Draw the same random numbers for the same elements in all datasets."""
    ps.set_seed(3)
    return list(ds)


def test_intervals_of_a_run_tell_who_waited(pictures):
    source = command.Source(photos.find(pictures, 20).patterns(), 8, open_seconds=0.001)
    run = measure.Run(command.FORMS[0], source, epochs=2, step_seconds=0.002)
    run.measure(limit=60)
    spent = {"open": 0.0, "read": 0.0, "map": 0.0, "train": 0.0, "wait": 0.0}
    for interval in run.intervals:
        spent[interval.lane] += interval.end - interval.start
    assert run.images == 40
    assert spent["open"] >= 40 * 0.001
    assert spent["train"] >= 6 * 0.002
    assert spent["wait"] <= run.waited <= run.seconds - spent["train"]
    assert spent["open"] + spent["read"] + spent["map"] <= run.waited


def test_picture_is_a_png(pictures, tmp_path, capsys):
    out = tmp_path / "picture.png"
    assert main([str(pictures), *QUICK, "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert str(out) in capsys.readouterr().out


def test_figures_are_json_for_programs(pictures, tmp_path, capsys):
    out = tmp_path / "picture.png"
    assert main([str(pictures), *QUICK, "--json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [form["form"].lstrip("+ ") for form in told["forms"]] == FORMS
    assert all(form["images_per_s"] > 0 for form in told["forms"])
    assert all(0 <= form["accelerator_idle"] <= 1 for form in told["forms"])
    assert told["forms"][-1]["verdict"]
    assert told["skipped"] == []
    assert Path(told["picture"]) == out
    assert out.exists()
    assert Path(told["report"]).exists()


def test_picture_has_its_place_when_none_is_given(pictures, tmp_path):
    assert main([str(pictures), *QUICK]) == 0
    assert (tmp_path / "penstock-timeline.png").exists()
    assert "map(prepare_natively)" in (tmp_path / "penstock-report.html").read_text()


def test_every_form_has_its_verdict(pictures, capsys):
    assert main([str(pictures), *QUICK, "--no-picture", "--step-ms=40"]) == 0
    said = capsys.readouterr().out
    for form in FORMS:
        assert re.search(rf"^(\+ )?{form}: The loop ", said, re.MULTILINE), form


def test_photos_are_made_once(tmp_path, capsys):
    assert main([*QUICK, "--no-picture"]) == 0
    folder = tmp_path / "cache" / "penstock" / "demo-photos"
    made = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert len(made) == 20
    assert "making photos" in capsys.readouterr().err
    assert main([*QUICK, "--no-picture"]) == 0
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == made
    assert "making photos" not in capsys.readouterr().err
    assert [path.name for path in folder.parent.iterdir()] == ["demo-photos"]


def test_photos_differ_and_are_the_same_in_every_run():
    photograph = photos._photograph()
    files = [photos._variation(photograph, number) for number in range(8)]
    assert len(set(files)) == 8
    assert files[3] == photos._variation(photograph, 3)


def test_half_made_photos_are_made_again(tmp_path):
    folder = tmp_path / "cache" / "penstock" / "demo-photos"
    folder.mkdir(parents=True)
    (folder / "000000.jpg").write_bytes(b"")
    chosen = photos.made(5)
    assert len(chosen.paths) == 5
    assert (folder / "000000.jpg").stat().st_size > 1000
    assert [path.name for path in folder.parent.iterdir()] == ["demo-photos"]


def test_interrupted_making_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(photograph, number):
        raise KeyboardInterrupt

    monkeypatch.setattr(photos, "_variation", interrupted)
    assert main([*QUICK, "--no-picture"]) == 130
    assert list((tmp_path / "cache" / "penstock").iterdir()) == []


def test_corrupt_images_are_skipped_and_counted(pictures, tmp_path, capsys):
    good = sorted(pictures.rglob("*.jp*"))[0].read_bytes()
    for number in range(10):
        (tmp_path / f"{number}.jpg").write_bytes(good)
    (tmp_path / "4.jpg").write_bytes(good[: len(good) // 3])
    (tmp_path / "7.jpg").write_bytes(b"no JPEG at all")
    assert main([str(tmp_path), *QUICK, "--no-picture"]) == 0
    text = capsys.readouterr().out
    assert list(rows(text)) == FORMS
    assert "skipped: 2 images" in text
    assert str(tmp_path / "4.jpg") in text


def test_only_corrupt_images(tmp_path, capsys):
    (tmp_path / "a.jpg").write_bytes(b"no JPEG at all")
    assert main([str(tmp_path), *QUICK, "--no-picture"]) == 2
    text = capsys.readouterr().err
    assert str(tmp_path / "a.jpg") in text
    assert "none of the images could be used" in text


@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "no such folder"), ("file", "is a file"), ("empty", "no JPEGs")]
)
def test_bad_folder(tmp_path, capsys, name, said):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / name), *QUICK]) == 2
    assert said in capsys.readouterr().err


def test_no_folder_for_the_picture(pictures, tmp_path, capsys):
    assert main([str(pictures), *QUICK, f"--out={tmp_path}/nowhere/a.png"]) == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["matplotlib", "PIL"])
def test_missing_package_is_named_with_its_fix(monkeypatch, capsys, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(QUICK) == 2
    text = capsys.readouterr().err
    assert package in text
    assert 'pip install "penstock[viz]"' in text


def test_a_folder_without_picture_needs_no_package(pictures, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert main([str(pictures), *QUICK, "--no-picture"]) == 0


def test_ctrl_c_shows_what_was_measured(pictures, monkeypatch, capsys):
    whole = measure.Run._pass

    def interrupted(run, progress, begun, limit):
        whole(run, progress, begun, limit)
        if run.name == "+ parallel reads":
            raise KeyboardInterrupt

    monkeypatch.setattr(measure.Run, "_pass", interrupted)
    assert main([str(pictures), *QUICK]) == 130
    text = capsys.readouterr()
    assert list(rows(text.out)) == FORMS[:3]
    assert "interrupted" in text.err


def test_slow_forms_are_ended(pictures, capsys):
    assert main([str(pictures), *QUICK, "--no-picture", "--seconds-per-form=0"]) == 0
    text = capsys.readouterr().out
    assert list(rows(text)) == FORMS
    assert "ended after 0 s" in text


def test_too_many_bytes_are_not_cached(pictures, monkeypatch, capsys):
    monkeypatch.setattr(command, "_MOST_CACHED", 1000)
    assert main([str(pictures), *QUICK, "--no-picture"]) == 0
    text = capsys.readouterr()
    assert list(rows(text.out)) == FORMS[:4]
    assert "forms with a cache are left out" in text.out


@pytest.mark.parametrize("wrong", ["--images=0", "--step-ms=-1", "--batch=x", "--step-ms=nan"])
def test_wrong_numbers_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as stop:
        main([wrong])
    assert stop.value.code == 2
    assert wrong.split("=")[0] in capsys.readouterr().err


def test_fewer_images_than_found_are_spread(pictures):
    chosen = photos.find(pictures, 5)
    assert len(set(chosen.paths)) == 5
    assert chosen.found == 20


def test_unwritable_cache_is_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DemoError, match="XDG_CACHE_HOME"):
        photos.made(2)


def test_help_of_the_command():
    run = subprocess.run(
        [sys.executable, "-m", "penstock", "demo", "--help"],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(Path(photos.__file__).parents[2])},
        check=True,
    )
    assert "FOLDER" in run.stdout
    assert "--step-ms" in run.stdout
