"""TarDataset compared with WebDataset itself."""

import io
import tarfile

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from penstock.sources.braces import expanded

webdataset = pytest.importorskip("webdataset")
pytest.importorskip("PIL")


@pytest.fixture
def shards(tmp_path):
    random = np.random.default_rng(3)
    for shard in range(3):
        with tarfile.open(tmp_path / f"{shard:02d}.tar", "w") as archive:
            for number in range(4):
                image = random.integers(0, 256, (8 + number, 9, 3), np.uint8)
                for field, data in {
                    "png": ps.io.encode_png(image),
                    "cls": b"%d\n" % number,
                    "json": b'{"n": %d}' % number,
                    "extra.TXT": b"text",
                }.items():
                    info = tarfile.TarInfo(f"dir.{shard}/{number:04d}.{field}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
    return f"{tmp_path}/{{00..02}}.tar"


def theirs(shards):
    return webdataset.WebDataset(shards, shardshuffle=False)


def without_path(samples):
    return [{k: v for k, v in s.items() if k != "__local_path__"} for s in samples]


def test_samples_are_the_same(shards):
    assert_same(list(ps.TarDataset(shards)), without_path(theirs(shards)))


def test_tuples_are_the_same(shards):
    fields = ("__key__", "png;jpg", "cls")
    assert_same(list(ps.TarDataset(shards, fields)), list(theirs(shards).to_tuple(*fields)))


def test_decoded_samples_are_the_same(shards):
    fields = ("png", "cls", "json", "extra.txt")
    ours = list(ps.TarDataset(shards, fields, decode=True))
    for one, other in zip(ours, theirs(shards).decode("rgb8").to_tuple(*fields), strict=True):
        assert_same(one[0], other[0])
        assert (one[1], one[2], one[3]) == other[1:]


@pytest.mark.parametrize(
    "pattern",
    [
        "a{0..3}b",
        "{01..10}",
        "{-3..3}",
        "{09..-2..3}",
        "{a..f..2}",
        "{x,y{1..3}z}",
        "{a{b,c}}",
        "{}",
        "{a,}",
    ],
)
def test_braces_mean_the_same(pattern):
    braceexpand = pytest.importorskip("braceexpand").braceexpand
    assert expanded("test", pattern) == list(braceexpand(pattern))
