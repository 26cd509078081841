"""Columns of text files, for lookup tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.calling import ported
from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.ops.io import read_file

_read_file = ported(read_file)


class TextFileIndex:
    """Special column numbers for the whole line and for the line number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def columns_of(
    filename: Any, wanted: list[tuple[Any, Any]], vocab_size: Any, delimiter: str
) -> list[Any]:
    """Return columns of a file.

    Parameters
    ----------
    filename : str or path
        The file.
    wanted : list of (int, dtype-like)
        For each column, its number or a `TextFileIndex`, and its type.
    vocab_size : int or None
        Number of lines to read; None for all.
    delimiter : str
        The column separator.
    """
    lines = _read_file(filename).item().split(b"\n")
    lines = [line.removesuffix(b"\r") for line in (lines[:-1] if not lines[-1] else lines)]
    if vocab_size is not None:
        if len(lines) < int(vocab_size):
            raise InvalidArgumentError(
                None, None, f"{filename}: {vocab_size} lines were expected, got {len(lines)}"
            )
        lines = lines[: int(vocab_size)]
    separator = delimiter.encode()
    return [_column(filename, lines, int(at), dtype, separator) for at, dtype in wanted]


def _column(filename: Any, lines: list[bytes], at: int, dtype: Any, separator: bytes) -> Any:
    if at == TextFileIndex.LINE_NUMBER:
        return np.arange(len(lines))
    texts = np.empty(len(lines), object)
    for i, line in enumerate(lines):
        parts = [line] if at == TextFileIndex.WHOLE_LINE else line.split(separator)
        if at >= len(parts):
            raise InvalidArgumentError(
                None,
                None,
                f"Invalid number of columns in {filename} line {i} ({line!r}): expected at least "
                f"{at + 1} got {len(parts)}",
            )
        texts[i] = parts[max(at, 0)]
    wanted = as_dtype(dtype)
    if wanted.name == "string":
        return texts
    try:
        return texts.astype(str).astype(wanted.dtype)
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"{filename}: {error}") from None


__dir__ = listing(globals())
