"""Files that get their final names once they are complete, locally or in a store."""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from penstock.locks import lock, remove_abandoned
from penstock.paths import is_url, naming

_MARK = ".tmp-"
_NUMBER = re.compile(r"[0-9a-f]{16}")


def staged(names: Sequence[str]) -> StagedFiles | StagedObjects:
    """Return staged files for these names, all of which are paths or all URLs."""
    return StagedObjects(names) if is_url(names[0]) else StagedFiles(names)


class StagedObjects:
    """Local files that are uploaded to object stores once they are complete.

    Attributes
    ----------
    paths : list of str
        The local path of each file.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self.paths: list[str] = []

    def __enter__(self) -> Self:
        from penstock.remote.writing import require_library

        require_library(self._urls[0])
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-")
        self.paths = [os.path.join(self._folder.name, str(i)) for i in range(len(self._urls))]  # noqa: PTH118
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def complete(self) -> None:
        """Upload the files."""
        from penstock.remote.writing import write_object

        for path, url in zip(self.paths, self._urls, strict=True):
            write_object(url, Path(path))


class StagedFiles:
    """Temporary files in the target folder, which are renamed once they are complete.

    The files are locked until then. Unlocked temporary files for the same names are the remains of
    a killed writer, and are removed first.

    Attributes
    ----------
    paths : list of str
        The temporary path of each file.
    """

    def __init__(self, names: Sequence[str]) -> None:
        # If the name is a symbolic link, it is kept, and its target is replaced.
        self._targets = [Path(name).resolve() for name in names]
        self._locks: list[int] = []
        self.paths: list[str] = []

    def __enter__(self) -> Self:
        folder = self._targets[0].parent
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for target in self._targets:
                if target.exists() and not target.is_file():
                    raise FileExistsError(17, "something else than a file is there", str(target))
            self._remove_abandoned(folder)
            for target in self._targets:
                self._make(target)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _remove_abandoned(self, folder: Path) -> None:
        ours = {_beginning(target) for target in self._targets}
        found = folder.glob(f".*{glob.escape(_MARK)}*")
        split = ((path, path.name.rpartition(_MARK)) for path in found)
        remove_abandoned(
            path
            for path, (begin, mark, number) in split
            if begin + mark in ours and _NUMBER.fullmatch(number)
        )

    def _make(self, target: Path) -> None:
        """Create and lock a file, before another process can mistake it for an abandoned one."""
        while True:
            path = target.with_name(f"{_beginning(target)}{os.urandom(8).hex()}")
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            lock(handle)
            if os.fstat(handle).st_nlink == 0:
                os.close(handle)
                continue
            self._locks.append(handle)
            self.paths.append(str(path))
            return

    def __exit__(self, *_: object) -> None:
        for path in self.paths:
            Path(path).unlink(missing_ok=True)
        for handle in self._locks:
            os.close(handle)
        self.paths, self._locks = [], []

    def complete(self) -> None:
        """Rename the files to their final names."""
        for path, target in zip(self.paths, self._targets, strict=True):
            with naming(str(target), path), open(path, "rb+") as file:  # noqa: PTH123
                os.fsync(file.fileno())
        for path, target in zip(self.paths, self._targets, strict=True):
            if target.exists():
                Path(path).chmod(target.stat().st_mode & 0o7777)
            Path(path).replace(target)
        self.paths = []


def _beginning(target: Path) -> str:
    """Return the prefix of the temporary files that are to replace a target."""
    return f".{target.name[:100]}{_MARK}"
