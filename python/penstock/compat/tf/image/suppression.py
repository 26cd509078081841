"""Non-maximum suppression: selection of the best among overlapping boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tensor import tensor


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """Select boxes with high scores that do not overlap much with better ones.

    Parameters
    ----------
    boxes : array_like of float, shape ``(count, 4)``
        Two opposite corners of each box, in any order: ``[y1, x1, y2, x2]``.
    scores : array_like of float, shape ``(count,)``
        The score of each box.
    max_output_size : int
        Maximum number of selected boxes.
    iou_threshold : float
        Maximum overlap: the area of the intersection divided by that of the union.
    score_threshold : float
        Only boxes with higher scores are selected.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        The indices of the selected boxes, best first, as int32.
    """
    edges, found = _checked(boxes, scores)
    chosen = _chosen(
        edges, found, int(max_output_size), float(iou_threshold), float(score_threshold)
    )
    return tensor(np.array(chosen, np.int32))


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """Select boxes as `non_max_suppression` does, with given overlaps.

    Parameters
    ----------
    overlaps : array_like of float, shape ``(count, count)``
        The overlap of each pair of boxes.
    scores, max_output_size, score_threshold
        As in `non_max_suppression`.
    overlap_threshold : float
        Maximum overlap.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        The indices of the selected boxes, best first, as int32.
    """
    shared, found = np.asarray(tensor(overlaps)), np.asarray(tensor(scores))
    limits = (int(max_output_size), float(overlap_threshold), float(score_threshold))
    chosen = _best(found, *limits, lambda best, others: shared[best, others])
    return tensor(np.array(chosen, np.int32))


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Select boxes, lowering the scores of those that overlap with better ones.

    Parameters
    ----------
    boxes, scores, max_output_size, iou_threshold, score_threshold
        As in `non_max_suppression`; `iou_threshold` has no effect with `soft_nms_sigma`.
    soft_nms_sigma : float
        The decay of scores: an overlap multiplies the score by ``exp(-overlap**2 / (2 * sigma))``
        (Bodla et al., "Soft-NMS", 2017). 0 drops overlapping boxes instead.
    name : str, optional
        A label without effect.

    Returns
    -------
    selected_indices : Tensor
        The indices of the selected boxes, best first, as int32.
    selected_scores : Tensor
        Their scores.
    """
    edges, found = _checked(boxes, scores)
    sigma = float(soft_nms_sigma)
    if sigma == 0:
        limits = (int(max_output_size), float(iou_threshold), float(score_threshold))
        chosen = _chosen(edges, found, *limits)
        return tensor(np.array(chosen, np.int32)), tensor(found[chosen])
    left = found.copy()
    chosen, values = [], []
    open_ = np.ones(len(left), bool)
    while len(chosen) < int(max_output_size) and (open_ & (left > float(score_threshold))).any():
        best = int(np.argmax(np.where(open_, left, -np.inf)))
        chosen.append(best)
        values.append(left[best])
        open_[best] = False
        overlap = _overlaps(edges[best], edges)
        left = np.where(open_, left * np.exp(-(overlap**2) / left.dtype.type(2 * sigma)), left)
    return tensor(np.array(chosen, np.int32)), tensor(np.array(values, found.dtype))


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Any, Any]:
    """Select boxes as `non_max_suppression` does, with indices padded with zeros.

    Parameters
    ----------
    boxes : array_like of float, shape ``(..., count, 4)``
        The boxes, of one image or of a batch.
    scores : array_like of float, shape ``(..., count)``
        The score of each box.
    max_output_size, iou_threshold, score_threshold
        As in `non_max_suppression`.
    pad_to_max_output_size : bool
        Whether to pad the indices with zeros; required for a batch.
    name, sorted_input, canonicalized_coordinates, tile_size
        Ignored: they do not affect the result.

    Returns
    -------
    selected_indices : Tensor, shape ``(..., max_output_size)``
        The indices of the selected boxes, best first, as int32.
    num_valid : Tensor, shape ``(...)``
        The number of selected boxes.
    """
    edges, found = np.asarray(tensor(boxes)), np.asarray(tensor(scores))
    batch = found.shape[:-1]
    if batch and not pad_to_max_output_size:
        raise ValueError("'pad_to_max_output_size' must be True for batches of boxes")
    most = int(max_output_size)
    rows = [
        _chosen(*_checked(own, values), most, float(iou_threshold), float(score_threshold))
        for own, values in zip(
            edges.reshape(-1, *edges.shape[-2:]), found.reshape(-1, found.shape[-1]), strict=True
        )
    ]
    counts = np.array([len(row) for row in rows], np.int32).reshape(batch)
    if not pad_to_max_output_size:
        return tensor(np.array(rows[0], np.int32)), tensor(counts)
    padded = np.zeros((len(rows), most), np.int32)
    for row, chosen in zip(padded, rows, strict=True):
        row[: len(chosen)] = chosen
    return tensor(padded.reshape(*batch, most)), tensor(counts)


