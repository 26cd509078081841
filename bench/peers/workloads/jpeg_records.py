"""The input of an image classifier whose photographs lie in TFRecords."""

from __future__ import annotations

from pathlib import Path

from bench.peers.workload import Task
from bench.peers.workloads.jpeg import SHARDS, Jpeg, paths


class JpegRecords(Jpeg):
    title = "JPEG training pipeline from TFRecords"
    summary = (
        f"The same photographs and the same work as above, from {SHARDS} TFRecord files whose "
        "records are the JPEGs (WebDataset: from tar shards)."
    )

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        if len(records(task)) == SHARDS:
            return
        import penstock as ps

        photos = paths(task)
        for shard in range(SHARDS):
            partial = task.folder / f"photos-{task.n}-{shard}.part"
            with ps.io.TFRecordWriter(partial) as writer:
                for photo in photos[shard::SHARDS]:
                    writer.write(Path(photo).read_bytes())
            partial.rename(partial.with_suffix(".tfrecord"))


def records(task: Task) -> list[str]:
    """Return the TFRecord files."""
    return sorted(map(str, task.folder.glob(f"photos-{task.n}-*.tfrecord")))


WORKLOAD = JpegRecords()
