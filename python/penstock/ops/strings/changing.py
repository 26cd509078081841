"""Strings changed one by one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import TraceError
from penstock.ops.call import call, is_symbolic
from penstock.ops.strings.parts import Strings

__all__ = ["lower", "regex_full_match", "regex_replace", "strip", "upper"]


def lower(input: Strings, encoding: str = "", name: str | None = None) -> Any:
    """Make capital letters small.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    encoding : str
        Only "": the letters A to Z; all other bytes stay.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The same shape.

    Raises
    ------
    ValueError
        If `encoding` is another one.

    Examples
    --------
    >>> ps.strings.lower(b"CAT and Dog")
    b'cat and dog'
    """
    _no_encoding("lower", encoding)
    return call("strings.lower", [input])


def upper(input: Strings, encoding: str = "", name: str | None = None) -> Any:
    """Make small letters capital.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    encoding : str
        Only "": the letters a to z; all other bytes stay.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The same shape.

    Raises
    ------
    ValueError
        If `encoding` is another one.

    Examples
    --------
    >>> ps.strings.upper("cat and Dog")
    'CAT AND DOG'
    """
    _no_encoding("upper", encoding)
    return call("strings.upper", [input])


def _no_encoding(name: str, encoding: str) -> None:
    if encoding != "":
        raise ValueError(
            f"strings.{name}: encoding must be '', for ASCII letters, got {encoding!r}; "
            f"use str.{name} in a plain function for other letters"
        )


def strip(input: Strings, name: str | None = None) -> Any:
    """Cut off white space (ASCII's) at both ends.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The same shape.

    Examples
    --------
    >>> ps.strings.strip([" a ", "b"])
    array(['a', 'b'], dtype=object)
    """
    return call("strings.strip", [input])


def regex_full_match(input: Strings, pattern: str | bytes, name: str | None = None) -> Any:
    r"""Say whether a regular expression matches the whole of each string.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    pattern : str or bytes
        In the syntax of Python's `re`, which has nearly all of RE2's, TensorFlow's.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Booleans, the same shape.

    Raises
    ------
    TraceError
        In a native function: this is Python, and holds the GIL.
    re.error
        If the pattern is none.

    Examples
    --------
    >>> ps.strings.regex_full_match(["part-001", "index"], r"part-\d+")
    array([ True, False])
    """
    return _each(
        "regex_full_match",
        input,
        lambda text: _pattern(pattern, text).fullmatch(text) is not None,
        bool,
    )


def regex_replace(
    input: Strings,
    pattern: str | bytes,
    rewrite: str | bytes,
    replace_global: bool = True,
    name: str | None = None,
) -> Any:
    r"""Replace what a regular expression matches.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    pattern : str or bytes
        In the syntax of Python's `re`, which has nearly all of RE2's, TensorFlow's.
    rewrite : str or bytes
        What stands there instead; ``\1`` is the first group.
    replace_global : bool
        Every match, or the first one of each string only.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The same shape.

    Raises
    ------
    TraceError
        In a native function: this is Python, and holds the GIL.
    re.error
        If the pattern is none.

    Examples
    --------
    >>> ps.strings.regex_replace("a1b22", "[0-9]+", "-")
    'a-b-'
    """
    count = 0 if replace_global else 1

    def replaced(text: Any) -> Any:
        return _pattern(pattern, text).sub(_like(rewrite, text), text, count=count)

    return _each("regex_replace", input, replaced, object)


def _pattern(pattern: str | bytes, text: str | bytes) -> re.Pattern[Any]:
    return re.compile(_like(pattern, text))


def _like(wanted: str | bytes, text: str | bytes) -> Any:
    """Return a str or bytes as the other kind, where the text is of that."""
    if isinstance(text, bytes):
        return wanted.encode() if isinstance(wanted, str) else wanted
    return wanted.decode() if isinstance(wanted, bytes) else wanted


def _each(name: str, input: Any, function: Any, dtype: type) -> Any:
    if is_symbolic(input):
        raise TraceError(
            f"strings.{name}: regular expressions run in Python; drop @ps.native to use them"
        )
    if isinstance(input, (str, bytes)):
        found = function(input)
        return np.bool_(found) if dtype is bool else found
    texts = np.array(input, object) if isinstance(input, (list, tuple)) else np.asarray(input)
    if texts.dtype.kind not in "OSU":
        raise TypeError(f"strings.{name}: input must be bytes or str, got {texts.dtype}")
    out: npt.NDArray[Any] = np.empty(texts.shape, dtype)
    for place, text in np.ndenumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise TypeError(
                f"strings.{name}: input must be bytes or str, got {type(text).__name__}"
            )
        out[place] = function(text)
    return out
