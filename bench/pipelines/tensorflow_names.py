"""The overhead of TensorFlow names: penstock.compat.tf compared with penstock's own names.

The same function is written twice, once with `tf` and once with `ps` and NumPy: ten operations on a
row of 16 bytes, scaling of an image of 64 x 64, pairs of eight numbers, ten additions to a number
and one addition to each number of a range. The first is also measured as a native function. One
thread without batching shows the cost of the function call itself most clearly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as ps
import penstock.compat.tf as tf
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

ROWS = 2000
BYTES = np.arange(ROWS * 16, dtype=np.uint8).reshape(ROWS, 16)
IMAGES = np.zeros((ROWS // 10, 64, 64, 3), np.uint8)
PAIRS = (np.zeros((ROWS, 8), np.float32), np.ones((ROWS, 8), np.float32))
NUMBERS = np.arange(ROWS)


def ten_of_tf(x: Any) -> Any:
    x = tf.reshape(tf.cast(x, tf.float32) / 255.0, [4, 4])
    rows = tf.reduce_mean(tf.concat([x, tf.transpose(x)], 0), axis=0)
    return tf.math.log(tf.expand_dims(tf.maximum(rows, 0.1), 0)) * 2.0


def ten_of_ps(x: Any) -> Any:
    x = ps.reshape(ps.cast(x, np.float32) / np.float32(255), [4, 4])
    rows = ps.reduce_mean(ps.concat([x, ps.transpose(x)], 0), axis=0)
    return np.log(ps.expand_dims(np.maximum(rows, np.float32(0.1)), 0)) * np.float32(2)


def scaled_by_tf(image: Any) -> Any:
    return tf.cast(image, tf.float32) / 127.5 - 1.0


def scaled_by_ps(image: Any) -> Any:
    return ps.cast(image, np.float32) / np.float32(127.5) - np.float32(1)


def ten_additions(x: Any) -> Any:
    for _ in range(10):
        x = x + 1
    return x


def pairs(x: Any, y: Any) -> Any:
    return x * 2 + y, y


def one_addition(x: Any) -> Any:
    return x + 1


CASES: dict[str, tuple[Any, Callable[..., Any], Callable[..., Any]]] = {
    "ten operations": (BYTES, ten_of_tf, ten_of_ps),
    "an image scaled": (IMAGES, scaled_by_tf, scaled_by_ps),
    "pairs of 8 numbers": (PAIRS, pairs, pairs),
    "ten additions": (BYTES, ten_additions, ten_additions),
    "one addition": (NUMBERS, one_addition, one_addition),
    "ten operations, native": (BYTES, ps.native(ten_of_tf), ps.native(ten_of_ps)),
}


def run() -> list[Figure]:
    figures = []
    for name, (data, of_tf, of_ps) in CASES.items():
        rows = len(data[0]) if isinstance(data, tuple) else len(data)
        forms: dict[str, Any] = {
            "tf": tf.data.Dataset.from_tensor_slices(data).map(of_tf),
            "ps": ps.Dataset.from_tensor_slices(data).map(of_ps),
        }
        if name.endswith("native"):
            forms = {form: dataset.batch(64) for form, dataset in forms.items()}
        rounds = interleaved(
            {
                form: timed(lambda dataset=dataset: drain(dataset), rows)
                for form, dataset in forms.items()
            }
        )
        seconds = {form: rounds.seconds(form).median * 1e6 for form in forms}
        figures.append(
            Figure(
                f"{name}: TensorFlow's names / penstock's",
                rounds.ratio("tf", "ps"),
                "x",
                note=f"{seconds['tf']:.3g} against {seconds['ps']:.3g} us an element",
            )
        )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
