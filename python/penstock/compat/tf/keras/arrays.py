"""Keras's functions of arrays of labels, vectors and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tensor import Tensor, tensor


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Return classes as rows with a 1 at the class, and 0 elsewhere.

    Parameters
    ----------
    x : array_like of int
        The classes; a last axis of size 1 is dropped.
    num_classes : int, optional
        The length of rows; by default one more than the greatest class.

    Returns
    -------
    array
        float64; for a tensor, one of float32.

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
    """Return vectors along an axis divided by their norms.

    Parameters
    ----------
    x : array of float
        The vectors.
    axis : int
        Along which axis.
    order : int
        Of the norm.

    Returns
    -------
    array
        Of the type of `x`; for a tensor, a tensor.
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
    """Bring sequences to one length.

    Parameters
    ----------
    sequences : sequence of sequences
        Of numbers, or of arrays of one shape.
    maxlen : int, optional
        The length; by default that of the longest.
    dtype : dtype-like
        The type of the result; object for strings.
    padding : str
        Where short ones are filled: in front ("pre") or at the end ("post").
    truncating : str
        Where long ones are cut: in front ("pre") or at the end ("post").
    value : number or str
        What short ones are filled with.

    Returns
    -------
    array, shape ``(number, maxlen, ...)``
        The sequences.

    Raises
    ------
    ValueError
        If an argument has no such value, or items differ in shape.

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
