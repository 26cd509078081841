"""tf.image as in TensorFlow 1: each function waits for the session where its arguments do."""

from __future__ import annotations

from penstock.compat.graph import deferred
from penstock.compat.listing import listing
from penstock.compat.tf import old_image as _image

for _name in dir(_image):
    _thing = getattr(_image, _name)
    globals()[_name] = _thing if isinstance(_thing, type) else deferred(_thing)

__dir__ = listing(globals())
