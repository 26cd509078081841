"""List the files that match a pattern or are in a folder, locally or in a store."""

from __future__ import annotations

import glob
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from penstock.paths import is_url

_SEPARATORS = r"/\\" if os.sep == "\\" else "/"
_ANY_FOLDERS = re.compile(rf"(?:^|(?<=[{_SEPARATORS}]))\*\*(?:[{_SEPARATORS}]+|$)")


def files_matching(pattern: str) -> list[str]:
    """Return the names of the files that match a pattern, sorted.

    Parameters
    ----------
    pattern : str
        A path or URL with ``*``, ``?``, ``[...]`` and ``**``.

    Raises
    ------
    OSError
        If a store cannot be listed.
    ImportError
        If the library for a URL is not installed.
    """
    if not is_url(pattern):
        return sorted(_matching(pattern))
    from penstock.remote.patterns import urls_matching

    return sorted(urls_matching(pattern))


def files_below(url: str) -> list[str]:
    """Return the names of all files in a folder of a store and its subfolders, sorted.

    Names are relative to the folder.

    Raises
    ------
    OSError
        If the store cannot be listed.
    ImportError
        If the library for the URL is not installed.
    """
    from penstock.remote.patterns import names_below

    return sorted(names_below(url))


def is_hidden(name: str) -> bool:
    """Return whether a file or folder with this name holds a program's metadata, not data.

    macOS writes ``._1.jpg`` and ``__MACOSX``, Jupyter writes ``.ipynb_checkpoints``.
    """
    return name.startswith(".") or name == "__MACOSX"


def walk(
    tops: Iterable[str], follow_links: bool, hidden: Callable[[str], bool]
) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Visit folders and their subfolders, each real folder once.

    Folders that are reached without links are visited first, so a folder that is also the target
    of a link keeps its own name. Links to a parent folder are not followed.

    Parameters
    ----------
    tops : iterable of str
        The top folders. All are visited, even links and duplicates.
    follow_links : bool
        Whether to follow links to folders inside them.
    hidden : callable
        Takes the name of a file or folder inside them, and returns whether to skip it.

    Yields
    ------
    top, folder, folders, files : str, str, list of str, list of str
        The top folder, the folder, and the sorted names of the folders and files in it. A folder
        that cannot be read is skipped.
    """
    seen: set[tuple[int, int]] = set()
    links: deque[tuple[str, str]] = deque()
    waiting = deque((top, top) for top in tops)
    while waiting or links:
        linked = not waiting
        top, folder = links.popleft() if linked else waiting.popleft()
        try:
            found = os.stat(folder or os.curdir)  # noqa: PTH116
            if linked and (found.st_dev, found.st_ino) in seen:
                continue
            with os.scandir(folder or os.curdir) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue
        seen.add((found.st_dev, found.st_ino))
        folders, files = [], []
        for entry in entries:
            if hidden(entry.name):
                continue
            if not _is_folder(entry):
                files.append(entry.name)
                continue
            folders.append(entry.name)
            inside = os.path.join(folder, entry.name)  # noqa: PTH118
            if not entry.is_symlink():
                (links if linked else waiting).append((top, inside))
            elif follow_links:
                links.append((top, inside))
        yield top, folder, folders, files


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _matching(pattern: str) -> set[str]:
    """Return the matches of a pattern; ``**`` enters each real folder once, despite links."""
    found = _ANY_FOLDERS.search(pattern)
    if found is None:
        return set(glob.glob(pattern))  # noqa: PTH207
    head, rest = pattern[: found.start()], pattern[found.end() :]
    tops = sorted(glob.glob(head)) if head else [""]  # noqa: PTH207
    matches: set[str] = set()
    for _, folder, folders, files in walk(tops, True, lambda name: name.startswith(".")):
        begin = os.path.join(folder, "")  # noqa: PTH118
        if rest:
            matches |= _matching(glob.escape(begin) + rest)
            continue
        only_folders = not found[0].endswith("*")
        ends = [os.path.join(name, "") for name in folders] if only_folders else folders + files  # noqa: PTH118
        matches.update(begin + end for end in ends)
        if folder in tops and folder:
            matches.add(begin)
    return matches
