"""More of tf.strings: n-grams, hashes, formatting, and joins of segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.compat.calling import ported
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.ragged.factories import constant
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import elementwise, nest
from penstock.ops import strings as _strings

_64_BITS = (1 << 64) - 1


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Join adjacent strings along the last axis.

    Parameters
    ----------
    data : array_like of str, or RaggedTensor
        The strings.
    ngram_width : int or sequence of int
        Number of strings to join. For several widths, their results are concatenated.
    separator : str
        The separator.
    pad_values : str or pair of str, optional
        The padding before and after each row.
    padding_width : int, optional
        Amount of padding; by default, one less than the width.
    preserve_short_sequences : bool
        Whether to return the joined row if it is shorter than all widths.
    name : str, optional
        A label without effect.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.strings.ngrams(["a", "b", "c"], 2).numpy()
    array([b'a b', b'b c'], dtype=object)
    """
    widths = [int(width) for width in np.ravel(ngram_width)]
    pads = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
    between = separator.encode()
    if padding_width is not None and padding_width < 1:
        raise ValueError(f"padding_width must be greater than 0, got {padding_width}")

    def of_row(row: list[bytes]) -> list[bytes]:
        made = []
        for width in widths:
            padded = row
            if pads is not None:
                count = width - 1 if padding_width is None else min(padding_width, width - 1)
                left, right = (array(pad).item() for pad in pads)
                padded = [left] * count + row + [right] * count
            made += [between.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]
        if not made and preserve_short_sequences and row:
            made = [between.join(row)]
        return made

    if isinstance(data, RaggedTensor):
        return constant([of_row(row.numpy().tolist()) for row in data], "string", ragged_rank=1)
    texts = array(data)
    rows = [of_row(row) for row in texts.reshape(-1, texts.shape[-1]).tolist()]
    shape = (*texts.shape[:-1], len(rows[0]) if rows else 0)
    return tensor(np.array(rows, object).reshape(shape))


def to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Any:
    """Map each string to a number below `num_buckets`, with a keyed hash.

    Parameters
    ----------
    input : array_like of str
        The strings.
    num_buckets : int
        The number of buckets.
    key : pair of int
        The key; without it, the results are not predictable.
    name : str, optional
        A label without effect.

    Notes
    -----
    The hash is SipHash-2-4 (Aumasson and Bernstein, 2012).
    """
    first, second = (int(each) & _64_BITS for each in key)
    return _buckets(input, num_buckets, lambda each: _siphash(first, second, each))


def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """Map each string to a number below `num_buckets`, with an older hash.

    Notes
    -----
    The hash is MurmurHash64A (Appleby, 2008), with TensorFlow's seed.
    """
    return _buckets(input, num_buckets, _murmur)


def _buckets(strings: Any, num_buckets: int, hashed: Callable[[bytes], int]) -> Any:
    texts = array(strings)
    made = [hashed(each) % int(num_buckets) for each in texts.ravel().tolist()]
    return tensor(np.array(made, np.int64).reshape(texts.shape))


def _murmur(text: bytes) -> int:
    factor = 0xC6A4A7935BD1E995
    made = 0xDECAFCAFFE ^ (len(text) * factor & _64_BITS)
    whole = len(text) // 8 * 8
    for word in np.frombuffer(text[:whole], "<u8").tolist():
        mixed = word * factor & _64_BITS
        made = (made ^ (mixed ^ mixed >> 47) * factor & _64_BITS) * factor & _64_BITS
    if rest := text[whole:]:
        made = (made ^ int.from_bytes(rest, "little")) * factor & _64_BITS
    made = (made ^ made >> 47) * factor & _64_BITS
    return made ^ made >> 47


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _64_BITS


