"""Splitting, joining and measuring strings, and substrings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call, is_symbolic

__all__ = ["Strings", "is_vector", "join", "length", "reduce_join", "split", "substr"]

Strings = str | bytes | npt.ArrayLike


@checked
def split(
    input: Strings,
    sep: str | bytes | None = None,
    maxsplit: int = -1,
    name: str | None = None,
    *,
    ragged: bool | None = None,
) -> Any:
    """Split strings at a separator.

    Parameters
    ----------
    input : str, bytes, or sequence of them
        A single string, or a vector.
    sep : str or bytes, optional
        The separator. ``None`` and "" split at runs of white space, and ignore it at both ends.
    maxsplit : int
        Maximum number of splits; -1 means no limit.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    ragged : bool, optional
        Whether `input` is a vector. ``None`` detects it, and means False in a native function.

    Returns
    -------
    numpy.ndarray, or tuple of two
        For a single string, the substrings, shape ``(m,)``. For a vector, the substrings of all
        strings, and ``row_splits`` of shape ``(n + 1,)``: the substrings of string i are
        ``values[row_splits[i]:row_splits[i + 1]]``. TensorFlow returns both as a ragged tensor.

    Raises
    ------
    ValueError
        If `input` has another shape.

    Examples
    --------
    >>> ps.strings.split("a few  words")
    array(['a', 'few', 'words'], dtype=object)
    >>> ps.strings.split([b"a,b", b"", b"c"], sep=",")
    (array([b'a', b'b', b'', b'c'], dtype=object), array([0, 2, 3, 4]))
    """
    attributes = {"maxsplit": maxsplit, "ragged": is_vector(input, ragged)}
    return call("strings.split", [input, b"" if sep is None else sep], attributes)


def is_vector(input: Any, ragged: bool | None) -> bool:
    """Return whether the input of an operation is a vector of strings rather than a single one."""
    if ragged is not None:
        return ragged
    return False if is_symbolic(input) else np.ndim(input) > 0


@checked
def join(inputs: Sequence[Strings], separator: str | bytes = "", name: str | None = None) -> Any:
    """Concatenate strings element-wise.

    Parameters
    ----------
    inputs : sequence
        Strings, and arrays of strings of one shape. A single string is used for every item.
    separator : str or bytes
        The text between them.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The shape of the arrays.

    Raises
    ------
    ValueError
        If the shapes differ, or there are no inputs.
    TypeError
        If bytes and str are mixed.

    Examples
    --------
    >>> ps.strings.join(["dir", ["a", "b"]], separator="/")
    array(['dir/a', 'dir/b'], dtype=object)
    """
    return call("strings.join", [*inputs, separator])


@checked
def reduce_join(
    inputs: Strings,
    axis: int | None = None,
    keepdims: bool = False,
    separator: str | bytes = "",
    name: str | None = None,
) -> Any:
    """Concatenate the strings along an axis.

    Parameters
    ----------
    inputs : array_like of str or bytes
        Any shape.
    axis : int, optional
        The axis. ``None`` joins all items, in C order.
    keepdims : bool
        Keep the axis, with size 1.
    separator : str or bytes
        The text between them.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The shape of `inputs` without the axis.

    Raises
    ------
    ValueError
        If the axis does not exist.

    Examples
    --------
    >>> ps.strings.reduce_join([["a", "b"], ["c", "d"]], axis=1, separator="-")
    array(['a-b', 'c-d'], dtype=object)
    """
    attributes = {"axis": axis, "keepdims": keepdims}
    return call("strings.reduce_join", [inputs, separator], attributes)


@checked
def length(input: Strings, unit: str = "BYTE", name: str | None = None) -> Any:
    """Return the lengths of strings.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    unit : str
        "BYTE", or "UTF8_CHAR" for characters.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        int32, the same shape.

    Raises
    ------
    ValueError
        If `unit` has another value.

    Examples
    --------
    >>> ps.strings.length(["a", "é"])
    array([1, 2], dtype=int32)
    >>> int(ps.strings.length("é", unit="UTF8_CHAR"))
    1
    """
    return call("strings.length", [input], {"unit": unit})


@checked
def substr(
    input: Strings,
    pos: npt.ArrayLike,
    len: npt.ArrayLike,
    unit: str = "BYTE",
    name: str | None = None,
) -> Any:
    """Take a substring of each string.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    pos : int or array_like of int
        Start of the substring; negative values count from the end. The three arguments are
        broadcast.
    len : int or array_like of int
        Maximum length. A negative number of bytes means the rest of the string.
    unit : str
        "BYTE", or "UTF8_CHAR" for characters.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The substrings.

    Raises
    ------
    ValueError
        If `pos` is outside of a string, or `len` is negative and `unit` is "UTF8_CHAR" (TensorFlow
        then returns empty strings).

    Examples
    --------
    >>> ps.strings.substr([b"penstock", b"pipeline"], 0, 4)
    array([b'pens', b'pipe'], dtype=object)
    >>> ps.strings.substr("naïve", -3, 2, unit="UTF8_CHAR")
    'ïv'
    """
    return call("strings.substr", [input, pos, len], {"unit": unit})
