"""distribute: workers make the elements of the preceding pipeline."""

import penstock as ps
from contract import DatasetContract


def local(ds, **more):
    return ds.distribute(engine="local", num_workers=2, split=3, **more)


class TestDistribute(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(local)
    expected = list(range(12))


class TestDistributeOfBatches(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: local(ds.map(abs).batch(5)).map(abs).unbatch())
    expected = list(range(12))


class TestDistributeBeforeBatches(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: local(ds).prefetch(2).batch(5).unbatch())
    expected = list(range(12))


class TestDistributeBetween(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: local(ds.map(abs)).map(abs).prefetch(1))
    expected = list(range(12))
