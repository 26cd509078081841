"""Train a small network with PyTorch, from a plain loader and from penstock, and time the waits.

The script generates the images: noise with one bright stripe; the class is the stripe's direction.
Both loops shuffle the images, augment each with the same function, and train the same network.

    python examples/train_torch.py
    python examples/train_torch.py --device cuda --epochs 10
"""

import argparse
import time

import numpy as np
import torch

import penstock as ps

SIZE, CROP, CLASSES = 40, 32, 4


def make_pictures(count):
    """Return uint8 images of shape (count, 40, 40, 3), and their classes."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 160, (count, SIZE, SIZE, 3), np.uint8)
    labels = rng.integers(0, CLASSES, count)
    along = np.arange(8, 32)
    for picture, label, shift in zip(pictures, labels, rng.integers(-6, 7, count), strict=True):
        across = {0: 0 * along + 20, 1: along, 2: 39 - along, 3: along}[int(label)] + shift
        rows, columns = (across, along) if label != 3 else (along, 0 * along + 20 + shift)
        picture[np.clip(rows, 0, 39), np.clip(columns, 0, 39)] = 255
    return pictures, labels


@ps.native  # a pipeline runs it in C++; the plain loader calls it as a Python function
def prepare(picture, label):
    """Augment an image at random; returns float32 of shape (32, 32, 3)."""
    picture = ps.image.random_crop(picture, (CROP, CROP, 3))
    picture = ps.image.random_brightness(picture, 0.2)
    picture = ps.image.random_contrast(picture, 0.7, 1.3)
    return ps.image.per_image_standardization(picture), label


def plain_loader(pictures, labels, batch):
    """Yield the batches of an epoch, like a training script without an input pipeline."""
    order = np.random.default_rng().permutation(len(pictures))
    for start in range(0, len(order) - batch + 1, batch):
        rows = [prepare(pictures[i], labels[i]) for i in order[start : start + batch]]
        yield tuple(torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True))


def pipeline(pictures, labels, batch):
    """Return the same batches as a dataset."""
    return (
        ps.Dataset.from_tensor_slices((pictures, labels))
        .shuffle(len(pictures))
        .map(prepare, num_parallel_calls=ps.AUTOTUNE)
        .batch(batch, drop_remainder=True)
    )


def make_network():
    """Return a new network, always with the same initial weights."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 5 * 5, CLASSES),
    )


def train(name, epochs, batches, device):
    """Train a new network; `batches` returns an iterable of the batches of an epoch."""
    network = make_network().to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    for epoch in range(1, epochs + 1):
        began, waited, losses = time.perf_counter(), 0.0, []
        it = iter(batches())
        while True:
            asked = time.perf_counter()
            batch = next(it, None)
            waited += time.perf_counter() - asked
            if batch is None:
                break
            pictures, labels = (part.to(device) for part in batch)
            loss = torch.nn.functional.cross_entropy(network(pictures.movedim(-1, 1)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        loss = float(torch.stack(losses).mean())
        took = time.perf_counter() - began
        print(
            f"{name}: epoch {epoch}: loss {loss:.3f}, {took:.2f} s, "
            f"{waited / took:.0%} of them waiting for data",
            flush=True,
        )


def main():
    """Train once with each loader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the other core is for the data

    pictures, labels = make_pictures(arguments.pictures)
    data = pictures, labels, arguments.batch
    train("plain loader", arguments.epochs, lambda: plain_loader(*data), arguments.device)
    ready = pipeline(*data).to_torch(arguments.device)
    train("penstock", arguments.epochs, lambda: ready, arguments.device)


if __name__ == "__main__":
    main()
