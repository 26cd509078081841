"""Content-Encoding: whether the bytes of a reply are the bytes of the file."""

from __future__ import annotations

_COMPRESSED = (".gz", ".tgz", ".gzip")  # for these, the header describes the file, not its transfer


def is_encoded(encoding: str, path: str) -> bool:
    """Return whether a reply must be decoded because its Content-Encoding is a compression."""
    encoding = encoding.strip().lower()
    return encoding not in ("", "identity", "aws-chunked") and not path.lower().endswith(
        _COMPRESSED
    )
