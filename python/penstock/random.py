"""Random arrays, and the seeds of all random draws."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _core
from penstock.arguments.checked import checked
from penstock.arguments.checks import shown
from penstock.ops.call import call, integers

__all__ = ["key", "normal", "set_seed", "shuffle", "uniform"]

_64_BITS = 0xFFFFFFFFFFFFFFFF


@checked
def set_seed(seed: int | None) -> None:
    """Make every run and every random operation after this call repeatable.

    Parameters
    ----------
    seed : int or None
        The seed that all later seeds derive from; see the notes for when each is taken. None
        returns to seeds from the operating system.

    Examples
    --------
    >>> ps.random.set_seed(7)
    >>> a = [int(x) for x in ps.Dataset.range(5).shuffle(5)]
    >>> ps.random.set_seed(7)
    >>> a == [int(x) for x in ps.Dataset.range(5).shuffle(5)]
    True
    >>> ps.random.set_seed(None)

    Notes
    -----
    Each iterator takes the next seed when it is created (``iter(ds)``, a ``for`` loop,
    `Dataset.save`, `Dataset.reduce`, ...), not when it starts. All draws of its run derive from
    that seed, except those of stages and operations with a ``seed``, which `set_seed` does not
    affect.

    A `Dataset.shuffle` without a seed also takes the next seed, when it is built, as do
    `Dataset.list_files` and others that contain a shuffle. That seed determines its order only with
    ``reshuffle_each_iteration=False``; otherwise, the iterator's seed does. To reproduce a program,
    call `set_seed` before the pipeline is built, and build no other shuffles in between.

    Random operations inside functions and generators of a pipeline draw from the seed of its run,
    and so do iterators and shuffles that are created in them. Outside of pipelines, a random
    operation takes a seed at the call. A `DataLoader` with ``shuffle=True`` or with worker
    processes takes one at the beginning of each pass. Both take it from a second sequence, and do
    not shift the seeds of iterators. A `DataLoader` with worker threads also makes an iterator for
    each pass, which takes its seed as any other.

    Nothing else takes a seed: neither stages and operations with a ``seed``, nor
    `Dataset.element_spec`, lengths, states and fingerprints. The random generators of Python and
    NumPy are not affected.

    The state of an iterator contains the position in the sequence of seeds. `Iterator.set_state`
    continues there, so later iterators have the same seeds as in the program that saved the state.
    """
    if seed is None:
        _core.clear_seed()
        return
    try:
        if isinstance(seed, (bool, np.bool_)):
            raise TypeError
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"set_seed: seed must be an int or None, got {shown(seed)}") from None
    _core.set_seed(number & _64_BITS)


def is_seeded() -> bool:
    """Return whether a seed is currently set with `set_seed`."""
    return _core.global_seed() is not None


@contextmanager
@checked
def key(seed: int) -> Iterator[None]:
    """Make the random operations inside a ``with`` block repeatable.

    Parameters
    ----------
    seed : int
        Makes the draws repeatable: the n-th operation without a seed in the block gets the n-th
        key derived from it.

    Notes
    -----
    The block affects only the thread that enters it. Inside a function that a pipeline calls, it
    replaces the element's key. It affects neither operations with a ``seed`` nor iterators that are
    created in the block, whose seeds come from `set_seed`. A native function always draws from the
    element's key.

    Examples
    --------
    >>> def draw():
    ...     with ps.random.key(7):
    ...         return ps.random.uniform((3,)), ps.random.normal((2,))
    >>> bool((draw()[0] == draw()[0]).all())
    True
    """
    scope = _core.KeyScope(seed & _64_BITS)
    scope.enter()
    try:
        yield
    finally:
        scope.exit()


@checked
def uniform(
    shape: int | Sequence[int] | npt.ArrayLike,
    minval: Any = 0,
    maxval: Any = None,
    dtype: npt.DTypeLike = np.float32,
    seed: int | None = None,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Draw numbers from a uniform distribution.

    Parameters
    ----------
    shape : int, or sequence of int
        The sizes of the axes; () is a single number.
    minval, maxval : number
        The range ``[minval, maxval)``. ``None`` means 1 for floats; integers need a value.
    dtype : dtype_like
        float16, float32, float64, int32 or int64.
    seed : int, optional
        Makes the draws repeatable; see the notes.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape `shape`.

    Raises
    ------
    ValueError
        If a size is negative, or a range of integers is empty.
    TypeError
        If `dtype` is not one of these.

    Notes
    -----
    Without a seed, a function called by `Dataset.map` draws from the key of its element, so neither
    threads nor order affect the result. Elsewhere, the draws are determined by
    `penstock.random.key` and `penstock.random.set_seed`. With a seed, the draws depend on the seed,
    the epoch and the element: operations with equal seeds draw the same numbers for an element,
    within one function or in two stages. Outside of pipelines they always draw the same numbers.

    Examples
    --------
    >>> ps.random.uniform((2, 3), seed=1).shape
    (2, 3)
    >>> int(ps.random.uniform((), 5, 6, dtype=np.int64))
    5
    """
    if maxval is None:
        if np.dtype(dtype).kind in "iu":
            raise ValueError("random.uniform: maxval must be given for integers, got None")
        maxval = 1.0
    attributes = {"dtype": np.dtype(dtype).name, "seed": seed}
    drawn: npt.NDArray[Any] = call("random.uniform", [integers(shape), minval, maxval], attributes)
    return drawn


@checked
def normal(
    shape: int | Sequence[int] | npt.ArrayLike,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: npt.DTypeLike = np.float32,
    seed: int | None = None,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Draw numbers from a normal distribution.

    Parameters
    ----------
    shape : int, or sequence of int
        The sizes of the axes; () is a single number.
    mean, stddev : number
        Mean and standard deviation of the distribution.
    dtype : dtype_like
        float16, float32 or float64.
    seed : int, optional
        As in `uniform`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape `shape`.

    Raises
    ------
    ValueError
        If a size is negative.
    TypeError
        If `dtype` is not one of these.

    Notes
    -----
    The method of Box and Muller (1958) turns two numbers of `uniform` with 53 bits into two
    results. The last bits may differ between systems, because their logarithms and sines differ.

    Examples
    --------
    >>> ps.random.normal(3, mean=10, seed=1).dtype
    dtype('float32')
    """
    attributes = {"dtype": np.dtype(dtype).name, "seed": seed}
    drawn: npt.NDArray[Any] = call("random.normal", [integers(shape), mean, stddev], attributes)
    return drawn


@checked
def shuffle(value: npt.ArrayLike, seed: int | None = None, name: str | None = None) -> Any:
    """Shuffle the rows of an array.

    Parameters
    ----------
    value : array_like
        Numbers or strings, with at least one axis. (`Dataset.shuffle` shuffles elements.)
    seed : int, optional
        As in `uniform`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy with the same shape and dtype. All orders are equally likely.

    Raises
    ------
    ValueError
        If `value` has no axis.

    Examples
    --------
    >>> sorted(ps.random.shuffle(["a", "b", "c"], seed=3))
    ['a', 'b', 'c']
    """
    return call("random.shuffle", [value], {"seed": seed})


def __dir__() -> list[str]:
    return [*__all__]
