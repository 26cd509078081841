"""A web server on the loopback address that serves ranges, and fails on request."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import random
import re
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from urllib.parse import unquote, urlsplit

STALL = 30.0  # seconds: longer than any request timeout
TRICKLE = 64  # bytes per write


@dataclass
class Asked:
    """A received request."""

    method: str
    path: str
    range: tuple[int, int] | None
    headers: dict[str, str]


@dataclass
class RangeServer:
    """Serve `files` (by path, without the leading slash) until the `with` block ends.

    Parameters
    ----------
    files : dict of str to bytes
        The files; may be changed at any time.
    latency : float
        Seconds before each response.
    faults : dict of str to float
        The fraction of requests that fail, by fault: a method ``_fault_NAME``.
    seed : int
        Selects these requests.
    first : dict of str to str
        Faults of the next requests, by path, in this order: "reset reset" fails two.
    changes : dict of str to bytes
        New contents of files, from the first request on that does not begin at byte 0.
    elsewhere : str
        The URL of another server, for the fault "elsewhere".
    rate : float
        Maximum bytes of files per second, over all responses together; 0 for no limit.
    expired : str
        The expired key, which an S3 store finds in the signature.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    latency: float = 0.0
    faults: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    first: dict[str, str] = field(default_factory=dict)
    ignores_ranges: bool = False
    changes: dict[str, bytes] = field(default_factory=dict)
    tagged: bool = True
    rate: float = 0.0
    expired: str = ""
    elsewhere: str = ""
    modified: str = "Mon, 01 Jan 2024 00:00:00 GMT"

    def __enter__(self) -> RangeServer:
        self.asked: list[Asked] = []
        self.targets: list[str] = []
        self.failed: Counter[str] = Counter()
        self.open = self.most_open = 0
        self.sent = 0  # bytes of files
        self._line_free = 0.0  # when the line has sent everything passed to it
        self._random = random.Random(self.seed)
        self._tags: dict[int, tuple[bytes, str]] = {}
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    @property
    def url(self) -> str:
        """The server's URL, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    def urls(self) -> list[str]:
        """The URL of each file, in order."""
        return [f"{self.url}/{name}" for name in self.files]

    def wait_for_a_request(self) -> None:
        """Wait until a request arrives."""
        while not self.asked:
            time.sleep(0.01)

    def wait_until_quiet(self) -> None:
        """Wait until no request has arrived for some time."""
        before = -1
        while before != len(self.asked) or self.open:
            before = len(self.asked)
            time.sleep(0.1)

    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await self._read(reader)) and await self._answer(asked, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Asked | None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        span = (int(found[1]), int(found[2] or 2**62) + 1) if found else None
        self.targets.append(target)
        asked = Asked(method, unquote(urlsplit(target).path)[1:], span, headers)
        self.asked.append(asked)
        return asked

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            fault = self._fault_of(asked)
            if fault and fault != "ok":
                self.failed[fault] += 1
                return bool(await getattr(self, f"_fault_{fault}")(asked, writer))
            return await self._send(asked, writer)
        finally:
            self.open -= 1

    def _fault_of(self, asked: Asked) -> str:
        if self.expired and f"Credential={self.expired}/" in asked.headers.get("authorization", ""):
            return "expired_token"
        if asked.range and asked.range[0] > 0 and asked.path in self.changes:
            self.files = {**self.files, asked.path: self.changes.pop(asked.path)}
        names = self.first.get(asked.path, "").split()
        if names:
            self.first[asked.path] = " ".join(names[1:])
            return names[0]
        number = self._random.random()
        for name, rate in self.faults.items():
            if number < rate:
                return name
            number -= rate
        return ""

    def tag(self, path: str) -> str:
        """Return the ETag of a file."""
        content = self.files[path]
        known = self._tags.get(id(content))
        if known is None or known[0] is not content:
            known = (content, f'"{hashlib.md5(content).hexdigest()}"')
            self._tags[id(content)] = known
        return known[1]

    def _head(self, asked: Asked) -> tuple[int, dict[str, str], bytes | memoryview]:
        content = self.files.get(asked.path)
        if content is None:
            return 404, {}, b"no such file"
        headers = {"Last-Modified": self.modified} if self.modified else {}
        if self.tagged:
            headers["ETag"] = self.tag(asked.path)
            wanted = asked.headers.get("if-match")
            if wanted and wanted != headers["ETag"]:
                return 412, headers, b"it was replaced"
        if asked.range is None or self.ignores_ranges:
            return 200, headers, content
        start, end = asked.range
        if start >= len(content):
            return 416, {"Content-Range": f"bytes */{len(content)}"}, b"no such range"
        end = min(end, len(content))
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        return 206, headers, memoryview(content)[start:end]

    async def _send(
        self,
        asked: Asked,
        writer: asyncio.StreamWriter,
        *,
        bytes_sent: float = 1.0,
        added: int = 0,
    ) -> bool:
        status, headers, body = self._head(asked)
        self._write_head(writer, status, headers, len(body) + added)
        if asked.method != "HEAD":
            if bytes_sent < 1.0:
                body = body[: int(len(body) * bytes_sent)]
            await self._send_body(writer, body)
        return bytes_sent == 1.0

    async def _send_body(self, writer: asyncio.StreamWriter, body: bytes | memoryview) -> None:
        step = (16 << 10) if self.rate else max(1, len(body))
        for at in range(0, len(body), step):
            part = body[at : at + step]
            if self.rate:
                now = self._loop.time()
                self._line_free = max(self._line_free, now) + len(part) / self.rate
                await asyncio.sleep(self._line_free - now)
            self.sent += len(part)
            writer.write(part)
            await writer.drain()

    def _write_head(
        self, writer: asyncio.StreamWriter, status: int, headers: dict[str, str], length: int
    ) -> None:
        lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {length}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())

    async def _refuse(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        headers: dict[str, str] | None = None,
        body: bytes = b"refused on purpose",
    ) -> bool:
        self._write_head(writer, status, headers or {}, len(body))
        writer.write(body)
        await writer.drain()
        return True

    async def _fault_unavailable(self, _: Asked, writer: asyncio.StreamWriter) -> bool:
        return await self._refuse(writer, 503)

    async def _fault_busy(self, _: Asked, writer: asyncio.StreamWriter) -> bool:
        return await self._refuse(writer, 429, {"Retry-After": "1"})

    async def _fault_expired(self, _: Asked, writer: asyncio.StreamWriter) -> bool:
        return await self._refuse(writer, 401)

    async def _fault_expired_token(self, _: Asked, writer: asyncio.StreamWriter) -> bool:
        body = b"<Error><Code>ExpiredToken</Code><Message>It has expired.</Message></Error>"
        return await self._refuse(writer, 400, body=body)

    async def _fault_forbidden(self, _: Asked, writer: asyncio.StreamWriter) -> bool:
        return await self._refuse(writer, 403)

    async def _fault_reset(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Reset the connection in the middle of the body."""
        await self._send(asked, writer, bytes_sent=0.5)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, linger)
        writer.transport.abort()
        return False

    async def _fault_closed(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Close the connection mid-body: the body is shorter than announced."""
        return await self._send(asked, writer, bytes_sent=0.5)

    async def _fault_cut(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Close the connection before the body."""
        return await self._send(asked, writer, bytes_sent=0.0)

    async def _fault_mebibyte(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Close the connection after 1 MiB."""
        size = len(self._head(asked)[2])
        return await self._send(asked, writer, bytes_sent=min(1.0, (1 << 20) / max(1, size)))

    async def _fault_slow(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send everything in parts of 64 KiB."""
        status, headers, body = self._head(asked)
        self._write_head(writer, status, headers, len(body))
        for at in range(0, len(body), 64 << 10):
            writer.write(body[at : at + (64 << 10)])
            await writer.drain()
            await asyncio.sleep(0.1)
        return True

    async def _fault_chunked(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send the whole file without a length."""
        _, headers, body = self._head(Asked(asked.method, asked.path, None, asked.headers))
        lines = ["HTTP/1.1 200 Said", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        if asked.method != "HEAD":
            for at in range(0, len(body), 40_000):
                part = body[at : at + 40_000]
                writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _fault_unsized(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send the whole file without a length; the connection closes at its end."""
        _, headers, body = self._head(Asked(asked.method, asked.path, None, asked.headers))
        lines = ["HTTP/1.1 200 Said", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        if asked.method != "HEAD":
            writer.write(body)
        await writer.drain()
        return False

    async def _fault_unknown_size(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send the range without the size of the file."""
        status, headers, body = self._head(asked)
        if status == 206:
            headers["Content-Range"] = headers["Content-Range"].rpartition("/")[0] + "/*"
        self._write_head(writer, status, headers, len(body))
        if asked.method != "HEAD":
            writer.write(body)
        await writer.drain()
        return True

    async def _fault_chunked_stall(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send the beginning of the file without a length, then nothing."""
        writer.write(b"HTTP/1.1 200 Said\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"4\r\none\n\r\n")
        await writer.drain()
        await asyncio.Event().wait()
        return False

    async def _fault_chunked_cut(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send the beginning of the file without a length, and close the connection."""
        writer.write(b"HTTP/1.1 200 Said\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"5\r\nwrong\r\n")
        await writer.drain()
        return False

    async def _fault_gzip(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send the whole file compressed."""
        _, headers, body = self._head(Asked(asked.method, asked.path, None, asked.headers))
        body = gzip.compress(bytes(body))
        self._write_head(writer, 200, headers | {"Content-Encoding": "gzip"}, len(body))
        if asked.method != "HEAD":
            writer.write(body)
        await writer.drain()
        return True

    async def _fault_no_head(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Refuse HEAD."""
        if asked.method == "HEAD":
            self._write_head(writer, 405, {}, 0)
            return True
        return await self._send(asked, writer)

    async def _fault_short(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Announce and send fewer bytes than requested."""
        status, headers, body = self._head(asked)
        body = body[: len(body) // 2]
        self._write_head(writer, status, headers, len(body))
        writer.write(body)
        await writer.drain()
        return True

    async def _fault_long(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send more bytes than requested."""
        status, headers, body = self._head(asked)
        self._write_head(writer, status, headers, len(body) + 7)
        writer.write(body)
        writer.write(b"toolong")
        await writer.drain()
        return True

    async def _fault_stall(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send half of the body, then nothing."""
        await self._send(asked, writer, bytes_sent=0.5)
        await asyncio.sleep(STALL)
        return False

    async def _fault_silence(self, _: Asked, __: asyncio.StreamWriter) -> bool:
        """Send nothing at all."""
        await asyncio.sleep(STALL)
        return False

    async def _fault_trickle(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send a few bytes per write."""
        status, headers, body = self._head(asked)
        self._write_head(writer, status, headers, len(body))
        for at in range(0, len(body), TRICKLE):
            writer.write(body[at : at + TRICKLE])
            await writer.drain()
            await asyncio.sleep(0.05)
        return True

    async def _fault_whole(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send the whole file instead of the range."""
        return await self._send(Asked(asked.method, asked.path, None, asked.headers), writer)

    async def _fault_other(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send a different range of the same length."""
        content = self.files[asked.path]
        start, end = asked.range or (0, len(content))
        end = min(end, len(content))
        headers = {"Content-Range": f"bytes {start + 1}-{end}/{len(content) + 1}"}
        self._write_head(writer, 206, headers, end - start)
        writer.write(content[start:end][::-1])
        await writer.drain()
        return True

    async def _fault_redirects(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Redirect to the same file, which redirects again."""
        self.first[asked.path] = "redirects " * 20
        return await self._redirect(asked.path, writer)

    async def _fault_redirect(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Redirect to a signed URL of a file with another name."""
        return await self._redirect(f"{asked.path}.moved?signature=1", writer)

    async def _fault_elsewhere(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Redirect to the same path of another server."""
        self._write_head(writer, 302, {"Location": f"{self.elsewhere}/{asked.path}"}, 0)
        await writer.drain()
        return True

    async def _redirect(self, target: str, writer: asyncio.StreamWriter) -> bool:
        self._write_head(writer, 302, {"Location": f"{self.url}/{target}"}, 0)
        await writer.drain()
        return True
