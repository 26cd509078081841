"""The input of an image classifier, with photographs stored in TFRecords."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.peers.data import write_once
from bench.peers.workload import Task
from bench.peers.workloads.jpeg import SHARDS, Jpeg, paths


class JpegRecords(Jpeg):
    title = "JPEG training pipeline from TFRecords"
    summary = (
        f"The same photographs and the same work as above, from {SHARDS} TFRecord files whose "
        "records are the JPEGs (WebDataset: from tar shards)."
    )
    bound = "The same as with files: libjpeg-turbo, and the rest of the work on the images."

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        photos = paths(task)
        for shard in range(SHARDS):
            file = task.folder / f"photos-{task.n}-{shard}.tfrecord"
            write_once(file, partial(write, photos=photos[shard::SHARDS]))


def write(file: Path, photos: list[str]) -> None:
    """Write the contents of photographs as records."""
    import penstock as ps

    with ps.io.TFRecordWriter(file) as writer:
        for photo in photos:
            writer.write(Path(photo).read_bytes())


def records(task: Task) -> list[str]:
    """Return the paths of the TFRecord files."""
    return sorted(map(str, task.folder.glob(f"photos-{task.n}-*.tfrecord")))


WORKLOAD = JpegRecords()
