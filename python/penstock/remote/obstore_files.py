"""Files in stores that obstore supports: S3, Google, Azure, web servers."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit
from weakref import WeakSet

from penstock.printable import printable
from penstock.remote import s3_keys
from penstock.remote.blocking_calls import in_daemon_thread
from penstock.remote.content_encoding import is_encoded
from penstock.remote.failures import Failure, NoLength, NoRanges, PastEnd, of_status

SCHEMES = frozenset(("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "http", "https"))

# fsspec's option names, mapped to obstore's.
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
# Headers that obstore never sends to another host.
_KEPT_BACK = frozenset(("authorization", "cookie"))


_SIGNED = timedelta(minutes=15)  # validity of a signature


_process: int | None = None  # the process that runs obstore's threads


def _check_process(url: str) -> None:
    """Raise RuntimeError in a child forked after URLs were read: it would wait forever."""
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise RuntimeError(
            f"{printable(url)} cannot be read in a process that was forked after its "
            "parent had read URLs: a fork has no obstore threads; start the process with "
            '"spawn" or "forkserver"'
        )


# Requests of obstore's threads. The threads acquire the GIL when a request finishes, even after a
# cancellation, and would crash the process if the interpreter had already shut down.
_pending: WeakSet[Any] = WeakSet()


def _sent(future: Any) -> Any:
    _pending.add(future)
    return future


async def threads_are_through(patience: float) -> None:
    """Wait until obstore's threads have no requests left, at most `patience` seconds."""
    deadline = time.monotonic() + patience
    while len(_pending) > 0 and time.monotonic() < deadline:
        await asyncio.sleep(0.002)


class Answer(NamedTuple):
    """Bytes of a file."""

    buffer: Any
    offset: int
    total: int
    tag: str


class Reply(NamedTuple):
    """The start of a reply to a request for bytes of a file."""

    offset: int
    end: int | None  # None if the server does not send the length
    total: int  # of the file; -1 if the server does not send it
    tag: str
    parts: Callable[[int], AsyncIterator[Any]]  # yields the bytes, in parts of at least this size


class Entry(NamedTuple):
    """An object in a store."""

    path: str
    size: int


