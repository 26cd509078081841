"""tf.distribute.experimental: strategies of one replica, by older names."""

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
