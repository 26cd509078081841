"""A small model trained by Keras from penstock, compared with Keras's own array adapter.

Both train on the same rows in batches of 128, shuffled. The model is so small that the transfer of
batches into the step matters. Uses the JAX backend on the CPU; omitted without Keras or JAX.
"""

from __future__ import annotations

import os
import sys

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, interleaved, main, timed

ROWS, COLUMNS, BATCH = 51_200, 32, 128


def run() -> list[Figure]:
    os.environ["KERAS_BACKEND"] = "jax"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import jax  # noqa: F401
        import keras
    except ImportError as error:
        print(f"left out: {error}", file=sys.stderr)
        return []
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    y = rng.integers(0, 10, ROWS).astype(np.int32)
    model = keras.Sequential(
        [keras.layers.Input((COLUMNS,)), keras.layers.Dense(32), keras.layers.Dense(10)]
    )
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = ps.Dataset.from_tensor_slices((x, y)).shuffle(ROWS).batch(BATCH).to_keras()

    def from_arrays() -> None:
        model.fit(x, y, batch_size=BATCH, shuffle=True, verbose=0)

    def from_penstock() -> None:
        model.fit(data, verbose=0)

    steps = ROWS // BATCH
    rounds = interleaved(
        {"arrays": timed(from_arrays, steps), "penstock": timed(from_penstock, steps)}
    )
    micros = {case: rounds.seconds(case).median * 1e6 for case in ("arrays", "penstock")}
    return [
        Figure(
            "Keras on JAX, a small model: steps per second / from arrays",
            rounds.ratio("arrays", "penstock"),
            "x",
            at_least=0.9,
            note=f"{micros['penstock']:.0f} against {micros['arrays']:.0f} us per step",
        )
    ]


if __name__ == "__main__":
    main(run, __doc__)
