"""Keras's functions for arrays of labels, vectors and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tensor import Tensor, tensor


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Return one-hot rows for classes.

    Parameters
    ----------
    x : array_like of int
        The classes; a last axis of size 1 is dropped.
    num_classes : int, optional
        The length of rows; by default, the highest class plus one.

    Returns
    -------
    array
        The rows as float64; for a tensor, a float32 tensor.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.keras.utils.to_categorical([0, 2])
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    classes = np.array(x, np.int64)
    if classes.ndim > 1 and classes.shape[-1] == 1:
        classes = classes[..., 0]
    count = num_classes or int(classes.max()) + 1
    if type(x) is Tensor:
        return tensor((classes[..., np.newaxis] == np.arange(count)).astype(np.float32))
    return np.eye(count)[classes]


def normalize(x: Any, axis: int = -1, order: Any = 2) -> Any:
    """Divide vectors along an axis by their norms.

    Parameters
    ----------
    x : array of float
        The vectors.
    axis : int
        The axis of the vectors.
    order : int
        The order of the norm.

    Returns
    -------
    array
        The vectors with the type of `x`; for a tensor, a tensor.
    """
    values = np.asarray(tensor(x)) if type(x) is Tensor or not isinstance(x, np.ndarray) else x
    norms = np.atleast_1d(np.linalg.norm(values, order, axis))
    norms[norms == 0] = 1
    made = values / np.expand_dims(norms, axis or -1)
    return made if isinstance(x, np.ndarray) and type(x) is not Tensor else tensor(made)


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Pad or truncate sequences to the same length.

    Parameters
    ----------
    sequences : sequence of sequences
        Sequences of numbers, or of arrays of the same shape.
    maxlen : int, optional
        The length; by default, the length of the longest sequence.
    dtype : dtype-like
        The type of the result; object for strings.
    padding : str
        Whether to pad at the start ("pre") or at the end ("post").
    truncating : str
        Whether to truncate at the start ("pre") or at the end ("post").
    value : number or str
        The padding value.

    Returns
    -------
    array, shape ``(number, maxlen, ...)``
        The sequences.

    Raises
    ------
    ValueError
        If an argument has an invalid value, or items differ in shape.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.keras.utils.pad_sequences([[1], [2, 3]])
    array([[0, 1],
           [2, 3]], dtype=int32)
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for name, given in (("Padding", padding), ("Truncating", truncating)):
        if given not in ("pre", "post"):
            raise ValueError(f'{name} type "{given}" not understood')
    for each in sequences:
        if not hasattr(each, "__len__"):
            message = f"`sequences` must be a list of iterables. Found non-iterable: {each}"
            raise ValueError(message)
    if isinstance(value, str) and dtype is not object and np.dtype(dtype).kind not in "SU":
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\n"
            "You should set `dtype=object` for variable length strings."
        )
    length = max(map(len, sequences)) if maxlen is None else int(maxlen)
    shape = next((np.shape(each)[1:] for each in sequences if len(each)), ())
    made = np.full((len(sequences), length, *shape), value, dtype)
    for number, each in enumerate(sequences):
        if not len(each):
            continue
        kept = np.asarray(each[-length:] if truncating == "pre" else each[:length], dtype)
        if kept.shape[1:] != shape:
            raise ValueError(
                f"Shape of sample {kept.shape[1:]} of sequence at position {number} is different "
                f"from expected shape {shape}"
            )
        at = slice(len(kept)) if padding == "post" else slice(length - len(kept), None)
        made[number, at] = kept
    return made


__dir__ = listing(globals())
