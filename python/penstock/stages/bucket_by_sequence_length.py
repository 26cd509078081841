"""Batches of elements of similar length: bucket_by_sequence_length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.arguments import check_callable
from penstock.stages.padding_arguments import (
    padded_shapes_of,
    padding_values_of,
    with_sizes,
)
from penstock.structure import TensorSpec

_D = TypeVar("_D", bound="BucketBySequenceLength")

_STAGE = "bucket_by_sequence_length"


class _Batch:
    """Batch the elements of a bucket."""

    def __init__(self, sizes: tuple[int, ...], drop_remainder: bool) -> None:
        self.sizes = sizes
        self.drop_remainder = drop_remainder

    def __call__(self, bucket: Any, window: Any) -> Any:
        return window.batch(int(self.sizes[bucket]), self.drop_remainder)


class _PaddedBatch:
    """Batch and pad the elements of a bucket."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        drop_remainder: bool,
        padding: tuple[Any, Any],
        shapes: Any,  # nested TensorSpecs; None pads to the largest element of each batch
        boundaries: tuple[int, ...] | None,  # with pad_to_bucket_boundary
    ) -> None:
        self.sizes = sizes
        self.drop_remainder = drop_remainder
        self.padding = padding
        self.shapes = shapes
        self.boundaries = boundaries

    def __call__(self, bucket: Any, window: Any) -> Any:
        shapes = self.shapes
        if self.boundaries is not None:
            if bucket >= len(self.boundaries):
                raise ValueError(
                    f"{_STAGE}: with pad_to_bucket_boundary every element must be shorter than the "
                    f"last boundary, {self.boundaries[-1] if self.boundaries else 'of none'}; got "
                    "a batch of longer ones; filter them out, or add a boundary"
                )
            if shapes is None:
                shapes = _shapes_of_a_sequence(window)
            shapes = with_sizes(shapes, int(self.boundaries[bucket]) - 1)
        return self.padded(window, int(self.sizes[bucket]), shapes)

    def padded(self, dataset: Any, size: int, shapes: Any) -> Any:
        return dataset._then(
            "padded_batch",
            batch_size=size,
            padded_shapes=shapes,
            padding_value=self.padding[0],
            padding_values=self.padding[1],
            drop_remainder=self.drop_remainder,
        )


def _of_any_number(shape: Any, dtype: Any) -> TensorSpec:
    """Return the spec of batches of any size."""
    return TensorSpec(None if shape is None else (None, *shape[1:]), dtype)


def _shapes_of_a_sequence(window: Any) -> Any:
    """Return padded shapes with None for the sequence; raise if it cannot be identified."""
    arrays = 0

    def shape_of(shape: Any, dtype: Any) -> TensorSpec:
        nonlocal arrays
        arrays += len(shape) if shape is not None else 2
        return TensorSpec([None] * len(shape or ()), object)

    shapes = window._node.spec(shape_of)
    if arrays > 1:
        raise ValueError(
            f"{_STAGE}: which sizes pad_to_bucket_boundary pads cannot be known of elements of "
            f"{window.element_spec}; give padded_shapes, with None for these sizes"
        )
    return shapes


@checked_methods
class BucketBySequenceLength(Plan):
    """Mixin: batches of elements of similar length."""

    __slots__ = ()

    def bucket_by_sequence_length(
        self: _D,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> _D:
        """Group elements into buckets by length, and yield padded batches of one bucket each.

        Parameters
        ----------
        element_length_func : callable
            Takes the element as a `map` function does; returns its length, one int.
        bucket_boundaries : sequence of int
            Upper length limits of the buckets, exclusive and ascending. Bucket 0 contains lengths
            below the first boundary; the last bucket contains lengths from the last boundary on.
        bucket_batch_sizes : sequence of int
            Elements per batch for each bucket, >= 1: one more entry than there are boundaries.
        padded_shapes, padding_values : optional
            As in `padded_batch`.
        pad_to_bucket_boundary : bool
            Pad sizes that are None in the shapes to the bucket's boundary minus one, instead of to
            the longest element of the batch, so that all batches of a bucket have one shape. Every
            element must then be shorter than the last boundary.
        no_padding : bool
            `batch` the elements of a bucket without padding; they must have one shape.
        drop_remainder : bool
            Drop batches at the end that are not full.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Batches as from `padded_batch`; their number is not known in advance.

        Raises
        ------
        TypeError
            If `element_length_func` is not callable; while iterating, if it does not return one
            int.
        ValueError
            If boundaries do not ascend, sizes are < 1, or their numbers do not match; if
            `padded_shapes` does not fit the elements. While iterating, if a batch cannot be padded,
            for example an element of the last bucket with `pad_to_bucket_boundary`.

        Notes
        -----
        A batch is yielded as soon as its bucket has enough elements. At the end of the input, the
        remaining elements follow in the order of the buckets. Saved states and errors work as in
        `group_by_window`.

        Without `padded_shapes`, the sizes that are None in `element_spec` are padded. After a
        function without ``output_signature``, all sizes count as unknown. `pad_to_bucket_boundary`
        then requires elements with exactly one sequence and no other arrays, or `padded_shapes`.

        Examples
        --------
        >>> words = ps.Dataset.from_tensor_slices(["a", "house", "of", "his", "own"])
        >>> letters = words.map(lambda word: np.array(list(word), object))
        >>> batches = letters.bucket_by_sequence_length(
        ...     len, bucket_boundaries=[3, 5], bucket_batch_sizes=[2, 2, 2], padding_values="-")
        >>> for batch in batches:
        ...     print([''.join(word) for word in batch])
        ['a-', 'of']
        ['his', 'own']
        ['house']
        """
        check_callable(_STAGE, "element_length_func", element_length_func)
        boundaries, sizes = tuple(bucket_boundaries), tuple(bucket_batch_sizes)
        reduce_func: _Batch | _PaddedBatch
        padding: dict[str, Any] = {}
        if no_padding:
            reduce_func = _Batch(sizes, bool(drop_remainder))
            batches = self._then("batch", batch_size=1, drop_remainder=False)
        else:
            shapes = padded_shapes_of(padded_shapes, self._node)
            if shapes is None and not self._node.guesses_shapes:
                shapes = self._node.spec(lambda shape, dtype: TensorSpec(shape, object))
            reduce_func = _PaddedBatch(
                sizes,
                bool(drop_remainder),
                padding_values_of(_STAGE, padding_values),
                shapes if padded_shapes is not None or pad_to_bucket_boundary else None,
                boundaries if pad_to_bucket_boundary else None,
            )
            batches = reduce_func.padded(self, 1, reduce_func.shapes)  # validates the shapes
            padding["padded_shapes"] = reduce_func.shapes
            padding["padding_value"], padding["padding_values"] = reduce_func.padding
        return self._then(
            _STAGE,
            element_length_func=element_length_func,
            bucket_boundaries=boundaries,
            bucket_batch_sizes=sizes,
            drop_remainder=bool(drop_remainder),
            no_padding=bool(no_padding),
            pad_to_bucket_boundary=bool(pad_to_bucket_boundary),
            **padding,
            reduce_func=reduce_func,
            element_spec=batches._node.spec(_of_any_number),
            name=name,
        )
