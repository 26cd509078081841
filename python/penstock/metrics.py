"""Counters of running pipelines, under stable names.

They are those of `Iterator.metrics`. `prometheus` returns them for all datasets as text in the
Prometheus exposition format (https://prometheus.io/docs/instrumenting/exposition_formats), and
`serve` serves that text.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

from penstock.arguments.checked import checked
from penstock.arguments.checks import whole
from penstock.counters import LABELS, METRICS, totals
from penstock.iterator import Iterator

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

__all__ = ["Server", "log", "prometheus", "serve"]
_T = TypeVar("_T")

totals.in_use = True
_LOGGED = (
    *("elements_total", "errors_total", "busy_seconds_total", "wait_seconds_total"),
    "buffer_elements",
)
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
        a number), and `path`, `kind`, `name` and `function` of the stage, as in `Iterator.stats`.
        Labels without a value are omitted.

    Notes
    -----
    The iterators of one dataset, such as its epochs, share one set of labels. Their counters are
    summed, including those of iterators that have ended. Datasets with the same
    `Options.dataset_name` count as one. The counters of an unnamed dataset are dropped with it.
    Iterators that ended before the first use of `penstock.metrics` are not counted. If an iterator
    is dropped before its end, its counters keep the values of the last call of this function.

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
    # A name may contain lone surrogates, such as that of a file whose bytes are not valid UTF-8.
    text = value.encode(errors="backslashreplace").decode()
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Server:
    """HTTP server for `prometheus` at ``/metrics``, created by `serve`.

    Attributes
    ----------
    port : int
        The port that the server listens on.
    url : str
        The URL of the text. It has the loopback address if the server listens on all addresses.

    Notes
    -----
    A single thread answers all requests. A connection that sends no request within 5 seconds is
    closed, and closing the server closes all connections. On the loopback address, requests with
    any other name in ``Host`` are rejected. A web page therefore cannot read the counters through
    its own domain.
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
def log(
    iterable: Iterable[_T], callback: Callable[[dict[str, float]], object], *, every: int = 100
) -> Logged[_T]:
    """Pass the speed of a loop to TensorBoard, Weights & Biases or another logger.

    Parameters
    ----------
    iterable : iterable
        The object to loop over: a dataset, a DataLoader, or any other iterable.
    callback : callable
        Called with a dict of numbers, in the thread of the loop.
    every : int
        Elements between two calls, >= 1. There is also a call at the end of each loop.

    Returns
    -------
    iterable
        Yields the same elements. Reuse it in each epoch, so that its counts continue.

    Raises
    ------
    TypeError
        If `iterable` is not iterable, or `callback` is not callable.
    ValueError
        If `every` is below 1.

    Notes
    -----
    The numbers are ``input/elements`` (in all loops so far) and, since the previous call,
    ``input/elements_per_second``, ``input/wait_seconds`` (time in ``next``) and
    ``input/wait_share`` (the fraction of time in ``next``, 0 to 1). For each stage of a dataset or
    DataLoader there are also ``input/KIND_PATH/elements_total``, ``.../errors_total``,
    ``.../wait_seconds_total``, ``.../busy_seconds_total`` and ``.../buffer_elements``; kind and
    path are those of `Iterator.stats`. They count the current loop over a dataset, but all epochs
    of a DataLoader. An exception in the callback is raised in the loop.

    Examples
    --------
    TensorBoard and Weights & Biases::

        writer = torch.utils.tensorboard.SummaryWriter()

        def to_tensorboard(numbers):
            for name, value in numbers.items():
                writer.add_scalar(name, value, numbers["input/elements"])

        for batch in ps.metrics.log(loader, to_tensorboard):
            ...
        for batch in ps.metrics.log(loader, wandb.log):
            ...

    Any function:

    >>> seen = []
    >>> for x in ps.metrics.log(ps.Dataset.range(25), seen.append, every=10):
    ...     pass
    >>> [numbers["input/elements"] for numbers in seen]
    [10, 20, 25]
    """
    if not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
        raise TypeError(f"log: iterable must be an iterable, got {iterable!r:.200}")
    if not callable(callback):
        raise TypeError(f"log: callback must be callable, got {callback!r:.200}")
    whole()("log: every", every)
    if every < 1:
        raise ValueError(f"log: every must be >= 1, got {every}")
    return Logged(iterable, callback, every)


class Logged(Iterable[_T]):
    """An iterable whose speed is logged, created by `log`."""

    def __init__(
        self, iterable: Iterable[_T], callback: Callable[[dict[str, float]], object], every: int
    ) -> None:
        self._iterable = iterable
        self._callback = callback
        self._every = every
        self._elements = 0

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Generator[_T, None, None]:
        clock = time.perf_counter
        last, waited, done = clock(), 0.0, 0
        iterator = iter(self._iterable)
        while True:
            asked = clock()
            try:
                element = next(iterator)
            except StopIteration:
                break
            finally:
                waited += clock() - asked
            done += 1
            self._elements += 1
            yield element
            if done == self._every:
                self._call(iterator, done, waited, clock() - last)
                last, waited, done = clock(), 0.0, 0
        if done:
            self._call(iterator, done, waited, clock() - last)

    def _call(self, iterator: Any, done: int, waited: float, seconds: float) -> None:
        seconds = max(seconds, 1e-9)
        numbers: dict[str, float] = {
            "input/elements": self._elements,
            "input/elements_per_second": done / seconds,
            "input/wait_seconds": waited,
            "input/wait_share": min(waited / seconds, 1.0),
        }
        source = iterator if isinstance(iterator, Iterator) else self._iterable
        read = getattr(source, "metrics", None) if _is_ours(source) else None
        for stage in read() if read is not None else ():
            begin = f"input/{stage['kind']}_{stage['path']}"
            numbers |= {f"{begin}/{name}": stage[name] for name in _LOGGED}
        self._callback(numbers)


def _is_ours(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "penstock"


@checked
def serve(port: int = 0, *, host: str = "127.0.0.1") -> Server:
    """Serve the counters of this process over HTTP.

    Parameters
    ----------
    port : int
        The port. 0 chooses a free one.
    host : str
        The address to listen on. By default only this machine can read the counters. ``"0.0.0.0"``
        or ``"::"`` listens on all addresses, for a Prometheus server on another machine.

    Returns
    -------
    Server
        `url` is the URL of the text; ``close()``, or the end of a ``with`` block, stops the server.

    Raises
    ------
    OSError
        If the port is in use, or `host` is not an address of this machine.

    Notes
    -----
    The text is neither encrypted nor password-protected, and contains the names of datasets, stages
    and functions. Listen on other addresses only in a network that you trust.

    Examples
    --------
    >>> import urllib.request
    >>> with ps.metrics.serve() as server:
    ...     text = urllib.request.urlopen(server.url).read()
    >>> text.splitlines()[0]
    b'# HELP penstock_elements_total Elements that the stage has yielded.'
    """
    whole()("serve: port", port)
    if not 0 <= port <= 65535:
        raise ValueError(f"serve: port must be in [0, 65535], got {port}")
    if not isinstance(host, str) or not host:
        raise TypeError(f"serve: host must be a str such as '0.0.0.0', got {host!r:.200}")
    return Server(port, host)
