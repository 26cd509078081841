"""Train a small network in plain JAX, with input from a Python generator and then from penstock.

The script generates the images: each has one bright bar on noise, and the class is the bar's
direction. Both loaders shuffle, augment every image (shift, contrast, noise) and make batches of
64. The output is the loss of each epoch, and how long the training loop waited for data.

    python examples/train_jax.py [--rows 2048] [--epochs 3]
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import penstock as ps

SIDE = 32
CLASSES = 4
BATCH = 64


def make_data(rows, seed=0):
    """Return images of shape (rows, SIDE, SIDE), uint8, and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=rows).astype(np.int32)
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE / 2
    angles = labels * np.pi / CLASSES + rng.normal(0, 0.1, rows)
    distance = np.sin(angles)[:, None, None] * x + np.cos(angles)[:, None, None] * y
    images = 120.0 * (np.abs(distance) < 3) + rng.normal(60, 30, (rows, SIDE, SIDE))
    return np.clip(images, 0, 255).astype(np.uint8), labels


def augment(image, label, rng):
    """Return the image with random shift and contrast, as float32 with mean 0, and its class."""
    image = np.roll(image.astype(np.float32), rng.integers(-4, 5, size=2), axis=(0, 1))
    image = np.clip(image * rng.uniform(0.7, 1.3) + rng.normal(0, 8, image.shape), 0, 255)
    return ((image - image.mean()) / (image.std() + 1)).astype(np.float32), label


class PlainLoader:
    """The usual handwritten loader: it assembles a batch when the training loop asks for one."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.rng = np.random.default_rng(1)

    def __iter__(self):
        order = self.rng.permutation(len(self.images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = [
                augment(self.images[i], self.labels[i], self.rng)
                for i in order[start : start + BATCH]
            ]
            images, labels = zip(*rows, strict=True)
            yield jnp.asarray(np.stack(images)), jnp.asarray(np.stack(labels))


def penstock_loader(images, labels):
    """Return the same loader as a penstock pipeline: ahead of the step, in background threads."""
    rows = ps.Dataset.from_tensor_slices((images, labels)).shuffle(len(images), seed=1)
    changed = rows.map(augment, num_parallel_calls=ps.AUTOTUNE)
    return changed.batch(BATCH).to_jax()


def init(key):
    """Return the initial weights of two convolutions and a dense layer."""
    shapes = [(5, 5, 1, 16), (3, 3, 16, 32), (32, CLASSES)]
    keys = jax.random.split(key, len(shapes))
    return [
        jax.random.normal(key, shape) * (2 / np.prod(shape[:-1])) ** 0.5
        for key, shape in zip(keys, shapes, strict=True)
    ]


def loss_of(weights, images, labels):
    """Return the mean cross-entropy."""
    values = images[..., None]
    for kernel in weights[:-1]:
        values = jax.lax.conv_general_dilated(
            values, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        values = jax.nn.relu(values)
    scores = jax.nn.log_softmax(values.mean((1, 2)) @ weights[-1])
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


@jax.jit
def train_step(weights, momentum, images, labels):
    """Return the new weights, the new momentum and the loss."""
    loss, gradient = jax.value_and_grad(loss_of)(weights, images, labels)
    momentum = [0.9 * m + g for m, g in zip(momentum, gradient, strict=True)]
    return [w - 0.02 * m for w, m in zip(weights, momentum, strict=True)], momentum, loss


def train(name, loader, epochs):
    """Train from the same initial weights; print the losses and the time spent waiting for data."""
    weights = init(jax.random.key(0))
    momentum = [jnp.zeros_like(w) for w in weights]
    first = next(iter(loader))
    jax.block_until_ready(train_step(weights, momentum, *first))  # compilation is not timed
    waited = total = 0.0
    for epoch in range(epochs):
        losses = []
        start = time.perf_counter()
        batches = iter(loader)
        while True:
            asked = time.perf_counter()
            batch = next(batches, None)
            waited += time.perf_counter() - asked
            if batch is None:
                break
            weights, momentum, loss = train_step(weights, momentum, *batch)
            losses.append(float(loss))  # waits for the step
        total += time.perf_counter() - start
        print(f"{name}: epoch {epoch + 1}, loss {np.mean(losses):.3f}")
    print(
        f"{name}: {total:.2f} s, waited for data {waited:.2f} s ({waited / total:.0%})", flush=True
    )


def main():
    """Train once with each loader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()
    images, labels = make_data(arguments.rows)
    train("generator", PlainLoader(images, labels), arguments.epochs)
    train("penstock", penstock_loader(images, labels), arguments.epochs)


if __name__ == "__main__":
    main()
