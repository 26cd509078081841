"""Archives of the checkout and clean environments to install them in, for the packaging tests."""

import contextlib
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# .ci/setup.sh leaves the compiled objects and the wheels of the requirements here.
STATE = Path(sys.prefix, ".penstock")


def run(*command, cwd, **variables):
    """Run a command outside the checkout; on failure, the message contains its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment.update(variables)
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


def without_network():
    """Return a command prefix that disables the network, if this user may do that."""
    apart = ["unshare", "--user", "--map-root-user", "--net"]
    return apart if works([*apart, "true"]) else []


def works(command):
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def set_up_lock():
    """Take the lock of the environment's folder, which .ci/setup.sh also takes."""
    folder = os.open(Path(sys.prefix).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory):
    """Return the folder of packages that a clean environment may install: NumPy and build tools."""
    kept = STATE / "wheels"
    if kept.is_dir():
        return kept
    folder = tmp_path_factory.mktemp("wheels")
    tools = ("scikit-build-core", "pybind11", "ninja", "cmake")
    pip("download", "--dest", folder, "numpy", *tools, cwd=folder)
    return folder


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    isolation = ["--no-isolation"] if STATE.is_dir() else []
    run(sys.executable, "-m", "build", "--sdist", *isolation, "--outdir", folder, ROOT, cwd=folder)
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Return the checkout's wheel, built with the objects from .ci/setup.sh if they exist."""
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
    """Install an archive into a clean environment, only from the wheelhouse; return its Python.

    For a source archive, `settings` are scikit-build-core's CMake settings.
    """

    def install_archive(archive, **settings):
        environment = tmp_path / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
        python = environment / "bin" / "python"
        source = ["--no-index", "--find-links", wheelhouse]
        command = [sys.executable, "-m", "pip", "--quiet", "--python", python, "install"]
        options = [f"--config-settings=cmake.{name}={value}" for name, value in settings.items()]
        run(*without_network(), *command, *options, *source, archive, cwd=tmp_path)
        return python

    return install_archive
