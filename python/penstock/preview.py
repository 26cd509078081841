"""The first elements of a dataset as text, and with pictures in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.ops.image.png import encode_png

_MOST_PICTURES = 64
_SIDE = 160  # pixels; larger pictures are subsampled
_SMALLEST = 8  # pixels; smaller arrays are not shown as pictures
_FEW = 8  # maximum items of an array that are shown
_LONGEST = 200  # characters of a leaf


class Preview:
    """Elements to display.

    Parameters
    ----------
    elements : sequence
        The elements.
    """

    def __init__(self, elements: Sequence[Any]) -> None:
        self._elements = elements

    def __repr__(self) -> str:
        lines = [f"{i}: {_text(each)}" for i, each in enumerate(self._elements)]
        return "\n".join(lines) if lines else "no elements"

    def _repr_html_(self) -> str:
        import html  # slow to import: a tenth of the time of the package

        shown: list[str] = []
        left = _MOST_PICTURES
        for i, element in enumerate(self._elements):
            pictures = [each for leaf in _leaves(element) for each in _pictures(leaf)][:left]
            left -= len(pictures)
            text = html.escape(f"{i}: {_text(element)}")
            try:
                images = "".join(map(_image, pictures))
            except RuntimeError:  # no PNG codec
                images = ""
            shown.append(
                f"<div style='margin:4px'><div>{images}</div><pre style='white-space:pre-wrap'>"
                f"{text}</pre></div>"
            )
        if left == _MOST_PICTURES or not shown:
            return f"<pre>{html.escape(repr(self))}</pre>"
        return f"<div style='display:flex;flex-wrap:wrap'>{''.join(shown)}</div>"


def display(preview: Preview) -> None:
    """Display elements in a notebook or IPython, or print them elsewhere."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(preview)
    else:
        print(preview)


def _leaves(element: Any) -> Iterator[Any]:
    if isinstance(element, dict):
        element = tuple(element.values())
    if isinstance(element, tuple):
        for part in element:
            yield from _leaves(part)
    else:
        yield element


def _text(element: Any) -> str:
    if isinstance(element, dict):
        return f"{{{', '.join(f'{key!r}: {_text(part)}' for key, part in element.items())}}}"
    if isinstance(element, tuple):
        parts = ", ".join(map(_text, element))
        return f"({parts},)" if len(element) == 1 else f"({parts})"
    if isinstance(element, np.ndarray) and (element.size > _FEW or element.ndim > 1):
        return f"{element.dtype} array of shape {element.shape}"
    text = str(element.tolist()) if isinstance(element, np.ndarray) else repr(_plain(element))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _pictures(leaf: Any) -> list[npt.NDArray[np.uint8]]:
    """Return the pictures in a leaf, a single one or a batch, as arrays ``(H, W, C)``."""
    if not isinstance(leaf, np.ndarray) or leaf.dtype.kind not in "uf" or not leaf.size:
        return []
    channels = leaf.ndim in (3, 4) and leaf.shape[-1] in (1, 3, 4)
    if leaf.ndim == 2:
        leaf, channels = leaf[..., None], leaf.dtype == np.uint8
    if not channels or min(leaf.shape[-3:-1]) < _SMALLEST:
        return []
    if leaf.dtype.kind == "f":
        # Floats are pictures if all values are in [0, 1], which excludes NaN.
        if not (leaf.min() >= 0 and leaf.max() <= 1):
            return []
        leaf = np.rint(leaf * 255).astype(np.uint8)
    if leaf.dtype != np.uint8:
        return []
    batch = leaf if leaf.ndim == 4 else leaf[None]
    step = -(-max(batch.shape[1:3]) // _SIDE)
    return [np.ascontiguousarray(each[::step, ::step]) for each in batch[:_MOST_PICTURES]]


def _image(picture: npt.NDArray[np.uint8]) -> str:
    import base64

    data = base64.b64encode(encode_png(picture)).decode()
    height, width = picture.shape[:2]
    scale = max(_SIDE // 2 // max(height, width), 1)  # small pictures are enlarged
    return (
        f"<img src='data:image/png;base64,{data}' width={width * scale} height={height * scale} "
        "style='image-rendering:pixelated;margin:1px'>"
    )
