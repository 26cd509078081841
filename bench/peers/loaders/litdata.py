"""LitData, as its README advises."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from litdata import StreamingDataLoader, StreamingDataset, optimize
from torch import from_numpy

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import jpeg as photos


def contents(path: str) -> bytes:
    return Path(path).read_bytes()


def loaded(jpeg: bytes, normalise: bool) -> Any:
    """Return a photograph as a tensor: what workers hand over without a copy."""
    from bench.peers import photo

    image = photo.decoded(jpeg)
    return from_numpy(photo.normalised(image) if normalise else image)


def jpeg(task: Task) -> Epoch:
    """optimize(), StreamingDataLoader, processes, one per processor; simplejpeg + OpenCV."""
    dataset = StreamingDataset(
        str(optimized(task)), transform=partial(loaded, normalise=task.dtype == "float32")
    )
    loader = StreamingDataLoader(
        dataset, batch_size=task.batch, num_workers=task.workers, persistent_workers=True
    )
    return lambda: loader


def optimized(task: Task) -> Path:
    """Return the folder of LitData's own files with the photographs, which are written once."""
    folder: Path = task.folder / "litdata"
    if not (folder / "index.json").is_file():
        optimize(
            fn=contents,
            inputs=photos.paths(task),
            output_dir=str(folder),
            num_workers=1,
            chunk_bytes="64MB",
            mode="overwrite",
        )
    return folder


def jpeg_records(task: Task) -> Epoch:
    """LitData's own form of records, as in the workload from files."""
    return jpeg(task)


def imports(task: Task) -> float:
    """import litdata."""
    return importing.measured(task, "litdata")


def install(task: Task) -> float:
    """litdata, with the torchvision that it requires left out."""
    return installing.measured("litdata")
