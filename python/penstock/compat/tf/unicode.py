"""Unicode functions: tf.strings.unicode_split, unicode_decode, unicode_encode and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.ragged.factories import constant
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import elementwise


def decoded(
    text: bytes, encoding: str, errors: str, replacement: int, replace_controls: bool
) -> list[tuple[int, int]]:
    """Return the code point of each character of a string, and its byte offset."""
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(f"errors: strict, replace or ignore was expected, got {errors!r}")
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        try:
            rest = text[at:].decode(encoding, "strict")
            end = len(text)
            bad = 0
        except UnicodeDecodeError as error:
            rest = text[at : at + error.start].decode(encoding)
            end, bad = at + error.start, error.end - error.start
        for character in rest:
            found.append((ord(character), at))
            at += len(character.encode(encoding))
        at = end
        if not bad:
            break
        if errors == "strict":
            raise InvalidArgumentError(None, None, f"Invalid formatting on input string {text!r}")
        if errors == "replace":
            found.append((replacement, at))
        at += bad
    if replace_controls:
        found = [(replacement if n < 32 else n, at) for n, at in found]
    return found


def encoded(numbers: Any, encoding: str, errors: str, replacement: int) -> bytes:
    """Encode code points as a string."""
    made = []
    for number in numbers:
        valid = 0 <= number < 0x110000 and not 0xD800 <= number < 0xE000
        if not valid and errors == "strict":
            raise InvalidArgumentError(None, None, f"Code point is out of range: {number}")
        if valid or errors == "replace":
            made.append(chr(number if valid else replacement))
    return "".join(made).encode(_name(encoding))


def _name(encoding: str) -> str:
    """Return Python's name of an encoding, without a byte order mark."""
    return {"UTF-16": "utf-16-be", "UTF-32": "utf-32-be"}.get(encoding.upper(), encoding)


def _each(
    input: Any,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> tuple[Any, list[list[tuple[int, int]]]]:
    strings = array(input)
    encoding = _name(input_encoding)
    return strings, [
        decoded(each, encoding, errors, replacement_char, replace_control_characters)
        for each in strings.ravel().tolist()
    ]


def _shaped(strings: Any, rows: list[list[Any]], dtype: Any) -> Any:
    """Return a row for each string: an array for a single string, else a ragged tensor."""
    if strings.ndim == 0:
        return tensor(rows[0], dtype)
    return constant(rows, dtype, ragged_rank=1)


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Return the code points of strings, with a row for each of several strings."""
    return unicode_decode_with_offsets(
        input, input_encoding, errors, replacement_char, replace_control_characters
    )[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the code points of strings, and their byte offsets.

    Parameters
    ----------
    input : str, bytes, or sequence of them
        The strings.
    input_encoding : str
        "UTF-8", "UTF-16-BE" or another one.
    errors : str
        The handling of invalid bytes: "replace", "ignore" or "strict".
    replacement_char : int
        The replacement code point.
    replace_control_characters : bool
        Whether to also replace code points below 32, including tabs and line breaks.
    name : str, optional
        A label without effect.
    """
    strings, rows = _each(
        input, input_encoding, errors, replacement_char, replace_control_characters
    )
    numbers = [[number for number, _ in row] for row in rows]
    offsets = [[at for _, at in row] for row in rows]
    return _shaped(strings, numbers, np.int32), _shaped(strings, offsets, np.int64)


def unicode_split(
    input: Any,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    r"""Split strings into characters, with a row for each of several strings.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.strings.unicode_split("né", "UTF-8").numpy()
    array([b'n', b'\xc3\xa9'], dtype=object)
    """
    return unicode_split_with_offsets(input, input_encoding, errors, replacement_char)[0]


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Split strings into characters, and return their byte offsets."""
    strings, rows = _each(input, input_encoding, errors, replacement_char, False)
    encoding = _name(input_encoding)
    texts = [[chr(number).encode(encoding) for number, _ in row] for row in rows]
    offsets = [[at for _, at in row] for row in rows]
    return _shaped(strings, texts, "string"), _shaped(strings, offsets, np.int64)


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Encode rows of code points as strings.

    Parameters
    ----------
    input : array_like of int or RaggedTensor
        The code points; the last axis forms a string.
    output_encoding : str
        "UTF-8", "UTF-16-BE" or "UTF-32-BE".
    errors : str
        The handling of invalid code points: "replace", "ignore" or "strict".
    replacement_char : int
        The replacement code point.
    name : str, optional
        A label without effect.
    """
    if isinstance(input, RaggedTensor):
        if isinstance(input.values, RaggedTensor):
            inner = unicode_encode(input.values, output_encoding, errors, replacement_char)
            return RaggedTensor.from_row_splits(inner, input.row_splits)
        rows = input.to_list()
        shape = (len(rows),)
    else:
        numbers = array(input)
        shape = numbers.shape[:-1]
        rows = numbers.reshape(int(np.prod(shape)), -1).tolist()
    made = np.empty(len(rows), object)
    made[:] = [encoded(row, output_encoding, errors, replacement_char) for row in rows]
    return tensor(made.reshape(shape))


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Convert strings to another encoding; parameters as in `unicode_decode_with_offsets`."""
    encoding = _name(input_encoding)

    def transcoded(text: bytes) -> bytes:
        row = decoded(text, encoding, errors, replacement_char, replace_control_characters)
        return encoded([number for number, _ in row], output_encoding, errors, replacement_char)

    return elementwise.of_strings(input, transcoded)


NAMES = [
    *("unicode_decode", "unicode_decode_with_offsets", "unicode_encode", "unicode_split"),
    *("unicode_split_with_offsets", "unicode_transcode"),
]

__dir__ = listing(globals())
