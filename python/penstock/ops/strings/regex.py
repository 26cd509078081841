r"""Regular expressions, implemented by RE2, or by Python's `re` if RE2 is not built in."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _core
from penstock.arguments.checked import checked
from penstock.errors import TraceError
from penstock.ops.call import apply, is_symbolic
from penstock.ops.strings.parts import Strings

__all__ = ["regex_full_match", "regex_replace"]


@checked
def regex_full_match(input: Strings, pattern: str | bytes, name: str | None = None) -> Any:
    r"""Test whether a regular expression matches each string completely.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    pattern : str or bytes
        A regular expression in RE2 syntax (https://github.com/google/re2/wiki/Syntax), as UTF-8.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Booleans, the same shape.

    Raises
    ------
    ValueError
        If the pattern is not a valid regular expression.
    RuntimeError
        In a native function, if penstock was built without RE2.

    Notes
    -----
    Bytes are decoded as UTF-8: ``.`` matches a character, and ``\C`` a byte. Matching takes time
    linear in the length of the string. If penstock was built without RE2 (see
    ``penstock doctor``), Python's `re` is used. Its syntax has nearly all of RE2's features, but in
    bytes each byte is a character, and the running time is not bounded.

    Examples
    --------
    >>> ps.strings.regex_full_match(["part-001", "index"], r"part-\d+")
    array([ True, False])
    """
    pattern = _pattern_text("regex_full_match", pattern)
    if _has_re2(input):
        return apply(_compiled("strings.regex_full_match", pattern), [input])

    def matches(text: Any) -> bool:
        return _python_pattern("regex_full_match", pattern, type(text)).fullmatch(text) is not None

    return _each("regex_full_match", input, matches, bool)


@checked
def regex_replace(
    input: Strings,
    pattern: str | bytes,
    rewrite: str | bytes,
    replace_global: bool = True,
    name: str | None = None,
) -> Any:
    r"""Replace matches of a regular expression.

    Parameters
    ----------
    input : str, bytes, or array_like of them
        Any shape.
    pattern : str or bytes
        As in `regex_full_match`.
    rewrite : str or bytes
        The replacement. ``\1`` to ``\9`` are the groups, ``\0`` is the whole match, and ``\\`` is a
        backslash.
    replace_global : bool
        Replace every match, or only the first one in each string.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    str, bytes, or numpy.ndarray of them
        The same shape.

    Raises
    ------
    ValueError
        If the pattern is not a valid regular expression, or `rewrite` names a group that does not
        exist.
    RuntimeError
        In a native function, if penstock was built without RE2.

    See Also
    --------
    regex_full_match : How bytes are matched, and what happens without RE2.

    Examples
    --------
    >>> ps.strings.regex_replace("a1b22", "([0-9]+)", r"<\1>")
    'a<1>b<22>'
    """
    pattern = _pattern_text("regex_replace", pattern)
    if _has_re2(input) or is_symbolic(rewrite):
        op = _compiled("strings.regex_replace", pattern, replace_global=bool(replace_global))
        return apply(op, [input, rewrite])
    parts = _rewrite_parts(rewrite)

    def replaced(text: Any) -> Any:
        compiled = _python_pattern("regex_replace", pattern, type(text))
        if any(part > compiled.groups for part in parts if isinstance(part, int)):
            raise ValueError(
                f"strings.regex_replace: rewrite {rewrite!r} names a group that the pattern "
                f"{pattern!r} does not have"
            )
        like = [part if isinstance(part, int) else _like(part, type(text)) for part in parts]
        return compiled.sub(
            lambda match: type(text)().join(
                (match[part] or type(text)()) if isinstance(part, int) else part for part in like
            ),
            text,
            count=0 if replace_global else 1,
        )

    return _each("regex_replace", input, replaced, object)


def _has_re2(input: Any) -> bool:
    """Return whether RE2 is used, which is the only choice in a native function."""
    return _core.build_info()["re2"]["native"] or is_symbolic(input)


# Loops and plain functions use the same few patterns repeatedly.
@lru_cache(128)
def _compiled(op: str, pattern: str, **attributes: Any) -> _core.Op:
    return _core.Op(op, {"pattern": pattern, **attributes})


if hasattr(os, "register_at_fork"):
    # A thread of the parent may have held the lock of a pattern during a match.
    os.register_at_fork(after_in_child=_compiled.cache_clear)


def _pattern_text(name: str, pattern: Any) -> str:
    if is_symbolic(pattern):
        raise TraceError(
            f"{name}: pattern must be known when the function is traced; "
            "drop @ps.native to run it as Python"
        )
    if not isinstance(pattern, (str, bytes)):
        raise TypeError(
            f"strings.{name}: pattern must be str or bytes, got {type(pattern).__name__}"
        )
    try:
        return pattern.encode().decode() if isinstance(pattern, str) else pattern.decode()
    except UnicodeError as problem:
        raise ValueError(
            f"strings.{name}: pattern must be UTF-8, got {pattern!r}: {problem}"
        ) from None


def _python_pattern(name: str, pattern: str, kind: type) -> re.Pattern[Any]:
    try:
        return re.compile(_like(pattern, kind))
    except re.error as problem:
        raise ValueError(
            f"strings.{name}: pattern must be a regular expression, got {pattern!r}: {problem}"
        ) from None


def _rewrite_parts(rewrite: str | bytes) -> list[Any]:
    """Split an RE2 rewrite string into texts and group numbers."""
    if not isinstance(rewrite, (str, bytes)):
        raise TypeError(
            f"strings.regex_replace: rewrite must be str or bytes, got {type(rewrite).__name__}"
        )
    text = rewrite if isinstance(rewrite, str) else rewrite.decode("utf-8", "surrogateescape")
    parts: list[Any] = []
    for piece in re.findall(r"\\.?|[^\\]+", text, re.DOTALL):
        if piece[0] != "\\":
            parts.append(piece)
        elif piece[1:] == "\\":
            parts.append("\\")
        elif piece[1:] in tuple("0123456789"):
            parts.append(int(piece[1:]))
        else:
            raise ValueError(
                "strings.regex_replace: rewrite must hold groups of the pattern as \\0 to \\9, "
                f"and \\\\ for a backslash, got {rewrite!r}"
            )
    return parts


def _like(text: str, kind: type) -> Any:
    return text if kind is str else text.encode("utf-8", "surrogateescape")


def _each(name: str, input: Any, function: Any, dtype: type) -> Any:
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
        out[place] = function(str(text) if isinstance(text, str) else bytes(text))
    return out
