"""Match URLs with patterns: list the folder before the first wildcard and compare names."""

from __future__ import annotations

import errno
import re
from urllib.parse import urlsplit

from penstock.printable import shown
from penstock.remote.attempts import Attempts
from penstock.remote.failures import Failure
from penstock.remote.obstore_files import ObstoreFiles
from penstock.remote.service import start

_MAGIC = re.compile(r"[*?[]")
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[(!?)([^\]]+)\]|[^*?[]+|\[")


def urls_matching(pattern: str) -> list[str]:
    """Return the URLs of the files that match a pattern; errors as in `files_matching`."""
    service = start()
    try:
        return service.call(_matching(service.store_of(pattern), pattern))
    except Failure as failure:
        if failure.number == errno.ENOENT:
            return []
        raise OSError(failure.number or errno.EIO, failure.text, shown(pattern)) from failure


def names_below(folder: str) -> list[str]:
    """Return the names of all files below a folder, relative to it; errors as in `files_below`."""
    service = start()
    store = service.store_of(folder)
    prefix = f"{store.files.path_of(folder).strip('/')}/".lstrip("/")
    try:
        entries = service.call(store.entries(folder, prefix.rstrip("/"), True))
    except Failure as failure:
        if failure.number == errno.ENOENT:
            return []
        raise OSError(failure.number or errno.EIO, failure.text, shown(folder)) from failure
    exact = isinstance(store.files, ObstoreFiles)
    paths = (entry.path for entry in entries if not entry.path.endswith("/"))
    paths = (path if exact else path.lstrip("/") for path in paths)
    return [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]


async def _matching(store: Attempts, pattern: str) -> list[str]:
    is_web = urlsplit(pattern).scheme in ("http", "https")
    if not _MAGIC.search(pattern) or (is_web and ObstoreFiles.is_exact(pattern)):
        await store.describe(pattern)
        return [pattern]
    path = store.files.path_of(pattern)
    folder = path[: _MAGIC.search(path).start()].rpartition("/")[0]  # type: ignore[union-attr]
    rest = path[len(folder) :].lstrip("/")
    exact = isinstance(store.files, ObstoreFiles)  # keys may begin with a slash
    deep = "/" in rest or "**" in rest or (exact and path.startswith("/"))
    expression = re.compile(_expression(path))
    entries = await store.entries(pattern, folder, deep)
    found = [entry.path for entry in entries if expression.fullmatch(entry.path)]
    # The part of the pattern before its path is also the start of the URLs.
    if exact:
        return [pattern.removesuffix(path) + name for name in found]
    head = pattern.removesuffix(path.lstrip("/"))
    return [head + name.lstrip("/") for name in found]


def _expression(pattern: str) -> str:
    """Convert a glob pattern to a regular expression.

    As for local files, a name that starts with a dot matches only a pattern that does, too.
    """
    out = []
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token.start() == 0 or pattern[token.start() - 1] == "/":
            out.append("" if text == "**/" or text.startswith(".") else r"(?!\.)")
        if text == "**/":
            out.append(r"(?:(?!\.)[^/]*/)*")
        elif text == "**":
            out.append(r"(?:[^/]|/(?!\.))*")
        elif text == "*":
            out.append("[^/]*")
        elif text == "?":
            out.append("[^/]")
        elif token[2]:
            negated, members = token[1], token[2].replace("\\", r"\\")
            out.append(f"[{'^/' if negated else ''}{members}]")
        else:
            out.append(re.escape(text))
    return "".join(out)
