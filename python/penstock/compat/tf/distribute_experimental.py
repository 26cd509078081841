"""tf.distribute.experimental: strategies of one replica, by older names."""

from penstock.compat.listing import listing
from penstock.compat.tf.strategies import (
    MultiWorkerMirroredStrategy,
    ParameterServerStrategy,
    Strategy,
    TPUStrategy,
)


class CentralStorageStrategy(Strategy):
    """One replica on this machine."""


__all__ = ["MultiWorkerMirroredStrategy", "ParameterServerStrategy", "TPUStrategy"]

__dir__ = listing(globals())
