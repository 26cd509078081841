"""Content-Encoding: whether the bytes of a reply are the bytes of the file."""

from __future__ import annotations

_COMPRESSED = (".gz", ".tgz", ".gzip")  # for these it describes the file, not its transfer


def is_encoded(encoding: str, path: str) -> bool:
    """Return whether a reply has to be decoded: its header Content-Encoding names a compression."""
    encoding = encoding.strip().lower()
    return encoding not in ("", "identity", "aws-chunked") and not path.lower().endswith(
        _COMPRESSED
    )
