"""Files in stores that fsspec supports."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.remote.failures import Failure, of_status, seconds_to_wait
from penstock.remote.obstore_files import Entry, Reply

_MIN_PART, _MAX_PART = 64 << 10, 4 << 20  # bytes
_THREADS = 8  # for file systems that only have blocking functions


class FsspecFiles:
    """The files of an fsspec file system.

    Parameters
    ----------
    url : str
        Any URL of the file system.
    options : dict
        Storage options.
    """

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        fsspec: Any = import_module("fsspec")
        protocol = url.partition("://")[0]
        kind = fsspec.get_filesystem_class(protocol)
        host = kind._get_kwargs_from_urls(url)
        options = {**host, **options}
        self._part = _MAX_PART
        if kind.async_impl:
            self._fs: Any = kind(asynchronous=True, loop=asyncio.get_running_loop(), **options)
            self._threads = None
        else:
            self._fs = kind(**options)
            self._threads = ThreadPoolExecutor(_THREADS, "penstock-remote")

    def path_of(self, url: str) -> str:
        """Return the path of a URL in this file system."""
        return str(self._fs._strip_protocol(url))

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._threads is None:
                return await getattr(self._fs, f"_{name}")(*args, **kwargs)
            loop = asyncio.get_running_loop()
            call: Callable[[], Any] = lambda: getattr(self._fs, name)(*args, **kwargs)  # noqa: E731
            return await loop.run_in_executor(self._threads, call)
        except Exception as error:
            raise _failure(error) from None  # its message may contain a URL with a password

    async def describe(self, path: str) -> tuple[int, str]:
        """Return the size of a file, and the tag of its content."""
        info = await self._call("info", path)
        if info.get("type") == "directory":
            raise Failure("a file was expected, got a folder", errno.EISDIR)
        if info.get("size") is None:
            raise Failure("the server does not say how long the file is")
        names = ("ETag", "etag", "LastModified", "last_modified", "mtime", "created")
        tag = next((str(info[name]) for name in names if info.get(name) is not None), "")
        return int(info["size"]), tag

    async def open(self, path: str, start: int, size: int, first: bool) -> Reply:
        """Request `size` bytes from `start`; `first`: nothing is known about the file yet."""
        total, tag = -1, ""
        if first:
            total, tag = await self.describe(path)
            size = max(0, min(size, total - start))
        return Reply(start, start + size, total, tag, lambda _: self._parts(path, start, size))

    async def _parts(self, path: str, start: int, size: int) -> AsyncIterator[Any]:
        # The libraries discard the start of a broken reply, so reduce the part size.
        at, end = start, start + size
        while at < end:
            asked = min(self._part, end - at)
            try:
                part = await self._call("cat_file", path, start=at, end=at + asked)
            except (Failure, asyncio.CancelledError):
                self._part = max(asked // 4, _MIN_PART)
                raise
            if len(part) != asked:
                raise Failure(f"{asked} bytes were expected, got {len(part)}", again=True)
            self._part = min(2 * self._part, _MAX_PART)
            at += asked
            yield part

    async def open_whole(self, path: str) -> Reply:
        """Request all bytes of a file."""

        async def parts(_: int) -> AsyncIterator[Any]:
            yield await self._call("cat_file", path)

        return Reply(0, None, -1, "", parts)

    async def upload(self, path: str, content: bytes | Path) -> None:
        """Write bytes or a local file to an object."""
        if isinstance(content, Path):
            await self._call("put_file", str(content), path)
        else:
            await self._call("pipe_file", path, content)

    async def remove(self, path: str) -> None:
        """Remove an object."""
        await self._call("rm_file", path)

    async def entries(self, prefix: str, deep: bool) -> AsyncIterator[Entry]:
        """Yield the entries of a folder; with `deep`, also those of its subfolders."""
        if deep:
            found = (await self._call("find", prefix, detail=True)).values()
        else:
            found = await self._call("ls", prefix, detail=True)
        for info in found:
            folder = info.get("type") == "directory"
            yield Entry(info["name"] + ("/" if folder else ""), info.get("size") or 0)


def _failure(error: Exception) -> Failure:
    if isinstance(error, Failure):
        return error
    text = f"{type(error).__name__}: {error}"[:300]
    if isinstance(error, (FileNotFoundError, IsADirectoryError, PermissionError)):
        return Failure(text, error.errno or _NUMBERS[type(error)])
    response = getattr(error, "response", None)
    status = getattr(error, "status", getattr(response, "status_code", None))
    if isinstance(status, int):
        headers = getattr(error, "headers", None) or getattr(response, "headers", None)
        return of_status(status, text, seconds_to_wait(headers or {}))
    # Do not retry invalid arguments.
    wrong = (TypeError, ValueError, NotImplementedError, ImportError)
    return Failure(text, again=not isinstance(error, wrong))


_NUMBERS: dict[type, int] = {
    FileNotFoundError: errno.ENOENT,
    IsADirectoryError: errno.EISDIR,
    PermissionError: errno.EACCES,
}
