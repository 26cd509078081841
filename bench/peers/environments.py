"""The peers and their virtual environments: one table of pinned versions, installed with pip.

An environment is a folder below ``build/peers`` (or ``PENSTOCK_PEERS``). A stamp file records the
installed contents, so that a second set-up only compares. The stamp is removed before an
installation starts and written after it succeeds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
STAMP = ".installed"
SOURCES = ("pyproject.toml", "CMakeLists.txt", "cpp", "python")  # inputs of the wheel build
KINDS = (".py", ".h", ".cc", ".inc", ".txt", ".toml", ".typed", "")

NUMPY = "numpy==2.4.6"
TORCH = "torch==2.13.0"  # installed first: a version range would pull in gigabytes of CUDA
DECODING = ("simplejpeg==1.9.0", "opencv-python-headless==5.0.0.93")  # for loaders without a codec
PILLOW = "pillow==13.0.0"
CRC = "google-crc32c==1.9.0"


class Peer(NamedTuple):
    """A row of the table."""

    title: str
    packages: tuple[str, ...] = ()  # installed in this order, individually
    alone: tuple[str, ...] = ()  # installed last, without dependencies
    environment: str = ""  # name of another peer whose environment this one shares
    built: bool = False  # install penstock's own wheel first


PEERS = {
    "penstock": Peer(
        "penstock", (NUMPY, PILLOW, "matplotlib==3.11.2", "cloudpickle==3.1.2"), built=True
    ),
    "processes": Peer("penstock, processes", environment="penstock"),
    "loader": Peer("ps.DataLoader, processes", environment="penstock"),
    "tfdata": Peer("tf.data", (NUMPY, "tensorflow-cpu==2.21.0")),
    "torch": Peer("PyTorch DataLoader", (NUMPY, TORCH, "torchdata==0.11.0", PILLOW, *DECODING)),
    "nodes": Peer("torchdata.nodes", environment="torch"),
    "grain": Peer("Grain", (NUMPY, "grain==0.2.18", *DECODING)),
    "mlx": Peer("mlx-data", (NUMPY, "mlx-data==0.1.0")),
    "spdl": Peer("SPDL", (NUMPY, "spdl==0.8.0", *DECODING)),
    "dali": Peer("DALI (CPU)", (NUMPY, "nvidia-dali-cuda120==2.4.0")),
    "webdataset": Peer("WebDataset", (NUMPY, TORCH, "webdataset==1.0.2", *DECODING)),
    "turboloader": Peer("TurboLoader", (NUMPY, "turboloader==2.39.0")),
    "litdata": Peer(
        "LitData",
        (
            *(NUMPY, TORCH, *DECODING, "boto3==1.44.8", "requests==2.34.2", "obstore==0.12.1"),
            *("filelock==4.3.1", "lightning-utilities==0.15.3", "tifffile==2026.3.3"),
        ),
        alone=("litdata==0.2.76",),  # requires torchvision, which has no build for this torch
    ),
    "plain": Peer("plain Python", (NUMPY, CRC, *DECODING)),
    "limit": Peer("limit", environment="plain"),
}


class SetupError(Exception):
    """An environment could not be created; the message contains the reason."""


def folder() -> Path:
    """Return the folder of the environments and the data."""
    return Path(os.environ.get("PENSTOCK_PEERS") or ROOT / "build" / "peers").resolve()


def interpreter(peer: str) -> Path:
    """Return the path of the Python of a peer's environment, which may not exist."""
    return folder() / "environments" / (PEERS[peer].environment or peer) / "bin" / "python"


def missing(peer: str) -> str:
    """Return the reason why a peer cannot run; empty if it can."""
    owner = PEERS[peer].environment or peer
    stamp = folder() / "environments" / owner / STAMP
    if stamp.is_file() and stamp.read_text() == _contents(owner):
        return ""
    failure = folder() / f"{owner}.failure"
    if failure.is_file():
        return failure.read_text()
    state = "out of date" if stamp.is_file() else "not installed"
    return f"{state}; run: python -m bench.peers --setup {owner}"


def set_up(peer: str) -> None:
    """Create the environment of a peer unless it exists; raises SetupError."""
    owner = PEERS[peer].environment or peer
    failure = folder() / f"{owner}.failure"
    if not missing(owner):
        failure.unlink(missing_ok=True)
        return
    place = folder() / "environments" / owner
    contents = _contents(owner)
    try:
        (place / STAMP).unlink(missing_ok=True)
        if not (place / "bin" / "python").exists():
            shutil.rmtree(place, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(place))
        if PEERS[owner].built:
            wheel = _wheel()
            _pip(place, "install", "--force-reinstall", "--no-deps", str(wheel))
        for package in PEERS[owner].packages:
            _pip(place, "install", package)
        for package in PEERS[owner].alone:
            _pip(place, "install", "--no-deps", package)
    except SetupError as error:
        failure.parent.mkdir(parents=True, exist_ok=True)
        failure.write_text(str(error))
        raise
    failure.unlink(missing_ok=True)
    (place / STAMP).write_text(contents)


def versions(peer: str) -> dict[str, str]:
    """Return the versions of the distributions that the table names, from a peer's environment."""
    owner = PEERS[peer].environment or peer
    names = [line.split("==")[0] for line in (*PEERS[owner].packages, *PEERS[owner].alone)]
    if PEERS[owner].built:
        names.insert(0, "penstock")
    code = (
        "import sys, platform, importlib.metadata as m\n"
        "print('python', platform.python_version())\n"
        "for name in sys.argv[1:]: print(name, m.version(name))"
    )
    lines = _run(str(interpreter(owner)), "-c", code, *names).splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


def clean_environ() -> dict[str, str]:
    """Return this process's environment variables, except those that affect Python environments."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in dropped}


def _contents(owner: str) -> str:
    """Return the required contents of the environment: packages, and for penstock its sources."""
    lines = [*PEERS[owner].packages, *PEERS[owner].alone]
    if PEERS[owner].built:
        lines.append(_digest())
    return "\n".join(lines)


def _digest() -> str:
    found = hashlib.sha256()
    for name in SOURCES:
        path = ROOT / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix in KINDS:
                found.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return found.hexdigest()


def _wheel() -> Path:
    wheels = folder() / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    _run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", str(wheels), str(ROOT))
    return next(wheels.glob("penstock-*.whl"))


def _pip(place: Path, *arguments: str) -> None:
    _run(str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments)


def _run(*command: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env=clean_environ(), cwd="/", check=False
    )
    if done.returncode:
        raise SetupError(f"{' '.join(command[-2:])}: {_reason(done.stdout + done.stderr)}")
    return done.stdout


def _reason(said: str) -> str:
    """Return the last line that reports an error, else the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "rror:" in line or line.startswith("CMake Error")]
    return (telling or lines or ["nothing was said"])[-1][:300]
