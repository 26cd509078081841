"""Changing case and stripping white space."""

from __future__ import annotations

from typing import Any

from penstock.arguments.checked import checked
from penstock.ops.call import call
from penstock.ops.strings.parts import Strings

__all__ = ["lower", "strip", "upper"]


@checked
def lower(input: Strings, encoding: str = "", name: str | None = None) -> Any:
    """Convert letters to lower case.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    encoding : str
        Must be "": only the ASCII letters A to Z are converted.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The same shape.

    Raises
    ------
    ValueError
        If `encoding` is not "".

    Examples
    --------
    >>> ps.strings.lower(b"CAT and Dog")
    b'cat and dog'
    """
    _no_encoding("lower", encoding)
    return call("strings.lower", [input])


@checked
def upper(input: Strings, encoding: str = "", name: str | None = None) -> Any:
    """Convert letters to upper case.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    encoding : str
        Must be "": only the ASCII letters a to z are converted.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The same shape.

    Raises
    ------
    ValueError
        If `encoding` is not "".

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


@checked
def strip(input: Strings, name: str | None = None) -> Any:
    """Remove leading and trailing ASCII white space.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

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