def _checked(boxes: Any, scores: Any) -> tuple[Any, Any]:
    edges, found = np.asarray(tensor(boxes)), np.asarray(tensor(scores))
    if edges.ndim != 2 or edges.shape[1] != 4 or found.shape != edges.shape[:1]:
        raise ValueError(f"boxes and scores do not match: {edges.shape} and {found.shape}")
    return edges, found


def _chosen(boxes: Any, scores: Any, most: int, overlap: float, score: float) -> list[int]:
    return _best(
        scores, most, overlap, score, lambda best, others: _overlaps(boxes[best], boxes[others])
    )


def _best(
    scores: Any, most: int, overlap: float, score: float, overlaps: Callable[[int, Any], Any]
) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > score]
    chosen: list[int] = []
    while len(order) and len(chosen) < most:
        best, order = order[0], order[1:]
        chosen.append(int(best))
        order = order[overlaps(best, order) <= overlap]
    return chosen


def _overlaps(box: Any, boxes: Any) -> Any:
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows = np.minimum(boxes[:, :2], boxes[:, 2:])
    highs = np.maximum(boxes[:, :2], boxes[:, 2:])
    sides = np.minimum(high, highs) - np.maximum(low, lows)
    common = np.prod(np.maximum(sides, 0), axis=1)
    own, others = np.prod(high - low), np.prod(highs - lows, axis=1)
    both = own + others - common
    has_area = (own > 0) & (others > 0)
    return np.divide(common, both, out=np.zeros_like(both), where=has_area)


class CombinedNonMaxSuppression(NamedTuple):
    """The selected boxes of each image, padded with zeros, and their numbers."""

    nmsed_boxes: Any
    nmsed_scores: Any
    nmsed_classes: Any
    valid_detections: Any


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Select boxes for each class and each image of a batch.

    Parameters
    ----------
    boxes : array_like of float, shape ``(N, count, 1 or classes, 4)``
        The boxes, for all classes together or for each class.
    scores : array_like of float, shape ``(N, count, classes)``
        The scores of each box.
    max_output_size_per_class, max_total_size : int
        Maximum number of boxes of a class, and of an image.
    iou_threshold, score_threshold : float
        As in `non_max_suppression`.
    pad_per_class : bool
        Whether to reduce the number of rows to the maximum for all classes together, if it is less
        than `max_total_size`.
    clip_boxes : bool
        Whether to clip coordinates to [0, 1].
    name : str, optional
        A label without effect.

    Returns
    -------
    CombinedNonMaxSuppression
        Boxes ``(N, rows, 4)``, scores and classes ``(N, rows)``, and counts ``(N,)``.
    """
    edges = np.asarray(tensor(boxes), np.float32)
    found = np.asarray(tensor(scores), np.float32)
    per_class, rows = int(max_output_size_per_class), int(max_total_size)
    if pad_per_class:
        rows = min(rows, per_class * found.shape[2])
    made = CombinedNonMaxSuppression(
        np.zeros((len(edges), rows, 4), np.float32),
        np.zeros((len(edges), rows), np.float32),
        np.zeros((len(edges), rows), np.float32),
        np.zeros(len(edges), np.int32),
    )
    for image in range(len(edges)):
        best: list[tuple[float, int, Any]] = []
        for number in range(found.shape[2]):
            own = edges[image, :, min(number, edges.shape[2] - 1)]
            values = found[image, :, number]
            limits = (per_class, float(iou_threshold), float(score_threshold))
            best += [(values[i], number, own[i]) for i in _chosen(own, values, *limits)]
        best = sorted(best, key=lambda each: -each[0])[:rows]
        for row, (score, number, box) in enumerate(best):
            made.nmsed_boxes[image, row] = np.clip(box, 0, 1) if clip_boxes else box
            made.nmsed_scores[image, row] = score
            made.nmsed_classes[image, row] = number
        made.valid_detections[image] = len(best)
    return CombinedNonMaxSuppression(*map(tensor, made))


__dir__ = listing(globals())
