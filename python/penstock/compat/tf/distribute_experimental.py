"""tf.distribute.experimental: strategies with a single replica, under older names."""

from penstock.compat.listing import listing
from penstock.compat.tf.strategies import (
    CentralStorageStrategy,
    MultiWorkerMirroredStrategy,
    ParameterServerStrategy,
    TPUStrategy,
)

__all__ = [
    "CentralStorageStrategy",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
]

__dir__ = listing(globals())
