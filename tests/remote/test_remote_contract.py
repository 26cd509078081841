"""Files at URLs satisfy the contract of every source."""

import pytest

import penstock as ps
from contract import DatasetContract

fsspec = pytest.importorskip("fsspec")

URLS = ["memory://contract/a.txt", "memory://contract/b.txt"]
for number, url in enumerate(URLS):
    fsspec.filesystem("memory").pipe_file(
        url, b"".join(b"%d\n" % (4 * number + i) for i in range(4))
    )
LINES = [b"%d" % i for i in range(8)]


class TestRemoteLines(DatasetContract):
    build = staticmethod(lambda: ps.TextLineDataset(URLS))
    expected = LINES


class TestRemoteLinesInTurn(DatasetContract):
    build = staticmethod(lambda: ps.TextLineDataset(URLS, num_parallel_reads=2))
    expected = [line for pair in zip(LINES[:4], LINES[4:], strict=True) for line in pair]


class TestLoadOfAUrl(DatasetContract):
    @staticmethod
    def build():
        if not fsspec.filesystem("memory").exists("memory://contract/saved"):
            ps.Dataset.range(8).save("memory://contract/saved")
        return ps.Dataset.load("memory://contract/saved")

    expected = list(range(8))
