"""The JPEGs of the demo: those of a folder, or variations of Matplotlib's sample photograph."""

import contextlib
import glob
import io
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import penstock as ps
from penstock.demo.errors import DemoError
from penstock.meter import Meter
from penstock.printable import printable

_SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif")
_INSTALL = 'pip install "penstock[viz]"'
_QUALITY = 90
_ABANDONED = 3600.0  # seconds after which an incomplete folder counts as abandoned


class Photos(NamedTuple):
    """The images that the pipelines read."""

    folder: Path
    paths: list[str]
    found: int  # number in the folder, used or not
    size: int  # total size of `paths` in bytes

    def patterns(self) -> list[str]:
        """Return glob patterns that match exactly `paths`."""
        return [glob.escape(path) for path in self.paths]


def require(*packages: str) -> None:
    """Raise DemoError unless the optional packages can be imported."""
    for package in packages:
        try:
            __import__(package)
        except ImportError as error:
            raise DemoError(f"{error.name or package} is missing; install it: {_INSTALL}") from None


def find(folder: Path, most: int) -> Photos:
    """Find JPEGs below a folder.

    Parameters
    ----------
    folder : Path
        The folder; its subfolders are searched, too.
    most : int
        Maximum number of images, evenly spread over the sorted names.

    Raises
    ------
    DemoError
        If the folder does not exist, is a file, or holds no JPEG.
    """
    if not folder.exists():
        raise DemoError(f"{printable(folder)}: no such folder")
    if not folder.is_dir():
        raise DemoError(f"{printable(folder)} is a file; give the folder that holds the JPEGs")
    found = sorted(_jpegs(folder))
    if not found:
        raise DemoError(
            f"{printable(folder)} has no JPEGs (names that end in {', '.join(_SUFFIXES)})"
        )
    used = min(most, len(found))
    paths = [found[i * len(found) // used] for i in range(used)]
    return Photos(folder, paths, len(found), sum(Path(path).stat().st_size for path in paths))


def made(count: int) -> Photos:
    """Return `count` generated photographs, from the cache folder if they exist."""
    folder = _cache() / "demo-photos"
    if not folder.is_dir() or sum(1 for _ in _jpegs(folder)) < count:
        _make(folder, count)
    return find(folder, count)


def _jpegs(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.lower().endswith(_SUFFIXES):
                yield os.path.join(parent, name)  # noqa: PTH118 - quick over a million names


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "penstock"


def _make(folder: Path, count: int) -> None:
    """Fill a temporary folder, and rename it when it is complete."""
    require("PIL", "matplotlib")
    progress = Meter("making photos", count, "images")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    except OSError as error:
        raise DemoError(
            f"no photos can be made there: {error}; set XDG_CACHE_HOME to a folder that can be "
            "written to, or give a FOLDER of your own"
        ) from None
    try:
        _fill(partial, count, progress)
        _put(partial, folder)
    except OSError as error:
        raise DemoError(f"the photos could not be written: {error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    progress.finish(f"{count:,} in {printable(folder)}")


def _fill(folder: Path, count: int, progress: Meter) -> None:
    photograph = _photograph()

    def write(number: int) -> int:
        path = folder / f"{number:06d}.jpg"
        return path.write_bytes(_variation(photograph, int(number)))

    photos = ps.Dataset.range(count).map(write, num_parallel_calls=ps.AUTOTUNE, deterministic=False)
    for done, _ in enumerate(photos, 1):
        progress.update(done)


def _put(partial: Path, folder: Path) -> None:
    # A folder with too few photos is moved away, because it cannot be replaced atomically.
    if folder.exists():
        partial.with_name(f"{partial.name}-old").mkdir()
        folder.rename(partial.with_name(f"{partial.name}-old") / folder.name)
    try:
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another run was faster
            raise
    shutil.rmtree(partial.with_name(f"{partial.name}-old"), ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    for partial in folder.parent.glob(f"{folder.name}.part-*"):
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime > _ABANDONED:
                shutil.rmtree(partial, ignore_errors=True)


def _photograph() -> Any:
    import matplotlib.cbook
    from PIL import Image

    try:
        file = matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
        return Image.open(file).convert("RGB")
    except OSError as error:
        raise DemoError(
            f"the photograph that Matplotlib ships is not there ({error}); give a FOLDER of JPEGs"
        ) from None


def _variation(photograph: Any, number: int) -> bytes:
    """Return a JPEG of the photograph with crop, tones and orientation chosen by `number`."""
    from PIL import Image, ImageEnhance, ImageOps

    draw = random.Random(number)
    long = draw.randint(480, 520)
    size = (long, long * 3 // 4)
    if draw.random() < 0.25:
        size = size[::-1]
    zoom = draw.uniform(1.0, 1.6)
    width, height = size[0] / zoom, size[1] / zoom
    shrink = min(1.0, photograph.width / width, photograph.height / height)
    width, height = width * shrink, height * shrink
    left = draw.uniform(0, photograph.width - width)
    top = draw.uniform(0, photograph.height - height)
    box = (left, top, left + width, top + height)
    image = photograph.resize(size, Image.Resampling.BICUBIC, box=box)
    if draw.random() < 0.5:
        image = ImageOps.mirror(image)
    for tone in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        image = tone(image).enhance(draw.uniform(0.7, 1.3))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()
