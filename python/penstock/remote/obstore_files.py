"""Files in stores that obstore knows: S3, Google, Azure, web servers."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit
from weakref import WeakSet

from penstock.printable import printable
from penstock.remote.failures import Failure, NoRanges, PastEnd, of_status
from penstock.storage_options import without_user

SCHEMES = frozenset(("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "http", "https"))

# fsspec's names of what obstore calls otherwise.
_RENAMED = {
    "s3": {
        "key": "access_key_id",
        "secret": "secret_access_key",
        "token": "session_token",
        "anon": "skip_signature",
        "endpoint_url": "endpoint",
        "region_name": "region",
        "requester_pays": "request_payer",
    },
    "gs": {"token": "service_account", "anon": "skip_signature", "endpoint_url": "base_url"},
    "az": {
        "account_key": "access_key",
        "sas_token": "sas_key",
        "anon": "skip_signature",
        "endpoint_url": "endpoint",
    },
    "http": {"headers": "default_headers"},
}
_IGNORED = {"project", "use_ssl", "config_kwargs", "s3_additional_kwargs", "asynchronous", "loop"}
_FAMILY = {"s3a": "s3", "azure": "az", "abfs": "az", "abfss": "az", "adl": "az", "https": "http"}
# Headers that the library never sends to another host.
_KEPT_BACK = frozenset(("authorization", "cookie"))


_process: int | None = None  # in which obstore has its threads


def _check_process(url: str) -> None:
    """Raise RuntimeError in the child of a process that has read URLs: it would wait for ever."""
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise RuntimeError(
            f"{printable(without_user(url))} cannot be read in a process that was forked after its "
            "parent had read URLs: a fork has no obstore threads; start the process with "
            '"spawn" or "forkserver"'
        )


# What obstore's threads still have to do with: they take Python's lock when they are through, also
# after a cancellation, and would end the process if the interpreter ended before.
_pending: WeakSet[Any] = WeakSet()


def _sent(future: Any) -> Any:
    _pending.add(future)
    return future


async def threads_are_through(patience: float) -> None:
    """Wait until obstore's threads have no request left, or the seconds of `patience` are over."""
    deadline = time.monotonic() + patience
    while len(_pending) > 0 and time.monotonic() < deadline:
        await asyncio.sleep(0.002)


class Answer(NamedTuple):
    """Bytes of a file."""

    buffer: Any
    offset: int
    total: int
    tag: str


class Entry(NamedTuple):
    """An object in a store."""

    path: str
    size: int


