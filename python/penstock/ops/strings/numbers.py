"""Conversions between strings and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call
from penstock.ops.strings.parts import Strings, is_vector

__all__ = ["as_string", "to_hash_bucket_fast", "to_number", "unicode_decode"]


@checked
def to_number(input: Strings, out_type: npt.DTypeLike = np.float32, name: str | None = None) -> Any:
    """Parse decimal numbers; floats may also be hexadecimal, as in C.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape. White space around a number is ignored.
    out_type : dtype_like
        float32, float64, int32 or int64.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The same shape. A float that is too large for the type becomes infinity.

    Raises
    ------
    ValueError
        If a string is not a number, or an integer is out of range for the type.

    Examples
    --------
    >>> ps.strings.to_number(["1.5", " -2e3 "])
    array([ 1.5e+00, -2.0e+03], dtype=float32)
    """
    return call("strings.to_number", [input], {"out_type": np.dtype(out_type).name})


@checked
def as_string(
    input: npt.ArrayLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Format numbers as decimal strings.

    Parameters
    ----------
    input : array_like
        Booleans, integers or floats of any shape.
    precision : int
        Digits after the decimal point of a float; -1 means 6.
    scientific : bool
        Format floats with an exponent.
    shortest : bool
        Format floats with or without an exponent, whichever is shorter.
    width : int
        Minimum number of characters; shorter numbers are padded on the left. -1 means no padding.
        Booleans are never padded.
    fill : str
        The padding instead of spaces: "0", " ", or "-" and "+" as flags of C's printf.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bytes, or numpy.ndarray of them
        The same shape; "true" and "false" for booleans.

    Raises
    ------
    ValueError
        If `fill` has another value, or both `scientific` and `shortest` are set.

    Examples
    --------
    >>> ps.strings.as_string([3, 20], width=3, fill="0")
    array([b'003', b'020'], dtype=object)
    >>> ps.strings.as_string(np.float32(0.5), precision=2)
    b'0.50'
    """
    if scientific and shortest:
        raise ValueError("strings.as_string: scientific and shortest exclude each other")
    if fill not in ("", " ", "0", "-", "+"):
        raise ValueError(f"strings.as_string: fill must be '', ' ', '0', '-' or '+', got {fill!r}")
    attributes = {
        "width": fill + (str(int(width)) if width > -1 else ""),
        "precision": f".{int(precision)}" if precision > -1 else "",
        "letter": "e" if scientific else "g" if shortest else "f",
    }
    return call("strings.as_string", [input], attributes)


@checked
def to_hash_bucket_fast(input: Strings, num_buckets: int, name: str | None = None) -> Any:
    """Assign strings to hash buckets; the hash never changes.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape. A str is encoded as UTF-8.
    num_buckets : int
        Number of buckets, >= 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        int64 in ``[0, num_buckets)``, the same shape: FarmHash's Fingerprint64 modulo
        `num_buckets`, which is TensorFlow's bucket. The hash is not cryptographic.

    Raises
    ------
    ValueError
        If `num_buckets` is less than 1.

    Examples
    --------
    >>> ps.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3)
    array([0, 2, 2])
    """
    return call("strings.to_hash_bucket_fast", [input], {"num_buckets": num_buckets})


@checked
def unicode_decode(
    input: Strings,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
    *,
    ragged: bool | None = None,
) -> Any:
    r"""Return the code points of strings.

    Parameters
    ----------
    input : str, bytes, or sequence of them
        A single string, or a vector.
    input_encoding : str
        Must be "UTF-8".
    errors : str
        How to handle invalid UTF-8: "replace", "ignore", or "strict" for an error.
    replacement_char : int
        The code point that replaces invalid bytes.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    ragged : bool, optional
        Whether `input` is a vector. ``None`` detects it, and means False in a native function.

    Returns
    -------
    numpy.ndarray, or tuple of two
        int32. For a single string, shape ``(characters,)``. For a vector, the code points of all
        strings and ``row_splits`` as in `split`.

    Raises
    ------
    ValueError
        If the encoding is not UTF-8, or, with "strict", if bytes are invalid; it names the first.

    Examples
    --------
    >>> ps.strings.unicode_decode("né", "UTF-8")
    array([110, 233], dtype=int32)
    >>> ps.strings.unicode_decode(b"n\xff", "UTF-8")
    array([  110, 65533], dtype=int32)
    """
    if input_encoding.upper().replace("-", "") != "UTF8":
        raise ValueError(
            f"strings.unicode_decode: input_encoding must be UTF-8, got {input_encoding!r}"
        )
    attributes = {
        "errors": errors,
        "replacement_char": replacement_char,
        "ragged": is_vector(input, ragged),
    }
    return call("strings.unicode_decode", [input], attributes)
