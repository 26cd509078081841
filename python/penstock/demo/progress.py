"""A progress bar on standard error: moving on a terminal, one line per task elsewhere."""

import sys
import time
from typing import TextIO

_WIDTH = 24  # characters of the bar
_INTERVAL = 0.1  # seconds between two drawings


class Progress:
    """How far one task is.

    Parameters
    ----------
    label : str
        What is being done.
    total : int
        Images that it will take.
    stream : text file, optional
        Where to write; None means standard error.
    """

    def __init__(self, label: str, total: int, stream: TextIO | None = None) -> None:
        self._label = label
        self._total = max(total, 1)
        self._stream = sys.stderr if stream is None else stream
        self._moving = self._stream.isatty()
        self._started = time.perf_counter()
        self._drawn = 0.0

    def update(self, done: int) -> None:
        """Show that `done` images are through, if the last drawing is long enough ago."""
        now = time.perf_counter()
        if not self._moving or now - self._drawn < _INTERVAL:
            return
        self._drawn = now
        share = min(done / self._total, 1.0)
        bar = "#" * round(share * _WIDTH)
        rate = done / max(now - self._started, 1e-9)
        self._write(f"{self._label:18} [{bar:.<{_WIDTH}}] {share:4.0%}  {rate:,.0f} images/s")

    def finish(self, result: str) -> None:
        """Leave a line with the result."""
        self._write(f"{self._label:18} {result}")
        self._stream.write("\n")
        self._stream.flush()

    def _write(self, text: str) -> None:
        if self._moving:
            text = f"\r\x1b[K{text}"  # back to the first column, and clear what stood there
        self._stream.write(text)
        self._stream.flush()
