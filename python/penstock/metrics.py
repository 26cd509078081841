"""Counters of running pipelines, under names that do not change.

They are those of `Iterator.metrics`; `prometheus` gives them for all live iterators as text of the
Prometheus exposition format (https://prometheus.io/docs/instrumenting/exposition_formats), and
`serve` serves that text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.arguments.checked import checked
from penstock.arguments.checks import whole
from penstock.iterator import METRICS, live_iterators

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

__all__ = ["Server", "prometheus", "serve"]

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HOSTS = ("127.0.0.1", "localhost", "::1")
_PATIENCE = 5.0  # seconds to receive a request and send its answer
_MAX_REQUEST = 1 << 14  # bytes
_LABELS = (
    "dataset",
    "path",
    "kind",
    "name",
    "function",
)  # of a stage


def prometheus() -> str:
    """Return the counters of all live iterators of this process.

    Returns
    -------
    str
        A line for each counter of each stage. Labels are the number of the `iterator` in this
        process, the `dataset` (`Options.dataset_name`), and `path`, `kind`, `name` and `function`
        of the stage, as in `Iterator.stats`; those that are not there are left out. An iterator
        that was not asked for an element, or has been closed or dropped, has none.

    Examples
    --------
    >>> options = ps.Options()
    >>> options.dataset_name = "squares"
    >>> it = iter(ps.Dataset.range(10).batch(5).with_options(options))
    >>> batch = next(it)
    >>> for line in ps.metrics.prometheus().splitlines():
    ...     if line.startswith("penstock_elements_total{") and "squares" in line:
    ...         print(line.partition(",")[2])
    dataset="squares",path="0",kind="batch"} 1
    dataset="squares",path="0.0",kind="range"} 5
    """
    stages = [(number, stage) for number, it in live_iterators() for stage in it.metrics()]
    lines: list[str] = []
    for name, (kind, text) in METRICS.items():
        lines += [f"# HELP penstock_{name} {text}", f"# TYPE penstock_{name} {kind}"]
        lines += (f"penstock_{name}{_labels(i, stage)} {stage[name]:.10g}" for i, stage in stages)
    return "\n".join(lines) + "\n"


def _labels(number: int, stage: dict[str, Any]) -> str:
    pairs = [("iterator", str(number))]
    pairs += [(label, str(stage[label])) for label in _LABELS if stage[label] is not None]
    return "{" + ",".join(f'{label}="{_escaped(value)}"' for label, value in pairs) + "}"


def _escaped(value: str) -> str:
    # A name may have what is no character, such as that of a file whose bytes are no UTF-8.
    text = value.encode(errors="backslashreplace").decode()
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Server:
    """Serves `prometheus` at ``/metrics`` until it is closed; made by `serve`.

    Attributes
    ----------
    port : int
        Where it listens on the loopback address.
    url : str
        The address of the text.

    Notes
    -----
    One thread answers all requests. A connection that sends no request within 5 seconds is closed,
    and closing the server closes all connections. Requests whose ``Host`` is not a name of the
    loopback address are rejected, so a web page cannot read the counters through its own domain.
    """

    def __init__(self, port: int) -> None:
        import asyncio
        import socket
        import threading

        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/metrics"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="penstock metrics", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        import asyncio

        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # closes open connections
            runner.run(self._serve())

    async def _serve(self) -> None:
        import asyncio

        server = await asyncio.start_server(_connected, sock=self._socket, limit=_MAX_REQUEST)
        await self._stop.wait()
        server.close()

    def close(self) -> None:
        """Stop serving, and close all connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


async def _connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the single request of a connection, and close it."""
    import asyncio

    try:
        async with asyncio.timeout(_PATIENCE):
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(_answer(request.decode("latin-1")))
            await writer.drain()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # there is no valid request to answer
    finally:
        writer.close()


def _answer(request: str) -> bytes:
    first, *lines = request.split("\r\n")
    method, target, *_ = (*first.split(" "), "")
    fields = [line.partition(":") for line in lines]
    hosts = [value.strip() for name, _, value in fields if name.strip().lower() == "host"]
    if not all(map(_is_here, hosts)):
        status, text = "403 Forbidden", "Host must be 127.0.0.1 or localhost\n"
    elif method not in ("GET", "HEAD"):
        status, text = "405 Method Not Allowed", "use GET\n"
    elif target.partition("?")[0] not in ("/", "/metrics"):
        status, text = "404 Not Found", "see /metrics\n"
    else:
        status, text = "200 OK", prometheus()
    body = text.encode()
    head = (f"HTTP/1.1 {status}", f"Content-Type: {_TYPE}", f"Content-Length: {len(body)}")
    answer = "\r\n".join((*head, "Connection: close", "", "")).encode()
    return answer if method == "HEAD" else answer + body


def _is_here(host: str) -> bool:
    """Return whether a host, with or without a port, is the loopback address."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(f"//{host}").hostname in _HOSTS
    except ValueError:
        return False


@checked
def serve(port: int = 0) -> Server:
    """Serve the counters of this process on the loopback address.

    Parameters
    ----------
    port : int
        Where; 0 takes one that is free.

    Returns
    -------
    Server
        `url` says where the text is; ``close()``, or the end of a ``with`` block, ends it.

    Raises
    ------
    OSError
        If the port is in use.

    Examples
    --------
    >>> import urllib.request
    >>> with ps.metrics.serve() as server:
    ...     text = urllib.request.urlopen(server.url).read()
    >>> text.splitlines()[0]
    b'# HELP penstock_elements_total Elements that the stage has given.'
    """
    whole()("serve: port", port)
    if not 0 <= port <= 65535:
        raise ValueError(f"serve: port must be in [0, 65535], got {port}")
    return Server(port)
