"""Packaging: the sdist and the wheel install and work elsewhere, and the import stays light."""

import contextlib
import fcntl
import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# .ci/setup.sh leaves the compiled objects and the wheels of the requirements here.
STATE = Path(sys.prefix, ".penstock")

PIPELINE = """
import penstock as ps
batches = list(ps.Dataset.range(10).map(lambda x: x + 1).batch(4).as_numpy_iterator())
assert [batch.tolist() for batch in batches] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]], batches
"""
HEAVY = ("PIL", "asyncio", "concurrent.futures", "jax", "keras", "matplotlib", "multiprocessing",
         "pandas", "pyarrow", "tensorflow", "torch")  # fmt: skip


def run(*command, cwd):
    """Run a command outside the checkout; its output becomes the message of a failure."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}"
    return result.stdout


def pip(*arguments, cwd):
    return run(sys.executable, "-m", "pip", "--quiet", *arguments, cwd=cwd)


@contextlib.contextmanager
def set_up_lock():
    """Take turns with .ci/setup.sh, which locks the folder around its environment."""
    folder = os.open(Path(sys.prefix).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory):
    """A folder with all that a clean environment may install: NumPy and the build tools."""
    kept = STATE / "wheels"
    if kept.is_dir():
        return kept
    folder = tmp_path_factory.mktemp("wheels")
    tools = ("scikit-build-core", "pybind11", "ninja", "cmake")
    pip("download", "--dest", folder, "numpy", *tools, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    isolation = ["--no-isolation"] if STATE.is_dir() else []
    run(sys.executable, "-m", "build", "--sdist", *isolation, "--outdir", folder, ROOT, cwd=folder)
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the checkout; with the objects that .ci/setup.sh compiled, if there are any."""
    folder = tmp_path_factory.mktemp("wheel")
    reuse = ["--no-isolation", f"-Cbuild-dir={STATE}/build/{{wheel_tag}}"]
    options = reuse if STATE.is_dir() else [f"-Cbuild-dir={folder}/build"]
    command = [sys.executable, "-m", "build", "--wheel", *options]
    with set_up_lock():
        run(*command, "--outdir", folder / "dist", ROOT, cwd=folder)
    (archive,) = (folder / "dist").iterdir()
    return archive


@pytest.fixture
def install(wheelhouse, tmp_path):
    """Install an archive into a clean environment, from the wheelhouse alone; gives its Python."""

    def install_archive(archive):
        environment = tmp_path / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
        python = environment / "bin" / "python"
        source = ["--no-index", "--find-links", wheelhouse]
        pip("--python", python, "install", *source, archive, cwd=tmp_path)
        return python

    return install_archive


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
@pytest.mark.timeout(280)
def test_sdist_installs_and_works_in_a_clean_environment(sdist, install, tmp_path):
    check_installation(install(sdist), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_wheel_is_small_and_holds_type_marker_stubs_and_license(wheel):
    assert wheel.stat().st_size < 5_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"penstock/py.typed", "penstock/_core.pyi", "penstock/__main__.py"} <= set(names)
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
    assert {Path("CMakeLists.txt"), Path("pyproject.toml"), Path("LICENSE")} <= set(paths)
    assert not [path for path in paths if path.suffix in {".o", ".so", ".pyc", ".whl"}]
    assert not {path.parts[0] for path in paths if path.parts} & {".venv", "build", "dist"}


def test_import_brings_in_nothing_heavier_than_numpy(tmp_path):
    program = """
import sys, numpy
before = set(sys.modules)
import penstock
print(*sorted(set(sys.modules) - before))
"""
    loaded = run(sys.executable, "-P", "-c", program, cwd=tmp_path).split()
    assert loaded
    assert not set(loaded) & set(HEAVY)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
def test_import_starts_no_thread(tmp_path):
    program = """
import os, numpy
before = os.listdir("/proc/self/task")
import penstock
assert os.listdir("/proc/self/task") == before
"""
    run(sys.executable, "-P", "-c", program, cwd=tmp_path)
