"""The `Dataset` class: a handle on a pipeline plan, with all its methods."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from penstock import _core
from penstock.account import account_of, differences, once_only
from penstock.arguments.checked import checked
from penstock.describe import chain, page, unknown_length
from penstock.fingerprint import fingerprint
from penstock.forms import Forms
from penstock.hints import Hints
from penstock.iterator import Iterator
from penstock.options import Options
from penstock.plan import Plan
from penstock.preview import Preview, display
from penstock.probing import find_spec
from penstock.stage import Stage
from penstock.stages.batch import Batch
from penstock.stages.bucket_by_sequence_length import BucketBySequenceLength
from penstock.stages.cache import Cache
from penstock.stages.concatenate import Concatenate
from penstock.stages.filter import Filter
from penstock.stages.from_arrow import FromArrow
from penstock.stages.from_generator import FromGenerator
from penstock.stages.from_zarr import FromZarr
from penstock.stages.group_by_window import GroupByWindow
from penstock.stages.ignore_errors import IgnoreErrors
from penstock.stages.interleave import Interleave
from penstock.stages.list_files import ListFiles
from penstock.stages.load import Load
from penstock.stages.map import Map
from penstock.stages.mix import Mix
from penstock.stages.numbers import Numbers
from penstock.stages.pack import Pack
from penstock.stages.padded_batch import PaddedBatch
from penstock.stages.prefetch import Prefetch
from penstock.stages.ragged_batch import RaggedBatch
from penstock.stages.rejection_resample import RejectionResample
from penstock.stages.repeat import Repeat
from penstock.stages.rows import Rows
from penstock.stages.scan import Scan
from penstock.stages.select import Select, only_element
from penstock.stages.shuffle import Shuffle
from penstock.stages.single import Single
from penstock.stages.snapshot import Snapshot
from penstock.stages.tensors import Tensors
from penstock.stages.unbatch import Unbatch
from penstock.stages.window import Window
from penstock.stages.write import Write
from penstock.stages.zip import Zip
from penstock.structure import TensorSpec

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2

_UNSET = Options()  # of datasets created by the engine


class Dataset(
    # Mixins precede those that they inherit from, as the method resolution order requires.
    Forms,
    ListFiles,
    FromZarr,
    Mix,
    Snapshot,
    Write,
    Scan,
    Numbers,
    FromArrow,
    Tensors,
    FromGenerator,
    Load,
    Map,
    Filter,
    Interleave,
    Batch,
    Unbatch,
    PaddedBatch,
    RaggedBatch,
    BucketBySequenceLength,
    Pack,
    Window,
    GroupByWindow,
    Rows,
    Repeat,
    Shuffle,
    Select,
    Zip,
    Concatenate,
    RejectionResample,
    Cache,
    Prefetch,
    IgnoreErrors,
    Single,
):
    """A sequence of elements, described but not yet computed.

    A source (`range`, `from_tensor_slices`, ...) creates a dataset. Transformations (`map`,
    `batch`, ...) extend it, and each returns a new dataset. A dataset can be iterated any number of
    times. Elements are NumPy arrays and scalars, strings, and nested tuples, named tuples, dicts
    and dataclasses of them.

    Examples
    --------
    >>> ds = ps.Dataset.range(6).map(lambda x: x * x).batch(4)
    >>> for batch in ds:
    ...     print(batch)
    [0 1 4 9]
    [16 25]
    """

    __slots__ = ()

    _inputs: tuple[Dataset, ...]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Raise TypeError: datasets are created by sources."""
        raise TypeError(
            f"{cls.__name__}: a Dataset is made by a source, not called: "
            "Dataset.from_tensor_slices for arrays in memory, Dataset.from_generator for what can "
            "be iterated, Dataset.from_indexable for an object with rows, Dataset.list_files, "
            "TextLineDataset and TFRecordDataset for files, Dataset.range for numbers"
        )

    def as_numpy_iterator(self) -> Iterator:
        """Return ``iter(self)``, whose elements are already NumPy values.

        Returns
        -------
        Iterator
            A new iterator, which starts at the first element.

        Examples
        --------
        >>> next(ps.Dataset.range(3).as_numpy_iterator())
        np.int64(0)
        """
        return iter(self)

    def cardinality(self) -> int:
        """Return the number of elements, if it is known without running the pipeline.

        Returns
        -------
        int
            The number, ``INFINITE_CARDINALITY`` (-1) or ``UNKNOWN_CARDINALITY`` (-2). ``len(ds)``
            returns the same number, and raises TypeError for the other two.

        Notes
        -----
        Elements that will fail are included.

        Examples
        --------
        >>> ps.Dataset.range(10).batch(3).cardinality()
        4
        >>> ps.Dataset.range(10).filter(lambda x: x > 3).cardinality()
        -2
        """
        return self._node.cardinality

    def __len__(self) -> int:
        n = self._node.cardinality
        if n == INFINITE_CARDINALITY:
            raise TypeError("len: the dataset is infinite; use take(n) first")
        if n == UNKNOWN_CARDINALITY:
            raise TypeError(f"len: {unknown_length(self)}")
        return n

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        """Return the element at a position, or a dataset of several elements.

        Parameters
        ----------
        index : int, slice, or sequence of int
            An int may be negative, which counts from the end. A slice, or a list or array of
            positions or of one bool per element, selects elements as `select` does.

        Returns
        -------
        nested arrays, or Dataset
            For an int, the element that iteration yields at this position; earlier elements are not
            computed. Otherwise a dataset, of which nothing is computed yet.

        Raises
        ------
        IndexError
            If the position is outside the dataset.
        TypeError
            If a stage has no random access; the error names it.

        Notes
        -----
        The notes of `experimental.at` apply here too, except that it accepts no negative positions.

        Examples
        --------
        >>> ds = ps.Dataset.range(100).map(lambda x: x * x).batch(2)
        >>> ds[-1]
        array([9604, 9801])
        >>> list(ds[[0, 3]])
        [array([0, 1]), array([36, 49])]
        >>> len(ds[10:20])
        10
        """
        if isinstance(index, bool):
            raise TypeError(
                f"[]: a position, a slice, or a sequence of positions was expected, got {index}; a "
                "mask has a bool for each element"
            )
        try:
            position = operator.index(index)
        except TypeError:
            if isinstance(index, slice):
                index = range(*index.indices(len(self)))
            return self.select(index)
        size = self.cardinality()
        number = position + size if position < 0 <= size else position
        picked = self._then("at", index=max(number, 0))  # checks random access
        if number < 0 and size == INFINITE_CARDINALITY:
            raise IndexError(f"index must be at least 0 for an infinite dataset, got {position}")
        if number < 0 or (size != INFINITE_CARDINALITY and number >= size):
            raise IndexError(f"index must be in [{-size}, {size}), got {position}")
        return only_element(picked)

    def fingerprint(self) -> np.uint64:
        """Return a number that is the same for pipelines with the same elements.

        Returns
        -------
        numpy.uint64
            A hash of the stages, their arguments, the code of functions and the values they refer
            to, and the size and modification time of files.

        Notes
        -----
        The number is the same in every process that has the same program, Python version and files.
        It ignores whatever does not change elements: ``prefetch``, ``num_parallel_calls``, options.
        For an object that it cannot examine (a generator object, for example) it covers only the
        type, and it does not see data that a function reads while it runs. Different numbers
        therefore show that something has changed; equal numbers show only that nothing visible has.

        Examples
        --------
        >>> ds = ps.Dataset.range(10).map(lambda x: x + 1)
        >>> ds.fingerprint() == ds.prefetch(2).fingerprint()
        np.True_
        >>> ds.fingerprint() == ds.batch(2).fingerprint()
        np.False_
        """
        return np.uint64(int(fingerprint(self)[:16], 16))

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements, with the same nesting.

        After a function they cannot be known without calling it. The first element that does not
        fail is therefore computed once, unless `map` or `from_generator` has an
        ``output_signature``. Its dtypes and numbers of axes are assumed for all elements, but its
        sizes are not. A size is known only if tracing the function, as `native` does, proves it for
        all elements; otherwise it is None.

        Returns
        -------
        nested TensorSpec
            None in a shape is an axis of any size, such as the first axis of batches.

        Raises
        ------
        ValueError
            If the first element is needed, but the dataset is empty.

        Notes
        -----
        A plain function is traced only if it has no side effects: everything it reaches must be
        constants, penstock operations, side-effect-free NumPy and Python functions, and other such
        functions.

        Examples
        --------
        >>> ps.Dataset.range(5).batch(2).element_spec
        TensorSpec(shape=(None,), dtype=int64)
        >>> ps.Dataset.range(5).map(lambda n: np.zeros(int(n))).element_spec
        TensorSpec(shape=(None,), dtype=float64)
        >>> ps.Dataset.range(5).map(lambda n: n * np.ones(3)).element_spec
        TensorSpec(shape=(3,), dtype=float64)
        """
        if not find_spec(self):
            unknown = self._node.first_unknown()
            raise ValueError(
                "element_spec: cannot be known, because "
                f"{unknown.kind if unknown else self._kind} gives no element; declare it with "
                "output_signature"
            )
        return self._node.spec(TensorSpec)

    _account = account_of  # what determines the data, for checkpoints
    _differences = staticmethod(differences)
    _once_only = once_only  # the source that can be iterated only once
    _new_hints = Hints  # performance hints for one run

    @checked
    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return this dataset with options set.

        Parameters
        ----------
        options : Options
            The options to set; those that are None stay unchanged.
        name : str, optional
            Ignored; accepted for compatibility with TensorFlow.

        Returns
        -------
        Dataset
            The same elements, produced with these options.

        Raises
        ------
        TypeError
            If `options` is not an `Options` object.

        Notes
        -----
        Options apply to the whole pipeline, wherever they are set. If an option is set twice, the
        later call (further from the source) takes precedence. If inputs with different values are
        combined (in `zip`, for example), the value of the last input applies, with a
        RuntimeWarning.

        Examples
        --------
        >>> options = ps.Options()
        >>> options.threading.private_threadpool_size = 2
        >>> ds = ps.Dataset.range(10).with_options(options)
        >>> ds.batch(2).options().threading.private_threadpool_size
        2
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options: options must be Options, got {options!r:.200}")
        dataset = _copy(self)
        dataset._options = self._options.merge(options)
        return dataset

    def options(self) -> Options:
        """Return the options of this dataset.

        Returns
        -------
        Options
            A copy: changing it does not affect this dataset.
        """
        return Options().merge(self._options)

    @checked
    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Return ``transformation_func(self)``, to chain functions that take a dataset.

        Parameters
        ----------
        transformation_func : callable
            Takes this dataset, returns another one.

        Returns
        -------
        Dataset
            The result of the function.

        Raises
        ------
        TypeError
            If the result is not a Dataset.

        Examples
        --------
        >>> evens = lambda ds: ds.filter(lambda x: x % 2 == 0)
        >>> [int(x) for x in ps.Dataset.range(5).apply(evens)]
        [0, 2, 4]
        """
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"apply: transformation_func must return a Dataset, got {dataset!r}")
        return dataset

    @checked
    def show(self, n: int = 5) -> None:
        """Print the first elements; in a notebook, show a grid of images and text.

        Parameters
        ----------
        n : int
            The number of elements.

        Notes
        -----
        An image is an array of uint8, or of floats in [0, 1], with shape ``(H, W, C)`` and 1, 3 or
        4 channels; a batch of such arrays; or a uint8 array of shape ``(H, W)``. It has at least 8
        x 8 pixels. Large arrays are shown as their type and shape. Each call is a new run of the
        dataset, which computes `n` elements and whatever the stages read ahead.

        Examples
        --------
        >>> images = np.zeros((2, 32, 32, 3), np.uint8)
        >>> ps.Dataset.from_tensor_slices({"image": images, "label": [3, 7]}).show()
        0: {'image': uint8 array of shape (32, 32, 3), 'label': 3}
        1: {'image': uint8 array of shape (32, 32, 3), 'label': 7}
        """
        display(Preview(list(self.take(n))))

    def __repr__(self) -> str:
        return f"<Dataset {chain(self)}>"

    def _repr_html_(self) -> str:
        return page(self)


Plan._facade = Dataset


def of_node(node: _core.Node) -> Dataset:
    """Return the Dataset of a node created by the engine: an element of another dataset."""
    dataset = object.__new__(Dataset)
    dataset._node = node
    dataset._kind = node.kind
    dataset._inputs = ()
    dataset._args = {}
    dataset._identities = {}
    dataset._name = None
    dataset._written = None
    dataset._options = _UNSET
    dataset._traced = ()
    return dataset


def _copy(dataset: Dataset) -> Dataset:
    copy = object.__new__(Dataset)
    for name in Stage.__slots__:
        setattr(copy, name, getattr(dataset, name))
    return copy
