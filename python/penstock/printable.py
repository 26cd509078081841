"""Text that is safe to show in terminals, logs and errors."""

from __future__ import annotations

import os
import re

# In URLs like those of git, the user is not a secret, but part of the repository's name.
_USERS = re.compile(
    r"(?i)(\bhttps?://|\b(?!git(?:hub)?:)[a-z][\w+.-]+://(?=[^\s/?#@]*:))[^\s/?#\"'<>]*@"
)
_QUERIES = re.compile(r"(?i)(\bhttps?://[^\s?\"'<>()]*\?)[^\s\"'<>()]*?([:,]?(?=[\s\"'<>()]|$))")

# The same characters as in cpp/data/printable.cc.
_ESCAPED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NOT_UTF_8 = range(0xDC80, 0xDD00)  # how os.fsdecode represents bytes of a file name


def printable(text: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    r"""Escape the characters of a text, usually a file name, that are unsafe to show.

    Control characters, line separators, marks that change the direction of text, and bytes that
    are not UTF-8 become escapes as in Python literals: ``\n``, ``\x1b``, ``\u2028``. Otherwise a
    file name could clear the terminal, or add a line to a log.
    """
    return _ESCAPED.sub(_escape, shown(os.fsdecode(text)))


def shown(text: str) -> str:
    """Return a text with its URLs stripped of secrets: users, passwords and queries.

    A query may be a signature.
    """
    if "://" not in text:
        return text
    return _QUERIES.sub(r"\1...\2", _USERS.sub(r"\1", text))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if code in _NOT_UTF_8 else repr(found[0])[1:-1]
