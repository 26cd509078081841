"""Conversions between strings and numbers: raw bytes, CSV lines, base64."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _core
from penstock.arguments.checked import checked
from penstock.ops.call import call

_CSV_TYPES = ("int32", "int64", "float32", "float64")


@checked
def decode_raw(
    input_bytes: Any,
    out_type: npt.DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> npt.NDArray[Any]:
    r"""Decode the bytes of strings as numbers.

    Parameters
    ----------
    input_bytes : bytes or array_like of them
        Strings of any shape, all of the same length unless `fixed_length` is given.
    out_type : dtype_like
        A boolean, integer, float or complex type.
    little_endian : bool
        The byte order of the numbers. False means big-endian.
    fixed_length : int, optional
        Bytes to read from each string. Longer strings are truncated, shorter ones padded with
        zeros. Must be a multiple of the size of `out_type`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Numbers of type `out_type`, with one more axis after those of `input_bytes`.

    Raises
    ------
    ValueError
        If strings differ in length, or their length is not a multiple of the size of `out_type`.

    Examples
    --------
    >>> ps.io.decode_raw(b"\1\0\2\0", np.uint16)
    array([1, 2], dtype=uint16)
    >>> ps.io.decode_raw([b"\1", b"\2\3\4"], np.uint8, fixed_length=2)
    array([[1, 0],
           [2, 3]], dtype=uint8)
    """
    attributes: dict[str, Any] = {
        "out_type": np.dtype(out_type).name,
        "little_endian": little_endian,
        "fixed_length": fixed_length,
    }
    return call("io.decode_raw", [input_bytes], attributes)


@checked
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Any:
    r"""Encode bytes as base64 that is safe in URLs and file names.

    Parameters
    ----------
    input : bytes, str or array_like of them
        Any shape; a str is encoded as UTF-8.
    pad : bool
        Whether to pad with ``=`` to a multiple of four characters.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bytes, or array of bytes
        Same shape: letters, digits, ``-`` and ``_`` (RFC 4648, section 5).

    Examples
    --------
    >>> ps.io.encode_base64(b"\xff\xee?")
    b'_-4_'
    """
    return call("io.encode_base64", [input], {"pad": pad})


@checked
def decode_base64(input: Any, name: str | None = None) -> Any:
    r"""Decode the base64 that `encode_base64` returns.

    Parameters
    ----------
    input : bytes, str or array_like of them
        Any shape; with or without ``=`` padding.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bytes, or array of bytes
        Same shape.

    Raises
    ------
    ValueError
        If there is an invalid character (including ``+`` and ``/``), or one is missing.

    Examples
    --------
    >>> ps.io.decode_base64(["_-4_", "YQ=="])
    array([b'\xff\xee?', b'a'], dtype=object)
    """
    return call("io.decode_base64", [input], {})


@checked
def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    r"""Parse lines of comma-separated values into columns.

    Parameters
    ----------
    records : bytes, str or array_like of them
        One line each, of any shape. A line break at the end is ignored.
    record_defaults : sequence
        For each column, the default of empty fields, as a value or a list with one value. A type,
        or an empty array of it, means that a field must not be empty. Types are int32, int64,
        float32, float64, `bytes` and `str`. Python's int means int32 and its float means float32,
        as in TensorFlow.
    field_delim : str
        The character between fields.
    use_quote_delim : bool
        Whether a field may be enclosed in double quotes, and then contain delimiters, line breaks
        and doubled quotes. Otherwise quotes are ordinary characters.
    na_value : str
        A text that also means an empty field.
    select_cols : sequence of int, optional
        The columns to read, in ascending order, one for each of `record_defaults`. Fields after the
        last one are not examined.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    list of arrays
        One for each column, with the shape of `records`.

    Raises
    ------
    DataError
        If a line has the wrong number of fields, a field is not a number of its type or is empty
        without a default, or quotes are not closed. The message names the record and the field.

    Examples
    --------
    >>> lines = [b"1,0.5,one", b'2,,"two, ""2"" too"']
    >>> for column in ps.io.decode_csv(lines, [np.int64, -1.0, b""]):
    ...     column
    array([1, 2])
    array([ 0.5, -1. ], dtype=float32)
    array([b'one', b'two, "2" too'], dtype=object)
    """
    return decode_csv_records(
        records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, blank=False
    )


def decode_csv_records(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    blank: bool = True,
) -> list[Any]:
    """Parse records as `decode_csv` does; with `blank`, an empty record is an empty field."""
    if len(field_delim.encode()) != 1 or field_delim in '"\r\n':
        raise ValueError(
            f"decode_csv: field_delim must be one ASCII character, got {field_delim!r}"
        )
    if not len(record_defaults):
        raise ValueError("decode_csv: record_defaults must have a column, got none")
    columns = list(range(len(record_defaults)) if select_cols is None else select_cols)
    if len(columns) != len(record_defaults):
        raise ValueError(
            f"decode_csv: select_cols must have {len(record_defaults)} columns, as "
            f"record_defaults has, got {len(columns)}"
        )
    if columns[0] < 0 or any(a >= b for a, b in pairwise(columns)):
        raise ValueError(f"decode_csv: select_cols must ascend from 0 or more, got {columns}")
    table, defaults = [], []
    for column, default in zip(columns, record_defaults, strict=True):
        value, required = _csv_default(f"decode_csv: record_defaults of column {column}", default)
        table.append([column, required])
        defaults.append(value)
    attributes: dict[str, Any] = {
        "columns": _core.Value((np.array(table, np.int64), *defaults), False),
        "field_delim": field_delim,
        "use_quote_delim": use_quote_delim,
        "na_value": na_value,
        "all": select_cols is None,
        "blank": blank,
    }
    if isinstance(records, (list, tuple)) and not records:
        records = np.empty(0, object)
    found = call("io.decode_csv", [records], attributes)
    return list(found) if isinstance(found, tuple) else [found]


def csv_types(record_defaults: Sequence[Any]) -> list[Any]:
    """Return the types of the columns with these defaults."""
    values = [_csv_default("decode_csv: record_defaults", d)[0] for d in record_defaults]
    return [type(v) if isinstance(v, (str, bytes)) else v.dtype for v in values]


def _csv_default(place: str, default: Any) -> tuple[Any, bool]:
    """Return the default of empty fields, and whether a field must not be empty."""
    required = isinstance(default, (type, np.dtype))
    if required:
        default = "" if default is str else b"" if default is bytes else np.zeros(1, default)
    elif isinstance(default, (list, tuple, np.ndarray)):
        required = len(default) == 0
        if len(default) > 1:
            raise ValueError(f"{place}: one value was expected, got {default!r}")
        if required:
            kind = default.dtype if isinstance(default, np.ndarray) else np.float32
            default = np.zeros(1, kind)
        elif not isinstance(default, np.ndarray):
            default = default[0]
    if isinstance(default, (str, bytes)):
        return default, required
    array = np.asarray(default)
    if array.size == 1 and isinstance(array.item(), (str, bytes)):
        return array.item(), required
    if isinstance(default, int) and not isinstance(default, bool):
        array = np.array(default, np.int32 if abs(default) < 2**31 else np.int64)
    elif type(default) is float:
        array = array.astype(np.float32)
    if array.dtype.name not in _CSV_TYPES:
        raise TypeError(
            f"{place}: a value of {', '.join(_CSV_TYPES)}, bytes or str was expected, got "
            f"{default!r}"
        )
    return array.reshape(()), required
