"""Counters of running pipelines, under names that do not change.

They are those of `Iterator.metrics`; `prometheus` returns them for all datasets as text of the
Prometheus exposition format (https://prometheus.io/docs/instrumenting/exposition_formats), and
`serve` serves that text.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Self

from penstock.arguments.checked import checked
from penstock.arguments.checks import whole
from penstock.counters import LABELS, METRICS, totals

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

__all__ = ["Server", "prometheus", "serve"]

totals.in_use = True
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HOSTS = ("127.0.0.1", "localhost", "::1")
_PATIENCE = 5.0  # seconds to receive a request and send its answer
_MAX_REQUEST = 1 << 14  # bytes


def prometheus() -> str:
    """Return the counters of all datasets and DataLoaders of this process.

    Returns
    -------
    str
        A line for each counter of each stage. Labels are the `dataset` (`Options.dataset_name`, or
        a number), and `path`, `kind`, `name` and `function` of the stage, as in `Iterator.stats`;
        labels without a value are omitted.

    Notes
    -----
    The iterators of one dataset, such as its epochs, share one set of labels: their counters are
    added up, and those of iterators that have ended stay. Datasets with the same
    `Options.dataset_name` count as one. The counters of a dataset without a name end with it.
    Iterators that ended before the first use of `penstock.metrics` are not counted. Of an iterator
    that is dropped before its end, the counters are those of the last call of this function.

    Examples
    --------
    >>> options = ps.Options()
    >>> options.dataset_name = "squares"
    >>> it = iter(ps.Dataset.range(10).batch(5).with_options(options))
    >>> batch = next(it)
    >>> for line in ps.metrics.prometheus().splitlines():
    ...     if line.startswith("penstock_elements_total{") and "squares" in line:
    ...         print(line)
    penstock_elements_total{dataset="squares",path="0",kind="batch"} 1
    penstock_elements_total{dataset="squares",path="0.0",kind="range"} 5
    """
    stages = totals.stages()
    lines: list[str] = []
    for name, (kind, text) in METRICS.items():
        lines += [f"# HELP penstock_{name} {text}", f"# TYPE penstock_{name} {kind}"]
        lines += (f"penstock_{name}{_labels(stage)} {stage[name]:.10g}" for stage in stages)
    return "\n".join(lines) + "\n"


def _labels(stage: dict[str, Any]) -> str:
    pairs = [(label, str(stage[label])) for label in LABELS if stage[label] is not None]
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
        The port on which it listens.
    url : str
        The address of the text: on this machine if it listens on all addresses.

    Notes
    -----
    One thread answers all requests. A connection that sends no request within 5 seconds is closed,
    and closing the server closes all connections. On the loopback address, requests whose ``Host``
    is not one of its names are rejected, so a web page cannot read the counters through its own
    domain.
    """

    def __init__(self, port: int, host: str) -> None:
        import asyncio
        import socket
        import threading

        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family)
        self.port: int = self._socket.getsockname()[1]
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(
            host, f"[{host}]" if ":" in host else host
        )
        self.url = f"http://{shown}:{self.port}/metrics"
        self._only_here = _is_here(f"[{host}]" if ":" in host else host)
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

        answer = functools.partial(_connected, self._only_here)
        server = await asyncio.start_server(answer, sock=self._socket, limit=_MAX_REQUEST)
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


async def _connected(
    only_here: bool, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer the single request of a connection, and close it."""
    import asyncio

    try:
        async with asyncio.timeout(_PATIENCE):
            request = await reader.readuntil(b"\r\n\r\n")
            writer.write(_answer(request.decode("latin-1"), only_here))
            await writer.drain()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # there is no valid request to answer
    finally:
        writer.close()


def _answer(request: str, only_here: bool) -> bytes:
    first, *lines = request.split("\r\n")
    method, target, *_ = (*first.split(" "), "")
    fields = [line.partition(":") for line in lines]
    hosts = [value.strip() for name, _, value in fields if name.strip().lower() == "host"]
    if only_here and not all(map(_is_here, hosts)):
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
def serve(port: int = 0, *, host: str = "127.0.0.1") -> Server:
    """Serve the counters of this process over HTTP.

    Parameters
    ----------
    port : int
        The port; 0 takes one that is free.
    host : str
        The address to listen on: by default only this machine can read the counters. ``"0.0.0.0"``
        or ``"::"`` listens on all addresses, for a Prometheus server on another machine.

    Returns
    -------
    Server
        `url` is the address of the text; ``close()``, or the end of a ``with`` block, ends it.

    Raises
    ------
    OSError
        If the port is in use, or `host` is not an address of this machine.

    Notes
    -----
    The text is neither encrypted nor protected by a password, and contains the names of datasets,
    stages and functions. Listen on other addresses only in a network that you trust.

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
    if not isinstance(host, str) or not host:
        raise TypeError(f"serve: host must be a str such as '0.0.0.0', got {host!r:.200}")
    return Server(port, host)