def _rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        v[0] = (v[0] + v[1]) & _64_BITS
        v[1] = _rotated(v[1], 13) ^ v[0]
        v[0] = _rotated(v[0], 32)
        v[2] = (v[2] + v[3]) & _64_BITS
        v[3] = _rotated(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & _64_BITS
        v[3] = _rotated(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & _64_BITS
        v[1] = _rotated(v[1], 17) ^ v[2]
        v[2] = _rotated(v[2], 32)


def _siphash(first: int, second: int, text: bytes) -> int:
    begin = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    v = [word ^ key for word, key in zip(begin, (first, second) * 2, strict=True)]
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 255])
    for word in np.frombuffer(padded, "<u8").tolist():
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= 255
    _rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Any:
    """Return a text with placeholders replaced by tensors.

    Parameters
    ----------
    template : str
        The text.
    inputs : tensor or sequence of tensors
        The values of the placeholders.
    placeholder : str
        The placeholder text.
    summarize : int
        Number of values to show at either end of each axis; -1 for all.
    name : str, optional
        A label without effect.

    Raises
    ------
    ValueError
        If the numbers of placeholders and tensors differ.
    """
    values = nest.flatten(inputs)
    parts = template.split(placeholder)
    if len(parts) != len(values) + 1:
        raise ValueError(
            f"The template expects {len(parts) - 1} tensors, but the inputs only has {len(values)}"
        )
    shown = [*(_shown(array(value).tolist(), summarize) for value in values), ""]
    return tensor("".join(a + b for a, b in zip(parts, shown, strict=True)))


def _shown(value: Any, summarize: int, depth: int = 1) -> str:
    if isinstance(value, bytes):
        return f'"{value.decode(errors="replace")}"'
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, list):
        return f"{value:d}" if not isinstance(value, complex) else str(value)
    rows = [_shown(each, summarize, depth + 1) for each in value]
    if summarize >= 0 and len(rows) > 2 * summarize:
        rows = [*rows[:summarize], "...", *rows[len(rows) - summarize :]]
    inner = np.ndim(value) - 1
    between = "\n" * inner + " " * depth if inner else " "
    return f"[{between.join(rows)}]"


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Any:
    """Join the strings of each segment, in input order."""
    texts, ids, count = array(inputs), array(segment_ids), int(num_segments)
    if ids.size and not (ids.min() >= 0 and ids.max() < count):
        raise InvalidArgumentError(None, None, f"segment ids from 0 to {count - 1} were expected")
    rows = texts.reshape(-1, *texts.shape[ids.ndim :])
    held: list[list[Any]] = [[] for _ in range(count)]
    for row, number in zip(rows, ids.ravel().tolist(), strict=True):
        held[number].append(row)
    made = np.full((count, *rows.shape[1:]), b"", object)
    between = separator.encode()
    for number, parts in enumerate(held):
        for at in np.ndindex(rows.shape[1:]):
            made[(number, *at)] = between.join(bytes(np.asarray(part)[at]) for part in parts)
    return tensor(made)


def _cased(name: str) -> Callable[..., Any]:
    of_ascii = ported(getattr(_strings, name))

    def call(input: Any, encoding: str = "", name: str | None = None) -> Any:
        if not encoding:
            return of_ascii(input)
        if encoding.lower() not in ("utf-8", "utf8"):
            raise InvalidArgumentError(None, None, f"utf-8 was expected, got {encoding!r}")
        return elementwise.of_strings(input, lambda each: method(each.decode()).encode())

    method = getattr(str, name)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return strings in {name} case: ASCII letters, or all where it is `utf-8`."
    return call


lower, upper = _cased("lower"), _cased("upper")
_reduce_join = ported(_strings.reduce_join)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """Join the strings along axes, or all strings.

    Parameters
    ----------
    inputs : array_like of str
        The strings.
    axis : int or sequence of int, optional
        The axes, in the order in which to join.
    keepdims : bool
        Whether to keep the axes, with size 1.
    separator : str
        The separator.
    name : str, optional
        A label without effect.
    """
    if np.ndim(axis) == 0:
        return _reduce_join(inputs, axis, keepdims, separator)
    axes = [int(each) for each in axis]
    for each in axes:
        inputs = _reduce_join(inputs, each, True, separator)
    return inputs if keepdims else tensor(np.squeeze(array(inputs), tuple(axes)))


NAMES = [
    *("format", "lower", "ngrams", "reduce_join", "to_hash_bucket", "to_hash_bucket_strong"),
    *("unsorted_segment_join", "upper"),
]

__dir__ = listing(globals())
