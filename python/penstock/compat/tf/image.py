"""tf.image: penstock's operations on images, on tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.calling import port_all, ported
from penstock.compat.listing import listing
from penstock.ops import image as _image

port_all(globals(), _image)


def _stateless(function: Callable[..., Any]) -> Any:
    call = ported(function)

    def drawn(image: Any, *args: Any, seed: Any, **kwargs: Any) -> Any:
        pair = np.asarray(seed, np.int64).tobytes()
        digest = hashlib.blake2b(pair, digest_size=7).digest()
        return call(image, *args, seed=int.from_bytes(digest, "little"), **kwargs)

    drawn.__name__ = drawn.__qualname__ = f"stateless_{function.__name__}"
    drawn.__doc__ = f"Do as `{function.__name__}`; `seed`, a pair of integers, says what is drawn."
    return drawn


for _name in _image.__all__:
    if _name.startswith("random_") and _name != "random_resized_crop":
        globals()[f"stateless_{_name}"] = _stateless(getattr(_image, _name))

__dir__ = listing(globals())