class ObstoreFiles:
    """The files of one bucket, container or web server.

    Parameters
    ----------
    url : str
        Any URL of it.
    options : dict
        fsspec's storage options, or names of obstore's configuration.
    """

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        _check_process(url)
        self._obstore: Any = import_module("obstore")
        stores: Any = import_module("obstore.store")
        scheme, host, path, query, _ = urlsplit(url)
        family = _FAMILY.get(scheme, scheme)
        config, client = _configuration(family, options)
        # Retries are made by whoever calls: one loop, with one limit.
        common: dict[str, Any] = {"client_options": client, "retry_config": {"max_retries": 0}}
        self._base = ""  # of URLs, where headers must not follow a redirect to another host
        self._moved: dict[str, Any] = {}  # stores of files on another host, by path
        if family == "http":
            user, _, host = host.rpartition("@")
            if user:
                basic = base64.b64encode(unquote(user).encode()).decode()
                headers = {"Authorization": f"Basic {basic}", **client.get("default_headers", {})}
                common["client_options"] = {**client, "default_headers": headers}
            exact = f"{path}?{query}" if self.is_exact(url) else ""
            where = f"{scheme}://{host}{exact}"
            self._client = common["client_options"]
            names = {str(name).lower() for name in self._client.get("default_headers", ())}
            if names - _KEPT_BACK:
                self._base = where if exact else f"{where}/"
            self._elsewhere = partial(
                stores.HTTPStore.from_url,
                client_options={**client, "default_headers": {}},
                retry_config=common["retry_config"],
            )
            self._open: Callable[[], Any] = partial(stores.HTTPStore.from_url, where, **common)
        else:
            if "credential_provider" in config:
                common["credential_provider"] = config.pop("credential_provider")
            where = f"{scheme}://{host}"
            self._open = partial(stores.from_url, where, config=config, **common)
        self._store = self._open()

    async def _find(self, path: str) -> None:
        """Check whether a file is on another host, before it is read."""
        if not self._base:
            return
        from penstock.remote.redirects import moved_to  # which imports http and ssl

        url = self._base + quote(path)
        moved = await asyncio.to_thread(moved_to, url, self._client)
        if moved is None:
            self._moved.pop(path, None)
        else:
            self._moved[path] = self._elsewhere(moved)

    async def _ask(self, name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        moved = self._moved.get(path) if name in ("get_async", "head_async") else None
        store = moved or self._store
        args = ("" if moved else path, *args)
        try:
            return await _sent(getattr(self._obstore, name)(store, *args, **kwargs))
        except Exception as error:
            failure = _failure(self._obstore, error)
            # A store keeps its credentials as long as they say; another one asks for new ones.
            if failure.kind == "expired" and store is self._store:
                self._store = self._open()
            raise failure from error

    @staticmethod
    def is_exact(url: str) -> bool:
        """Return whether a URL is no path in a store: it has a query, a signature for instance."""
        scheme, _, path, query, _ = urlsplit(url)
        return scheme in ("http", "https") and (bool(query) or "//" in path or "/../" in path)

    def path_of(self, url: str) -> str:
        """Return the path of a URL in this store."""
        if self.is_exact(url):
            return ""
        _, scheme, rest = url.partition("://")
        path = rest.partition("/")[2] if scheme else url
        return unquote(path) if url.startswith("http") else path

    async def read(
        self, path: str, start: int, size: int, first: bool, announce: Callable[[int, str], None]
    ) -> Answer:
        """Return `size` bytes from `start`, fewer at the end of the file."""
        if first:
            await self._find(path)
        try:
            got = await self._ask("get_async", path, options={"range": (start, start + size)})
        except PastEnd:
            if not first:
                raise
            return Answer(b"", start, (await self.read_whole(path)).total, "")
        meta, (begin, end) = got.meta, got.range
        total, tag = meta["size"], _tag(meta)
        expected = max(0, min(size, total - start))
        right = begin == start and end - begin == expected
        if first and right:
            announce(total, tag)
        buffer = await self._bytes(got)
        if not right or len(buffer) != expected:
            raise Failure(f"{expected} bytes were expected, got {len(buffer)}", again=True)
        return Answer(buffer, start, total, tag)

    async def _bytes(self, got: Any) -> Any:
        try:
            return await _sent(got.bytes_async())
        except Exception as error:
            raise _failure(self._obstore, error) from error

    async def read_whole(self, path: str) -> Answer:
        """Return all bytes of a file, from a server that does not know ranges."""
        got = await self._ask("get_async", path)
        meta = got.meta
        buffer = await self._bytes(got)
        if len(buffer) != meta["size"]:
            raise Failure(f"{meta['size']} bytes were expected, got {len(buffer)}", again=True)
        return Answer(buffer, 0, meta["size"], _tag(meta))

    async def describe(self, path: str) -> tuple[int, str]:
        """Return the size of a file, and the tag of its content."""
        await self._find(path)
        meta = await self._ask("head_async", path)
        return meta["size"], _tag(meta)

    async def upload(self, path: str, content: bytes | Path) -> None:
        """Make an object of bytes or a file of this machine; it appears when it is complete."""
        await self._ask("put_async", path, content)

    async def remove(self, path: str) -> None:
        """Remove an object."""
        await self._ask("delete_async", path)

    async def entries(self, prefix: str, deep: bool) -> AsyncIterator[Entry]:
        """Yield what is in a folder; with `deep` what is in its folders, too."""
        try:
            if not deep:
                found = await _sent(self._obstore.list_with_delimiter_async(self._store, prefix))
                for folder in found["common_prefixes"]:
                    yield Entry(f"{folder}/", 0)
                for meta in found["objects"]:
                    yield Entry(meta["path"], meta["size"])
                return
            async for batch in self._obstore.list(self._store, prefix, chunk_size=1000):
                for meta in batch:
                    yield Entry(meta["path"], meta["size"])
        except Exception as error:
            raise _failure(self._obstore, error) from error


def _configuration(family: str, options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    given = {name: value for name, value in options.items() if name not in _IGNORED}
    client: dict[str, Any] = {"timeout": "3600s", "connect_timeout": "10s"}
    client |= given.pop("client_options", {})
    given |= given.pop("client_kwargs", {})
    renamed = _RENAMED.get(family, {})
    config = {renamed.get(name, name): value for name, value in given.items()}
    if family == "gs" and config.get("service_account") == "anon":
        config["skip_signature"] = bool(config.pop("service_account"))
    endpoint = config.get("endpoint") or config.get("base_url") or "http://"
    if str(endpoint).startswith("http://"):
        client.setdefault("allow_http", True)
    if family == "http":
        return {}, client | config
    return config, client


def _tag(meta: Any) -> str:
    changed = meta["last_modified"]
    # Servers that do not say when a file has changed are given the year 1970.
    return meta["e_tag"] or (changed.isoformat() if changed and changed.timestamp() > 0 else "")


_STATUS = re.compile(r"status code: (\d{3})")
_CAUSE = re.compile(r'message: "([^"]+)"|error: "([^"]+)"|\b(TimedOut|IncompleteBody)\b')
_PLAIN = {"TimedOut": "timed out", "IncompleteBody": "the body is shorter than was announced"}


def _failure(obstore: Any, error: Exception) -> Failure:
    if isinstance(error, Failure):
        return error
    known = obstore.exceptions
    text, _, source = str(error).partition("\n\nDebug source")
    status = _STATUS.search(text)
    if status:
        text = "the server says " + " ".join(text[status.start(1) :].split())
        return of_status(int(status[1]), text[:300])
    if isinstance(error, FileNotFoundError):
        return Failure(text, errno.ENOENT)
    if isinstance(error, known.NotSupportedError):
        return NoRanges(text, again=True)
    if isinstance(error, known.PermissionDeniedError):
        return Failure(text, errno.EACCES)
    if isinstance(error, known.UnauthenticatedError):
        return Failure(text, errno.EACCES, again=True, kind="expired")
    if isinstance(error, known.InvalidPathError):
        return Failure(text, errno.EINVAL)
    if "following redirect" in text:
        return Failure("too many redirects")
    causes = [next(filter(None, found)) for found in _CAUSE.findall(source)]
    cause = _PLAIN.get(causes[-1], causes[-1]) if causes else ""
    text = f"{text.rpartition(': ')[2]} ({cause})" if cause else text
    return Failure(text[:300], again=isinstance(error, known.BaseError))
