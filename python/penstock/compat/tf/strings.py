"""tf.strings: penstock's string operations for tensors; rows of parts are ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.calling import port_all, ported
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.ragged.factories import constant
from penstock.compat.tensor import tensor
from penstock.compat.tf import texts, unicode
from penstock.ops import strings as _strings

port_all(globals(), _strings)
for _module in (texts, unicode):
    globals().update({_name: getattr(_module, _name) for _name in _module.NAMES})
_split = ported(_strings.split)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Split strings at a separator.

    Parameters
    ----------
    input : str, bytes, or sequence of them
        A string or a vector of strings.
    sep : str or bytes, optional
        The separator; ``None`` and "" split at runs of white space.
    maxsplit : int
        Maximum number of splits; -1 for no limit.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor or RaggedTensor
        The parts of a single string, or a row of parts for each string.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.strings.split("a/b", "/")[-1].numpy()
    b'b'
    """
    if np.ndim(input) > 1:
        rows = RaggedTensor.from_tensor(input)
        return rows.with_flat_values(split(rows.flat_values, sep, maxsplit))
    return _rows(_split(input, sep, maxsplit))


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Split strings into single bytes, with a row for each of several strings."""
    return _each(input, lambda string: [string[i : i + 1] for i in range(len(string))])


def _each(input: Any, cut: Callable[[bytes], list[Any]]) -> Any:
    strings = tensor(input)
    if strings.ndim == 0:
        return tensor(cut(strings.item()), "string")
    return constant([cut(string) for string in strings.tolist()], "string")


def _rows(parts: Any) -> Any:
    return RaggedTensor(*parts) if isinstance(parts, tuple) else parts


__dir__ = listing(globals())
