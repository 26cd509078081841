"""Inference of shapes for images, files and records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.ops.known_shapes import NOTHING, Known, Sizes, rule, shape_of, sizes_of


def _scaled(image: Known, height: int | None, width: int | None) -> Known:
    """Return the properties of an image or a batch with another height and width."""
    shape = shape_of(image)
    if len(shape) not in (3, 4):
        return NOTHING
    return Known((*shape[:-3], height, width, shape[-1]))


def _numbers(inputs: Sequence[Known]) -> Sizes:
    """Return the integers in several inputs, each of which has one or more."""
    found: list[int | None] = []
    for each in inputs:
        found += (None,) if each.shape == () and each.items is None else sizes_of(each)
    return tuple(found)


@rule("image.decode_jpeg", "image.decode_png", "image.decode_image")
def _decoded(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    if attributes.get("expand_animations"):
        return NOTHING  # an animation has one more axis
    sides: Sizes = (None, None)
    if len(inputs) > 1:
        sides = _numbers(inputs[1:])[2:4]
    return Known((*sides, attributes["channels"] or None))


@rule("image.resize")
def _resize(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    height, width = sizes_of(inputs[1])
    if attributes["preserve_aspect_ratio"]:
        height = width = None
    return _scaled(inputs[0], height, width)


@rule("image.crop_to_bounding_box", "image.pad_to_bounding_box")
def _box(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    _, _, height, width = _numbers(inputs[1:])
    return _scaled(inputs[0], height, width)


@rule("image.resize_with_crop_or_pad")
def _crop_or_pad(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    height, width = _numbers(inputs[1:])
    return _scaled(inputs[0], height, width)


@rule("image.central_crop")
def _central_crop(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return _scaled(inputs[0], None, None)


@rule("image.random_crop")
def _random_crop(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, wanted = shape_of(inputs[0]), sizes_of(inputs[1])
    pairs = zip(shape, wanted, strict=True)
    return Known(tuple(have if size == -1 else size for have, size in pairs))


@rule("image.transpose")
def _transpose(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape = shape_of(inputs[0])
    return _scaled(inputs[0], shape[-2], shape[-3])


@rule("image.rot90")
def _rot90(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, (turns,) = shape_of(inputs[0]), _numbers(inputs[1:])
    height, width = shape[-3:-1]
    if turns is None:
        return _scaled(inputs[0], *(2 * [height if height == width else None]))
    return _scaled(inputs[0], *((width, height) if turns % 2 else (height, width)))


@rule("image.rgb_to_grayscale")
def _to_grayscale(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known((*shape_of(inputs[0])[:-1], 1))


@rule("image.grayscale_to_rgb")
def _to_rgb(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known((*shape_of(inputs[0])[:-1], 3))


@rule("image.random_window", "image.fitted_box")
def _window(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known((4,))


@rule("image.extract_jpeg_shape")
def _jpeg_shape(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known((3,))


@rule(
    *("io.read_file", "io.make_example", "io.make_sequence_example", "image.is_jpeg"),
    *("image.encode_jpeg", "image.encode_png"),
)
def _one(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known(())


@rule("io.decode_raw")
def _decode_raw(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    length = attributes["fixed_length"]
    width = np.dtype(attributes["out_type"]).itemsize
    return Known((*shape_of(inputs[0]), length // width if length else None))


@rule("io.decode_csv")
def _decode_csv(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> list[Known]:
    columns = len(attributes["columns"].value()[0])
    return [Known(inputs[0].shape)] * columns


_FIXED, _RAGGED, _PADDED = range(3)  # cpp/compute/io/feature.h


@rule("io.parse_example")
def _parse_example(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> list[Known]:
    _, table, *_ = attributes["features"].value()
    records = () if attributes["single"] else shape_of(inputs[0])
    made = []
    for _, form, _, _, _, _, rank, *sizes in table.tolist():
        shape = tuple(sizes[:rank])
        if form == _FIXED:
            made.append(Known((*records, *shape)))
        elif form == _PADDED:
            made.append(Known((*records, None, *shape)))
        elif attributes["single"]:
            made.append(Known((None,)))
        else:
            ends = None if records[0] is None else records[0] + 1
            made += [Known((None,)), Known((ends,))]
    return made
