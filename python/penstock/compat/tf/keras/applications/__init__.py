"""tf.keras.applications: only the functions that prepare images for pretrained models."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from penstock.compat.advice import missing
from penstock.compat.listing import listing
from penstock.compat.tf.keras import imagenet as _imagenet

# By training method; None uses images unchanged.
_MODELS: dict[str, str | None] = {
    **dict.fromkeys(("inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2"), "tf"),
    **dict.fromkeys(("nasnet", "resnet_v2", "xception"), "tf"),
    **dict.fromkeys(("resnet", "resnet50", "vgg16", "vgg19"), "caffe"),
    **dict.fromkeys(("convnext", "efficientnet", "efficientnet_v2", "mobilenet_v3"), None),
    "densenet": "torch",
}


def _of_model(mode: str | None) -> Callable[..., Any]:
    def preprocess_input(x: Any, data_format: str | None = None) -> Any:
        return x if mode is None else _imagenet.preprocess_input(x, data_format, mode)

    preprocess_input.__doc__ = "Return images as the model takes them: see `imagenet_utils`."
    return preprocess_input


def _module(name: str, function: Callable[..., Any]) -> types.ModuleType:
    made = types.ModuleType(f"{__name__}.{name}", f"tf.keras.applications.{name}: of it, one name.")
    made.__dict__["preprocess_input"] = function
    sys.modules[made.__name__] = made
    made.__dict__["__dir__"] = lambda: ["preprocess_input"]
    made.__dict__["__getattr__"] = missing(made.__name__)
    return made


globals().update({name: _module(name, _of_model(mode)) for name, mode in _MODELS.items()})
imagenet_utils = _module("imagenet_utils", _imagenet.preprocess_input)

__all__ = ["imagenet_utils", *_MODELS]

__dir__ = listing(globals())
