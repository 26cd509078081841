"""tf.print: print values in TensorFlow's format."""

from __future__ import annotations

import pprint
import sys
from pathlib import Path
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import Tensor
from penstock.compat.tf import nest

_FILE = "file://"
_SHOWN = 3  # values at either end of an axis
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
_ESCAPES |= {chr(code): f"\\{code:03o}" for code in (*range(32), 127) if chr(code) not in _ESCAPES}
_ESCAPED = str.maketrans(_ESCAPES)


def print_(
    *inputs: Any,
    output_stream: Any = None,
    summarize: Any = _SHOWN,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Print values, with tensors in TensorFlow's format.

    Parameters
    ----------
    *inputs
        The values; tensors may be nested in tuples, lists and dicts.
    output_stream : file or str, optional
        The output; standard error by default. ``"file://" + path`` appends to a file.
    summarize : int
        Number of values to show at either end of an axis; -1 for all.
    sep, end : str
        The separator between values, and the text after the last one.
    name : str, optional
        A label without effect.

    Examples
    --------
    >>> import sys
    >>> import penstock.compat.tf as tf
    >>> tf.print("x:", tf.range(9), {"a": tf.constant(["b"])}, output_stream=sys.stdout)
    x: [0 1 2 ... 6 7 8] {'a': ["b"]}
    """
    shown = sys.maxsize if summarize is None or int(summarize) < 0 else int(summarize)
    if len(inputs) == 1 and type(inputs[0]) is Tensor and inputs[0].dtype == "string":
        alone = inputs[0]
        text = _string(alone.item()) if not alone.ndim else _formatted(alone, shown)
    else:
        text = sep.join(_formatted(value, shown) for value in inputs)
    if isinstance(output_stream, str) and output_stream.startswith(_FILE):
        with Path(output_stream.removeprefix(_FILE)).open("a") as file:
            file.write(text + end)
    else:
        print(text, file=sys.stderr if output_stream is None else output_stream, end=end)


def _formatted(value: Any, shown: int) -> str:
    if isinstance(value, str):
        return value
    # Lines are wrapped as if each tensor were as short as its placeholder.
    mark = "{}"
    while mark in pprint.pformat(nest.map_structure(lambda leaf: _text(leaf, 0) or leaf, value)):
        mark += "0"
    texts: list[str] = []

    def marked(leaf: Any) -> Any:
        if isinstance(leaf, SparseTensor):
            texts.extend(_text(part, shown) or "" for part in leaf.components())
            return f"SparseTensor(indices={mark}, values={mark}, shape={mark})"
        text = _text(leaf, shown)
        if text is None:
            return leaf
        texts.append(text)
        return mark

    whole = pprint.pformat(nest.map_structure(marked, value)).replace(f"'{mark}'", mark)
    before, *rest = whole.split(mark)
    return before + "".join(f"{text}{after}" for text, after in zip(texts, rest, strict=True))


def _text(value: Any, shown: int) -> str | None:
    """Return the text of a tensor; None for other values."""
    if isinstance(value, RaggedTensor):
        return _of_rows(value.to_list(), shown)
    value = value.__tf_tensor__() if hasattr(value, "__tf_tensor__") else value
    if type(value) is not Tensor:
        return None
    return _of_axes(np.asarray(value), min(shown, value.size), value.ndim)


def _of_axes(array: Any, shown: int, axes: int) -> str:
    if not array.ndim:
        return _of_one(array)
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (axes - array.ndim + 1)
    count = len(array)
    rows = [*range(min(shown, count)), *range(max(shown, count - shown), count)]
    texts = [_of_axes(array[row, ...], shown, axes) for row in rows]
    if count > 2 * shown:
        texts.insert(shown, "...")
    return f"[{between.join(texts)}]" if shown or not count else f"[{between}...]"


def _of_one(array: Any) -> str:
    value = array.item()
    if isinstance(value, bytes):
        return f'"{_string(value).translate(_ESCAPED)}"'
    if isinstance(value, complex):
        return "?"
    if not isinstance(value, float):
        return str(int(value))
    # For float32 and double, use as many digits as are needed to read the number back exactly.
    kind, digits = (np.float64, (15, 17)) if array.itemsize == 8 else (np.float32, (6, 9))
    short, long = (f"{value:.{number}g}" for number in digits)
    return short if kind(short) == kind(value) or value != value else long


def _of_rows(rows: Any, shown: int) -> str:
    """Return the text of the rows of a ragged tensor."""
    if not isinstance(rows, list):
        if isinstance(rows, bytes):
            return f"'{_string(rows)}'"
        return f"{rows:f}" if isinstance(rows, float) else str(rows)
    texts = [_of_rows(row, shown) for row in rows]
    if len(texts) > 2 * shown:
        texts[shown : len(texts) - shown] = ["..."]
    return f"[{', '.join(texts)}]"


def _string(value: bytes) -> str:
    return value.decode(errors="replace")


__dir__ = listing(globals())
