"""Local copies of remote files, shared by processes; the least recently used are removed.

The name of a copy is derived from the file's URL, size and tag, so a copy of older content is not
found. A process fills the copy under another name, holds a lock on it, and renames it when it is
complete. If the process is killed, only the unfinished file remains, which the next process
removes.

Next to a copy is a file with a checksum for each block (cpp/storage/checked_copy.h). The engine
verifies the blocks that it reads. If a copy was modified or has no checksums, the engine reads the
remote file instead, and the copy is removed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import _core, log
from penstock.locks import lock, remove_abandoned
from penstock.printable import printable, shown
from penstock.remote.attempts import Attempts
from penstock.remote.obstore_files import Answer

if TYPE_CHECKING:
    from typing_extensions import Buffer

_END = ".copy"
_UNFINISHED = ".part"
_MOST_AT_ONCE = 128  # maximum of files that this process fills at the same time


class Copies:
    """The copies in one folder.

    Parameters
    ----------
    folder : str
        The folder; created when the first file is stored.
    most_bytes : int, optional
        Maximum total size of the copies in bytes.
    """

    def __init__(self, folder: str, most_bytes: int | None) -> None:
        self._folder = Path(folder)
        self._most = most_bytes
        # Copy names and tags, by URL, so that each URL is queried only once.
        self._names: dict[str, tuple[str, str]] = {}
        self._filling: OrderedDict[str, _Filling] = OrderedDict()
        self._cleaned = False

    async def find(self, url: str, attempts: Attempts) -> tuple[str, str] | None:
        """Return the path of a complete copy, and the tag of its content."""
        if url not in self._names:
            size, tag = await attempts.describe(url)
            if not tag:
                return None  # without a tag, the content cannot be identified
            self._names[url] = _name(url, size, tag), tag
        name, tag = self._names[url]
        path = await asyncio.to_thread(self._used, name)
        return None if path is None else (path, tag)

    def _used(self, name: str) -> str | None:
        path = self._folder / name
        try:
            os.utime(path)
        except OSError:
            return None
        return str(path)

    async def remove_damaged(self, url: str) -> None:
        """Remove a copy that does not match its checksums."""
        name, _ = self._names.pop(url, ("", ""))
        if name:
            log.warn(
                f"cache_dir: the copy of {shown(url)} in {self._folder} was damaged; the "
                "file is read again"
            )
            await asyncio.to_thread(_remove, self._folder / name)

    async def keep(self, url: str, answer: Answer, tag: str) -> None:
        """Store some bytes of a file, and complete the copy when all have arrived."""
        tag = tag or answer.tag
        # A reader that starts in the middle of a file would not complete the copy.
        if answer.offset == 0:
            self.begin(url, answer.total, tag)
        filling = self._filling.get(url)
        if filling is None or filling.tag != tag:
            return
        try:
            if await asyncio.to_thread(filling.put, answer.offset, answer.buffer):
                self._filling.pop(url, None)
                self._names[url] = filling.name, filling.tag
                _core.keep_remote_copy(url, str(self._folder / filling.name), filling.tag)
        except OSError as error:
            self._leave(url)
            self._warn(url, error)

    def _warn(self, url: str, error: OSError) -> None:
        text = printable(f"cache_dir: {url} cannot be kept in {self._folder}: {error}")
        warnings.warn(text, RuntimeWarning, stacklevel=3)

    def begin(self, url: str, total: int, tag: str) -> None:
        """Start the copy of a file whose first bytes are being read."""
        filling = self._filling.get(url)
        if (filling and filling.tag == tag) or total < 1 or not tag:
            return
        self._leave(url)
        name = _name(url, total, tag)
        try:
            if (self._folder / name).exists() or not self._make_room(total):
                return
            self._filling[url] = _Filling(self._folder, name, total, tag)
        except OSError as error:
            self._warn(url, error)
        if len(self._filling) > _MOST_AT_ONCE:
            self._leave(next(iter(self._filling)))

    def _leave(self, url: str) -> None:
        filling = self._filling.pop(url, None)
        if filling:
            filling.leave()

    def close(self) -> None:
        """Remove incomplete copies."""
        for url in list(self._filling):
            self._leave(url)

    def _make_room(self, size: int) -> bool:
        """Remove the least recently used copies until there is room; return whether there is."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._cleaned:
            self._cleaned = True
            remove_abandoned(self._folder.glob(f"*{_UNFINISHED}"))
        if self._most is None:
            return True
        found: list[tuple[float, int, Path]] = []
        taken = size
        for path in self._folder.iterdir():
            try:
                info = path.stat()
            except FileNotFoundError:
                continue  # another process removed it
            if path.name.endswith((_END, _UNFINISHED)):
                taken += info.st_size
            if path.name.endswith(_END):
                found.append((info.st_mtime, info.st_size, path))
        for _, bytes_, path in sorted(found):
            if taken <= self._most or size > self._most:
                break
            _remove(path)
            taken -= bytes_
        return taken <= self._most


class _Filling:
    """A copy that receives its final name when all bytes are written."""

    def __init__(self, folder: Path, name: str, total: int, tag: str) -> None:
        self.name = name
        self.tag = tag
        self._total = total
        self._spans: list[tuple[int, int]] = []  # byte ranges written so far
        self._path = folder / f"{name}-{os.urandom(8).hex()}{_UNFINISHED}"
        self._mutex = threading.Lock()
        self._sums = _core.CopySums(total)
        self._file = self._path.open("xb")
        lock(self._file.fileno())
        self._file.truncate(total)

    def put(self, offset: int, buffer: Buffer) -> bool:
        """Write some bytes; return whether the copy is complete now."""
        view = memoryview(buffer)
        with self._mutex:
            if self._file.closed:
                return False
            self._file.seek(offset)
            self._file.write(view)
            self._sums.add(offset, view)
            self._spans = _joined([*self._spans, (offset, offset + len(view))])
            if self._spans != [(0, self._total)]:
                return False
            self._file.flush()
            os.fsync(self._file.fileno())
            copy = self._path.with_name(self.name)
            self._keep_sums(_core.sums_of_copy(str(copy)))
            self._path.replace(copy)
            self._file.close()
            return True

    def _keep_sums(self, name: str) -> None:
        # This precedes renaming the copy, because copies without checksums are not read.
        path = self._path.with_suffix(f".sums{_UNFINISHED}")
        with path.open("xb") as file:
            lock(file.fileno())
            file.write(self._sums.text(str(self._path)))
            file.flush()
            path.replace(name)

    def leave(self) -> None:
        """Remove the incomplete copy."""
        with self._mutex:
            self._file.close()
            self._path.unlink(missing_ok=True)


def _remove(copy: Path) -> None:
    copy.unlink(missing_ok=True)
    Path(_core.sums_of_copy(str(copy))).unlink(missing_ok=True)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def _name(url: str, size: int, tag: str) -> str:
    return hashlib.sha256(f"{url}\n{size}\n{tag}".encode()).hexdigest()[:40] + _END