class ObstoreFiles:
    """The files of one bucket, container or web server.

    Parameters
    ----------
    url : str
        Any URL of the bucket, container or server.
    options : dict
        Storage options, with the names of fsspec or obstore.
    timeout : float
        Maximum time to wait for bytes in seconds, for requests that obstore does not send.
    """

    def __init__(self, url: str, options: dict[str, Any], timeout: float) -> None:
        _check_process(url)
        self._obstore: Any = import_module("obstore")
        stores: Any = import_module("obstore.store")
        scheme, host, path, query, _ = urlsplit(url)
        family = _FAMILY.get(scheme, scheme)
        config, client = _configuration(family, options)
        # The caller makes the retries: one loop, one limit.
        common: dict[str, Any] = {"client_options": client, "retry_config": {"max_retries": 0}}
        self._timeout = timeout
        self._base = ""  # of a web server's URLs
        self._may_move = False  # headers must not follow a redirect to another host
        self._moved: dict[str, str] = {}  # URLs of files on another host, by path
        self._plain: set[str] = set()  # paths of files that obstore cannot read
        self._without_lengths = False  # the server sent a whole file without its size
        self._bucket = host if family == "s3" else ""
        self._config = config
        if family == "http":
            user, _, host = host.rpartition("@")
            headers = dict(client.get("default_headers", {}))
            if user:
                basic = base64.b64encode(unquote(user).encode()).decode()
                headers = {"Authorization": f"Basic {basic}", **headers}
            names = {str(name).lower() for name in client.get("default_headers", ())}
            self._may_move = bool(names - _KEPT_BACK)
            self._client = {**client, "default_headers": headers}
            if "accept-encoding" not in names:  # ranges must be bytes of the file itself
                headers["Accept-Encoding"] = "identity"
            common["client_options"] = self._client
            exact = f"{path}?{query}" if query else path
            where = f"{scheme}://{host}{exact if self.is_exact(url) else ''}"
            self._base = where if self.is_exact(url) else f"{where}/"
            self._elsewhere = partial(
                stores.HTTPStore.from_url,
                client_options={**client, "default_headers": {"Accept-Encoding": "identity"}},
                retry_config=common["retry_config"],
            )
            self._open: Callable[..., Any] = partial(stores.HTTPStore.from_url, where, **common)
        else:
            self._client = client
            if "credential_provider" in config:
                common["credential_provider"] = config.pop("credential_provider")
            self._open = partial(stores.from_url, f"{scheme}://{host}", config=config, **common)
        self._store = self._open()

    async def _find(self, path: str) -> None:
        """Check whether a file is on another host, before reading it."""
        if not self._may_move:
            return
        from penstock.remote.redirects import moved_to  # imports http and ssl

        url = self._base + quote(path)
        moved = await in_daemon_thread(moved_to, url, self._client, self._timeout)
        if moved is None:
            self._moved.pop(path, None)
        else:
            self._moved[path] = moved

    async def _ask(self, name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        store = self._store
        if name in ("get_async", "head_async") and path in self._moved:
            store, path = self._elsewhere(self._moved[path]), ""
        elif self._bucket and s3_keys.is_exact(path):
            store = self._open(config=s3_keys.of_key(self._bucket, self._config, path))
            path = s3_keys.NAME
            if name == "put_async":
                kwargs["use_multipart"] = False
        try:
            return await _sent(getattr(self._obstore, name)(store, path, *args, **kwargs))
        except Exception as error:
            failure = _failure(self._obstore, error)
            # A store keeps credentials until they expire; a new store requests new ones.
            if failure.kind == "expired" and store is self._store:
                self._store = self._open()
            raise failure from None  # obstore's message contains the URL with its query

    @staticmethod
    def is_exact(url: str) -> bool:
        """Return whether a URL must be used unchanged: it has a query, ``//`` or ``/../``."""
        scheme, _, path, query, _ = urlsplit(url)
        return scheme in ("http", "https") and (bool(query) or "//" in path or "/../" in path)

    def path_of(self, url: str) -> str:
        """Return the path of a URL in this store."""
        if self.is_exact(url):
            return ""
        _, scheme, rest = url.partition("://")
        path = rest.partition("/")[2] if scheme else url
        return unquote(path) if url.startswith("http") else path

    async def open(self, path: str, start: int, size: int, first: bool) -> Reply:
        """Request `size` bytes from `start`; `first`: nothing is known about the file yet."""
        if first:
            await self._find(path)
        try:
            got = await self._ask("get_async", path, options={"range": (start, start + size)})
        except NoLength as failure:
            raise NoRanges(failure.text, again=True) from failure
        except PastEnd as failure:
            if not first:
                raise
            total, tag = await self.describe(path) if start > 0 else (-1, "")
            if total < 0:  # the file may be empty
                raise NoRanges(failure.text, again=True) from failure
            return Reply(start, start, total, tag, lambda _: _no_parts())
        if self._base and is_encoded(_encoding(got), path):
            self._plain.add(path)
            raise NoRanges("ranges of the compressed file", again=True)
        begin, end = got.range
        return Reply(begin, end, got.meta["size"], _tag(got.meta), partial(self._parts, got))

    async def open_whole(self, path: str) -> Reply:
        """Request all bytes of a file, from a server without ranges."""
        if path not in self._plain and not self._without_lengths:
            try:
                got = await self._ask("get_async", path)
                if not (self._base and is_encoded(_encoding(got), path)):
                    size = got.meta["size"]
                    return Reply(0, size, size, _tag(got.meta), partial(self._parts, got))
                self._plain.add(path)
            except NoLength:
                if not self._base:
                    raise
                self._without_lengths = True
        from penstock.remote.plain_http import request_whole  # imports http and ssl

        moved = self._moved.get(path)
        client = {**self._client, "default_headers": {}} if moved else self._client
        url = moved or self._base + quote(path)
        reply = await request_whole(url, client, path or self._base, self._timeout)
        end = reply.size if reply.size >= 0 else None
        return Reply(0, end, reply.size, reply.tag, lambda _: reply.parts())

    async def _parts(self, got: Any, size: int) -> AsyncIterator[Any]:
        begin, end = got.range
        try:
            if size >= end - begin:
                yield await _sent(got.bytes_async())
                return
            stream = aiter(got.stream(min_chunk_size=size))
            while True:
                yield await _sent(stream.__anext__())
        except StopAsyncIteration:
            return
        except Exception as error:
            raise _failure(self._obstore, error) from None

    async def describe(self, path: str) -> tuple[int, str]:
        """Return the size of a file (-1 if the server does not send it), and its tag."""
        await self._find(path)
        try:
            meta = await self._ask("head_async", path)
        except Failure as failure:
            if not self._base or failure.number == errno.ENOENT:
                raise
            # Not every server supports HEAD, and the signature of a URL is for GET.
            try:
                meta = (await self._ask("get_async", path, options={"range": (0, 1)})).meta
            except PastEnd:
                return 0, ""
            except (NoRanges, NoLength):
                return -1, ""
        return meta["size"], _tag(meta)

    async def upload(self, path: str, content: bytes | Path) -> None:
        """Write bytes or a local file to an object, which appears when it is complete."""
        await self._ask("put_async", path, content)

    async def remove(self, path: str) -> None:
        """Remove an object."""
        await self._ask("delete_async", path)

    async def entries(self, prefix: str, deep: bool) -> AsyncIterator[Entry]:
        """Yield the entries of a folder; with `deep`, also those of its subfolders."""
        found = None if s3_keys.is_exact(prefix) else await self._listed(prefix, deep)
        # An empty object may be a folder marker: obstore strips the trailing slash of its name.
        if self._bucket and (found is None or any(self._may_be_marker(each) for each in found)):
            found = await self._listed_exactly(prefix, deep)
        folders = {prefix}
        for each in found or ():
            folders.update(each.path[: at.start()] for at in re.finditer("/", each.path))
        for each in found or ():
            if each.size > 0 or each.path not in folders:
                yield each

    @staticmethod
    def _may_be_marker(entry: Entry) -> bool:
        return entry.size == 0 and not entry.path.endswith("/")

    async def _listed(self, prefix: str, deep: bool) -> list[Entry] | None:
        """Return the entries that obstore finds; None if it rejects some of the keys."""
        try:
            if not deep:
                found = await _sent(self._obstore.list_with_delimiter_async(self._store, prefix))
                entries = [Entry(f"{folder}/", 0) for folder in found["common_prefixes"]]
                return entries + [Entry(meta["path"], meta["size"]) for meta in found["objects"]]
            stream = self._obstore.list(self._store, prefix, chunk_size=1000)
            return [Entry(meta["path"], meta["size"]) async for batch in stream for meta in batch]
        except Exception as error:
            if self._bucket and isinstance(error, self._obstore.exceptions.InvalidPathError):
                return None
            raise _failure(self._obstore, error) from None

    async def _listed_exactly(self, prefix: str, deep: bool) -> list[Entry]:
        from penstock.remote.plain_http import request_whole

        found: list[Entry] = []
        token = ""
        while True:
            begin = f"{prefix}/" if prefix else ""
            config = s3_keys.of_list(self._bucket, self._config, begin, deep, token)
            try:
                url = config["endpoint"] + "/" + s3_keys.NAME
                if not config.get("skip_signature"):
                    store = self._open(config=config)
                    arguments = (store, "GET", s3_keys.NAME)
                    url = await _sent(self._obstore.sign_async(*arguments, expires_in=_SIGNED))
            except Exception as error:
                raise _failure(self._obstore, error) from None
            reply = await request_whole(url, self._client, "", self._timeout)
            page = b"".join([part async for part in reply.parts()])
            entries, token = s3_keys.read_page(page)
            found += [Entry(*entry) for entry in entries]
            if not token:
                return found


async def _no_parts() -> AsyncIterator[Any]:
    """Yield nothing."""
    return
    yield


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


def _encoding(got: Any) -> str:
    return str(got.attributes.get("Content-Encoding", ""))


def _tag(meta: Any) -> str:
    changed = meta["last_modified"]
    # If a server sends no modification time, obstore reports the year 1970.
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
    # The Content-Range header is missing, or does not contain the size.
    without = "Content-Range header" in text or "CONTENT_RANGE header" in text
    if without or isinstance(error, known.NotSupportedError):
        return NoRanges(text, again=True)
    if "Content-Length Header missing" in text:
        return NoLength(text, again=True)
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
