"""Random arrays, and the seeds that they and all else draw from."""

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
        What further seeds follow from; see the notes for when each is taken. None goes back to
        seeds from the operating system.

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
    Each iterator takes the next seed when it is made (``iter(ds)``, a ``for`` loop, `Dataset.save`,
    `Dataset.reduce`, ...), not when it starts. All draws of its run derive from that seed, except
    those of stages and operations with a ``seed``, which `set_seed` does not affect.

    A `Dataset.shuffle` without a seed takes the next one of the same seeds when it is built, and so
    do `Dataset.list_files` and others that contain one. Its orders follow from the seed of the
    iterator all the same; only with ``reshuffle_each_iteration=False`` do they follow from this
    one. So call `set_seed` before the pipeline is built, and build no shuffle in between that the
    other program does not build.

    Random operations inside functions and generators of a pipeline draw from the seed of its run,
    and so do iterators and shuffles that are created in them. Outside of pipelines, a random
    operation takes a seed at the call. A `DataLoader` with ``shuffle=True`` or with worker
    processes takes one at the beginning of each pass. Both take it from a second sequence, and do
    not shift the seeds of iterators. A `DataLoader` with worker threads also makes an iterator for
    each pass, which takes its seed as any other.

    Nothing else takes one: neither stages and operations with a ``seed``, nor
    `Dataset.element_spec`, lengths, states and fingerprints. The random generators of Python and
    NumPy stay unchanged.

    A state of an iterator holds the position in the sequence of seeds, and `Iterator.set_state`
    continues there, so that later iterators have the seeds of the program that saved the state.
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
    """Return whether `set_seed` holds for what is built now."""
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
    It holds in the thread that enters the block, and inside a function that a pipeline calls it
    replaces the element's key. It affects neither operations with a ``seed`` nor iterators that are
    created in the block, whose seeds come from `set_seed`. A native function draws
    from the element's key in any case.

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
    """Draw numbers that are equally likely in a range.

    Parameters
    ----------
    shape : int, or sequence of int
        The sizes of the axes; () is a single number.
    minval, maxval : number
        The range ``[minval, maxval)``; ``None`` is 1 for floats, and must be given for integers.
    dtype : dtype_like
        float16, float32, float64, int32 or int64.
    seed : int, optional
        Makes the draws repeatable; see the notes.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Shape `shape`.

    Raises
    ------
    ValueError
        If a size is negative, or the range of integers holds none.
    TypeError
        If `dtype` is another one.

    Notes
    -----
    Randomness: without a seed, a function that `Dataset.map` calls draws from the key of its
    element, so neither threads nor order change the result; elsewhere, the draws follow
    `penstock.random.key` and `penstock.random.set_seed`. With a seed, the draws depend on
    seed, epoch and element: operations with equal seeds draw the same numbers for an element, in
    one function or in two stages. Outside of pipelines they draw the same numbers each time.

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
    """Draw numbers of a normal distribution.

    Parameters
    ----------
    shape : int, or sequence of int
        The sizes of the axes; () is a single number.
    mean, stddev : number
        Its mean and standard deviation.
    dtype : dtype_like
        float16, float32 or float64.
    seed : int, optional
        As in `uniform`.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Shape `shape`.

    Raises
    ------
    ValueError
        If a size is negative.
    TypeError
        If `dtype` is another one.

    Notes
    -----
    By the method of Box and Muller (1958), from two numbers of `uniform` with 53 bits for two
    results. The last bits may differ between systems, as their logarithm and sine do.

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
    """Put the rows of an array in random order.

    Parameters
    ----------
    value : array_like
        Numbers or strings, with at least one axis. (`Dataset.shuffle` is for elements.)
    seed : int, optional
        As in `uniform`.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype; a copy. Each order is equally likely.

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
