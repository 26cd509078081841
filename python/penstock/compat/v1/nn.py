"""tf.nn as in TensorFlow 1: each function waits for the session where its arguments do."""

from __future__ import annotations

from penstock.compat.graph import deferred
from penstock.compat.listing import listing
from penstock.compat.tf import nn as _nn

for _name in dir(_nn):
    globals()[_name] = deferred(getattr(_nn, _name))

__dir__ = listing(globals())
