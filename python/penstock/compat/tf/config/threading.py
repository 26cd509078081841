"""tf.config.threading: numbers of threads, stored without effect."""

from penstock.compat.listing import listing
from penstock.compat.tf.config import settings

for _name in ("inter_op_parallelism_threads", "intra_op_parallelism_threads"):
    globals()[f"get_{_name}"] = settings.getter(f"get_{_name}", _name, 0)
    globals()[f"set_{_name}"] = settings.setter(f"threading.set_{_name}", _name, "num_threads")

__dir__ = listing(globals())
