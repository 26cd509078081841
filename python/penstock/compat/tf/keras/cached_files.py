"""Files that Keras programs download: only files that already exist locally."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from penstock.compat.errors import NotFoundError
from penstock.compat.listing import listing


def get_file(
    fname: Any = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | None = "auto",
    cache_dir: Any = None,
    force_download: bool = False,
) -> str:
    """Return the path of a file in Keras's cache, or of a file with a ``file://`` URL.

    Parameters
    ----------
    fname : str, optional
        The name of the file in the cache; by default, the name in `origin`.
    origin : str
        The URL of the file.
    untar, extract : bool
        Whether to return the path of the folder with the extracted archive.
    md5_hash, file_hash, hash_algorithm, archive_format, force_download
        Ignored.
    cache_subdir : str
        The folder within the cache.
    cache_dir : str, optional
        The cache; by default the environment variable ``KERAS_HOME``, or ``~/.keras``.

    Returns
    -------
    str
        The path.

    Raises
    ------
    NotFoundError
        If the file does not exist: penstock does not download files.
    """
    if origin is None:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    address = urlsplit(origin)
    name = os.fspath(fname) if fname else Path(address.path).name
    if not name:
        raise ValueError(f"Can't parse the file name from the origin provided: '{origin}'.")
    cache = Path(cache_dir or os.environ.get("KERAS_HOME") or "~/.keras").expanduser()
    target = cache / cache_subdir / name
    if extract or untar:
        target = _extracted(target, named=bool(fname))
    elif address.scheme == "file":
        target = Path(url2pathname(address.path))
    if not target.exists():
        raise NotFoundError(
            None,
            None,
            f"get_file: {target} is not there, and penstock does not download; download {origin} "
            "yourself to there, or call keras.utils.get_file of `import keras`",
        )
    return str(target)


def _extracted(archive: Path, named: bool) -> Path:
    if named and "." in archive.name:
        return archive.with_name(archive.name.partition(".")[0] + "_extracted")
    return archive


__dir__ = listing(globals())
