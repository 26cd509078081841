"""TurboLoader, as its README advises."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import turboloader

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import jpeg as photos


def jpeg(task: Task) -> Epoch:
    """DataLoader over one tar file, image_size, train_aug=True, ImageNetNormalize(), "pytorch"."""
    if task.dtype != "float32":
        raise NotImplementedError("only float16 and float32")
    loader = turboloader.DataLoader(
        str(archive(task)),
        batch_size=task.batch,
        image_size=task.side,
        output_format="pytorch",
        transform=turboloader.ImageNetNormalize(),
        train_aug=True,
    )

    def epoch() -> Iterator[Any]:
        for images, _ in loader:
            yield images

    return epoch


def archive(task: Task) -> Path:
    """Return a tar file with the photographs of all shards, which is written once."""
    path: Path = task.folder / "photos.tar"
    if not path.is_file():
        partial = path.with_suffix(".part")
        with tarfile.open(partial, "w") as tar:
            for number, name in enumerate(photos.paths(task)):
                tar.add(name, f"{number:06}.jpg")
        partial.rename(path)
    return path


def as_numpy(images: Any) -> Any:
    """Return the images with their channels last, as the check expects them."""
    return images.transpose(0, 2, 3, 1)


def imports(task: Task) -> float:
    """import turboloader."""
    return importing.measured(task, "turboloader")


def install(task: Task) -> float:
    """turboloader."""
    return installing.measured("turboloader")
