"""Names of files as users give them."""

from __future__ import annotations

import os
from typing import Any


def check_whole(stage: str, argument: str, path: Any) -> Any:
    """Return a path; raise ValueError for one that the system would cut off at a null character."""
    text = os.fspath(path)
    if ("\0" in text) if isinstance(text, str) else (b"\0" in text):
        raise ValueError(
            f"{stage}: {argument} must be a path without null characters, got {text!r}"
        )
    return path
