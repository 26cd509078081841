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
    from types import TracebackType

__all__ = ["Server", "prometheus", "serve"]

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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
    """

    def __init__(self, port: int) -> None:
        import threading
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = self.path.partition("?")[0] in ("/", "/metrics")
                body = prometheus().encode() if found else b"see /metrics\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", _TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/metrics"
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="penstock metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
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
