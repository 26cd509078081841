"""Operations on files and records."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call, is_symbolic
from penstock.ops.decoding import decode_base64, decode_csv, decode_raw, encode_base64
from penstock.ops.examples import make_example, parse_example, parse_single_example
from penstock.ops.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)
from penstock.ops.image import (
    decode_and_crop_jpeg,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from penstock.ops.sequence_examples import (
    make_sequence_example,
    parse_sequence_example,
    parse_single_sequence_example,
)
from penstock.ops.tf_record import TFRecordOptions, TFRecordWriter
from penstock.paths import is_url, name_of, patterns_of, what_came
from penstock.remote.listing import files_matching
from penstock.storage_options import note_url

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_csv",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
    "make_example",
    "make_sequence_example",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "read_file",
    "write_file",
]


@checked
def read_file(
    filename: str | bytes | os.PathLike[str],
    name: str | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> bytes:
    r"""Read a whole file.

    Parameters
    ----------
    filename : str, bytes or path
        A file, or a URL.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`. They also apply to all later URLs in the same
        folder.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OSError
        If the file cannot be opened or read, or is a folder.
    TypeError
        If `filename` has another type, such as an open file.
    ValueError
        If `filename` is empty, or has a null character.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("greeting.txt").write_bytes(b"hello\n")
    6
    >>> ps.io.read_file("greeting.txt")
    b'hello\n'
    """
    return call("io.read_file", [filename if is_symbolic(filename) else _encoded(filename)])


def _encoded(filename: Any) -> bytes:
    if not isinstance(filename, (str, bytes, os.PathLike)):
        raise TypeError(f"read_file: filename must be a str or a path, got {what_came(filename)}")
    name = os.fsdecode(filename)
    return os.fsencode(note_url(name) if is_url(name) else filename)


@checked
def write_file(
    filename: str | bytes | os.PathLike[str],
    contents: bytes | str,
    name: str | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    r"""Write a whole file, and create missing folders.

    Parameters
    ----------
    filename : str, bytes or path
        A file, or a URL. An existing file is replaced.
    contents : bytes or str
        The content; a str is written as UTF-8.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`. They also apply to all later URLs in the same
        folder.

    Raises
    ------
    OSError
        If the file cannot be written, for example because the disk is full.
    TypeError
        If `filename` has another type, such as an open file, or `contents` does.
    ValueError
        If `filename` is empty, or has a null character.

    Notes
    -----
    The bytes are written to a temporary file in the same folder, which then replaces the file.
    Readers see the old or the new file, never an incomplete one. (A pipe or another special file is
    written directly.)

    Examples
    --------
    >>> ps.io.write_file("results/scores.txt", "1 2 3\n")
    >>> ps.io.read_file("results/scores.txt")
    b'1 2 3\n'
    """
    if isinstance(contents, str):
        contents = contents.encode()
    if not isinstance(contents, bytes):
        raise TypeError(f"write_file: contents must be bytes or str, got {type(contents).__name__}")
    name_given = name_of("write_file", "filename", filename)
    if is_url(name_given):
        from penstock.remote.writing import write_object

        return write_object(name_given, contents)
    # A symbolic link is kept, and then refers to the new file.
    path = Path(name_given).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_bytes(contents)
        return None
    handle, beside = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        Path(beside).chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


@checked
def matching_files(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    name: str | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> npt.NDArray[Any]:
    """Return the names of the files that match one or more glob patterns.

    Parameters
    ----------
    pattern : str, path, or sequence of them
        Patterns with ``*``, ``?``, ``[...]`` and ``**``, also for URLs. Names that start with a dot
        are matched only by patterns that also start with a dot.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`. They also apply to all later URLs in the same
        folder.

    Returns
    -------
    numpy.ndarray
        The names as ``str``, sorted, with dtype object; empty if nothing matches.

    Raises
    ------
    TypeError
        If a pattern has another type, such as an open file.
    ValueError
        If a pattern has a null character.

    Examples
    --------
    >>> from pathlib import Path
    >>> for name in ("b.txt", "a.txt", "c.csv"):
    ...     Path(name).touch()
    >>> ps.io.matching_files(["*.csv", "*.txt"])
    array(['a.txt', 'b.txt', 'c.csv'], dtype=object)
    """
    patterns = patterns_of("matching_files", "pattern", pattern)
    found = map(files_matching, patterns)
    return np.array(sorted(name for names in found for name in names), dtype=object)


def _umask() -> int:
    mask = os.umask(0o077)  # the mask can only be read by setting it
    os.umask(mask)
    return mask


def __dir__() -> list[str]:
    return [*__all__]
