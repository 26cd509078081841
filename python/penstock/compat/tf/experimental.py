"""tf.experimental: only `Optional`."""

from penstock.compat.iterator import Optional
from penstock.compat.listing import listing

__all__ = ["Optional"]

__dir__ = listing(globals())
