"""Packaging: the sdist and the wheel install and work elsewhere, and imports stay fast."""

import ast
import importlib
import os
import re
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from pybind11 import get_cmake_dir

import penstock
from installing import ROOT, run

PIPELINE = """
import penstock as ps
batches = list(ps.Dataset.range(10).map(lambda x: x + 1).batch(4).as_numpy_iterator())
assert [batch.tolist() for batch in batches] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]], batches
"""
HEAVY = ("PIL", "asyncio", "concurrent.futures", "jax", "keras", "matplotlib", "multiprocessing",
         "pandas", "pyarrow", "tensorflow", "torch")  # fmt: skip


def check_installation(python, folder):
    run(python, "-c", PIPELINE, cwd=folder)
    where = run(python, "-c", "import penstock; print(penstock.__file__)", cwd=folder)
    assert Path(where.strip()).is_relative_to(python.parent.parent)
    report = run(python, "-m", "penstock", "doctor", cwd=folder)
    assert "penstock" in report
    names = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    assert run(python, "-c", names, cwd=folder).split() == ["numpy", "penstock"]


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_wheel_installs_and_works_in_a_clean_environment(wheel, install, tmp_path):
    check_installation(install(wheel), tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(900)  # compiles everything, without optimisation
def test_sdist_installs_and_works_in_a_clean_environment(sdist, install, tmp_path):
    quick = {"build-type": "Debug", "define.CMAKE_CXX_FLAGS_DEBUG": "-DNDEBUG"}
    check_installation(install(sdist, **quick), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_cmake_needs_nothing_beyond_the_sdist(sdist, tmp_path):
    """CMake refuses to generate a build whose source files do not exist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    options = [f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={get_cmake_dir()}"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run("cmake", "-S", source, "-B", tmp_path / "build", *options, cwd=tmp_path, PATH=path)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_wheel_is_small_and_holds_type_marker_stubs_and_license(wheel):
    assert wheel.stat().st_size < 5_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"penstock/py.typed", "penstock/_core.pyi", "penstock/__main__.py"} <= set(names)
    templates = {f"penstock/profiling/page/page.{kind}" for kind in ("css", "html", "js")}
    assert templates <= set(names)
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]
    assert {name.split("/")[0].split("-")[0] for name in names} == {"penstock"}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_wheel_requires_only_numpy(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(path).decode())
    required = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert required == ["numpy>=2.0"]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_sdist_holds_the_sources_and_nothing_that_a_build_left(sdist):
    with tarfile.open(sdist) as archive:
        paths = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    files = {path.as_posix() for path in paths}
    folders = {f"{folder}/" for folder in ("cpp", "python")}
    alone = {file for file in files if not file.startswith(tuple(folders))}
    assert alone == {"CHANGELOG.md", "CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md",
                     "pyproject.toml"}  # fmt: skip
    wanted = {".cc", ".cmake", ".css", ".h", ".html", ".inc", ".js", ".md", ".py", ".pyi", ".typed"}
    sources = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in wanted or path.name == "py.typed"
    }
    assert files - alone == sources


def test_import_brings_in_nothing_heavier_than_numpy(tmp_path):
    program = """
import sys, numpy
before = set(sys.modules)
import penstock
print(*sorted(set(sys.modules) - before))
numbers = iter(penstock.Dataset.range(4).map(lambda x: x + 1).shuffle(2, seed=1).batch(2))
next(numbers), numbers.get_state()
print(*sorted(set(sys.modules) - before))
for name in penstock.__all__:
    getattr(penstock, name)
print(*sorted(set(sys.modules) - before))
"""
    alone, run_one, used = run(sys.executable, "-P", "-c", program, cwd=tmp_path).splitlines()
    # Everything else is loaded on the first access to a name.
    assert alone.split() == ["penstock", "penstock._core"]
    # Each of these would cost every process several megabytes.
    assert not set(run_one.split()) & {"_hashlib", "email", "http.client", "numpy.random", "ssl"}
    assert "penstock.dataset" in used
    assert not set(used.split()) & set(HEAVY)


def test_every_public_name_has_a_home_that_type_checkers_see_too():
    tree = ast.parse(Path(penstock.__file__).read_text())
    for_checkers = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("penstock")
        for alias in node.names
    }
    homes = {(home, name) for name, home in penstock._HOME.items()}
    assert for_checkers == homes
    assert {name for _, name in for_checkers} == set(penstock.__all__)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
def test_import_starts_no_thread(tmp_path):
    program = """
import os, numpy
before = os.listdir("/proc/self/task")
import penstock
assert os.listdir("/proc/self/task") == before
"""
    run(sys.executable, "-P", "-c", program, cwd=tmp_path)


@pytest.mark.parametrize(
    ("system", "platforms"),
    [
        ("linux", ["manylinux_aarch64", "manylinux_x86_64",
                   "musllinux_aarch64", "musllinux_x86_64"]),
        ("macos", ["macosx_arm64"]),
    ],
)  # fmt: skip
def test_cibuildwheel_builds_for_every_python_and_platform_that_is_promised(
    system, platforms, tmp_path
):
    command = [sys.executable, "-m", "cibuildwheel", "--platform", system]
    found = run(*command, "--print-build-identifiers", ROOT, cwd=tmp_path, CIBW_ARCHS="").split()
    pythons = ("cp311", "cp312", "cp313", "cp314", "cp314t")
    assert sorted(found) == sorted(f"{python}-{name}" for python in pythons for name in platforms)


def test_a_repaired_wheel_does_not_depend_on_the_order_of_its_files(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / ".ci" / "release")
    archive_of = importlib.import_module("wheel_archive").WheelArchive
    names = ["p/b.py", "p/a.py", "p-1.dist-info/METADATA", "p-1.dist-info/RECORD", "q/c.py"]
    for number, order in enumerate([names, names[::-1]]):
        plain = tmp_path / f"plain{number}.whl"
        with zipfile.ZipFile(plain, "w") as wheel:
            for name in order:
                wheel.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), name)
        archive = archive_of(plain)
        archive.files["p-1.dist-info/licenses/L"] = b"text"
        archive.write(tmp_path / f"{number}.whl")
    assert (tmp_path / "0.whl").read_bytes() == (tmp_path / "1.whl").read_bytes()
    with zipfile.ZipFile(tmp_path / "0.whl") as wheel:
        assert wheel.namelist()[-1] == "p-1.dist-info/RECORD"
        assert wheel.read("p/a.py") == b"p/a.py"


def test_the_codecs_of_released_wheels_are_pinned(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / ".ci" / "release")
    sources = importlib.import_module("build_codecs").SOURCES
    projects = importlib.import_module("repair").PROJECTS
    assert {source.project for source in sources} <= {p.name for p in projects.values()}
    for source in sources:
        assert source.licenses
        for place in source.places:
            assert place.url.startswith("https://")
            assert re.fullmatch("[0-9a-f]{64}", place.sha256)
