"""tf.python_io: the writer of records."""

from penstock.compat.listing import listing
from penstock.compat.tf.io import TFRecordWriter
from penstock.ops.tf_record import TFRecordOptions

__all__ = ["TFRecordOptions", "TFRecordWriter"]

__dir__ = listing(globals())
