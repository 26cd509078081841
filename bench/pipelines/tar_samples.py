"""Samples of tar shards, an image and its class, compared with WebDataset.

The demo's photographs in shards of 250, in the page cache: as bytes, and decoded to uint8 arrays by
each library's own decoder (`decode=True`; ``.decode("rgb8")``, which uses Pillow). Needs ``pip
install webdataset``.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed
from penstock.demo import photos

PHOTOS = 1000
PER_SHARD = 250
FIELDS = ("jpg", "cls")


def write_shards(folder: str) -> str:
    """Write the photographs as shards; return the pattern of their names."""
    files = sorted(Path(photos.made(PHOTOS).folder).rglob("*.jpg"))
    for first in range(0, PHOTOS, PER_SHARD):
        with tarfile.open(f"{folder}/{first // PER_SHARD:03d}.tar", "w") as archive:
            for number, path in enumerate(files[first : first + PER_SHARD], first):
                for field, data in (("jpg", path.read_bytes()), ("cls", b"%d" % (number % 10))):
                    info = tarfile.TarInfo(f"{number:06d}.{field}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
    return f"{folder}/{{000..{(PHOTOS - 1) // PER_SHARD:03d}}}.tar"


def run() -> list[Figure]:
    try:
        import webdataset
    except ModuleNotFoundError:
        return []
    with tempfile.TemporaryDirectory() as folder:
        shards = write_shards(folder)
        theirs: Any = webdataset.WebDataset(shards, shardshuffle=False)
        cases = {
            "bytes": ps.TarDataset(shards, FIELDS),
            "bytes, a dict": ps.TarDataset(shards),
            "bytes, WebDataset": theirs.to_tuple(*FIELDS),
            "bytes, a dict, WebDataset": webdataset.WebDataset(shards, shardshuffle=False),
            "decoded": ps.TarDataset(shards, FIELDS, decode=True),
            "decoded, WebDataset": webdataset.WebDataset(shards, shardshuffle=False)
            .decode("rgb8")
            .to_tuple(*FIELDS),
        }
        rounds = interleaved(
            {name: timed(lambda ds=ds: drain(ds), PHOTOS) for name, ds in cases.items()}
        )
    rate = {name: 1 / rounds.seconds(name).median for name in cases}
    return [
        Figure(
            f"tar of JPEGs, {name}: speed / WebDataset",
            rounds.ratio(f"{name}, WebDataset", name),
            "x",
            at_least=3,
            note=f"{rate[name]:.0f} against {rate[f'{name}, WebDataset']:.0f} samples/s",
        )
        for name in ("bytes", "bytes, a dict", "decoded")
    ]


if __name__ == "__main__":
    main(run, __doc__)
