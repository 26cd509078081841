"""Train a small network with Keras, with input from a Python generator and then from penstock.

The script generates the images: each has one bright bar on noise, and the class is the bar's
direction. Both loaders shuffle, augment every image (shift, contrast, noise) and make batches of
64. The output is the loss of each epoch, and how long model.fit waited for data.

    python examples/train_keras.py [--backend jax] [--rows 1024] [--epochs 3]
"""

import argparse
import os
import time

import numpy as np

import penstock as ps

SIDE = 32
CLASSES = 4
BATCH = 64


def make_data(rows, seed):
    """Return images of shape (rows, SIDE, SIDE, 1), uint8, and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=rows).astype(np.int32)
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE / 2
    angles = labels * np.pi / CLASSES + rng.normal(0, 0.1, rows)
    distance = np.sin(angles)[:, None, None] * x + np.cos(angles)[:, None, None] * y
    images = 120.0 * (np.abs(distance) < 3) + rng.normal(60, 30, (rows, SIDE, SIDE))
    return np.clip(images, 0, 255).astype(np.uint8)[..., None], labels


def augment(image, label, rng):
    """Return the image with random shift and contrast, as float32 with mean 0, and its class."""
    image = np.roll(image.astype(np.float32), rng.integers(-4, 5, size=2), axis=(0, 1))
    image = np.clip(image * rng.uniform(0.7, 1.3) + rng.normal(0, 8, image.shape), 0, 255)
    return ((image - image.mean()) / (image.std() + 1)).astype(np.float32), label


class Generator:
    """The usual handwritten generator: infinite batches, assembled when model.fit asks for them."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.wait_seconds = 0.0

    def batches(self):
        """Yield batches forever; `fit` receives the number of batches per epoch."""
        rng = np.random.default_rng(1)
        while True:
            order = rng.permutation(len(self.images))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                asked = time.perf_counter()
                chosen = order[start : start + BATCH]
                rows = [augment(self.images[i], self.labels[i], rng) for i in chosen]
                images, labels = (np.stack(part) for part in zip(*rows, strict=True))
                self.wait_seconds += time.perf_counter() - asked
                yield images, labels


def penstock_data(images, labels):
    """Return the same data as a penstock pipeline: ahead of the step, in background threads."""
    rows = ps.Dataset.from_tensor_slices((images, labels)).shuffle(len(images), seed=1)
    changed = rows.map(augment, num_parallel_calls=ps.AUTOTUNE)
    return changed.batch(BATCH, drop_remainder=True).to_keras()


def make_model(keras):
    """Return two convolutions and a dense layer, always with the same initial weights."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.layers.Input((SIDE, SIDE, 1)),
            keras.layers.Conv2D(16, 5, strides=2, padding="same", activation="relu"),
            keras.layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(CLASSES),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.005), loss)
    model.train_on_batch(np.zeros((BATCH, SIDE, SIDE, 1), "f"), np.zeros(BATCH, "i"))  # compiles
    return model


def train(keras, name, data, loader, validation, epochs, **arguments):
    """Train from the same initial weights; print the losses and the time spent waiting for data."""
    model = make_model(keras)
    start, waited = time.perf_counter(), loader.wait_seconds
    history = model.fit(data, epochs=epochs, shuffle=False, verbose=0, **arguments)
    total, waited = time.perf_counter() - start, loader.wait_seconds - waited
    for epoch, loss in enumerate(history.history["loss"], 1):
        print(f"{name}: epoch {epoch}, loss {loss:.3f}")
    print(f"{name}: loss on other images {model.evaluate(validation, verbose=0):.3f}")
    print(
        f"{name}: {total:.2f} s, waited for data {waited:.2f} s ({waited / total:.0%})", flush=True
    )


def main():
    """Train once with each loader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["jax", "torch", "tensorflow"], default="jax")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()
    os.environ["KERAS_BACKEND"] = arguments.backend  # read when Keras is imported
    import keras

    images, labels = make_data(arguments.rows, seed=0)
    validation = penstock_data(*make_data(512, seed=7))
    generator = Generator(images, labels)
    steps = len(images) // BATCH
    train(
        *(keras, "generator", generator.batches(), generator, validation, arguments.epochs),
        steps_per_epoch=steps,
    )
    data = penstock_data(images, labels)
    train(keras, "penstock", data, data, validation, arguments.epochs)


if __name__ == "__main__":
    main()
