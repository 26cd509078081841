"""``to_jax`` on CPU devices: cost per batch, overlap, first batch, shared memory.

- the cost per batch: a full pass over ``ds.to_jax(prefetch=n)``, compared with one over the plain
  batches with ``jnp.asarray`` for each leaf, for small and for large batches. There is no step, so
  nothing can be hidden and the whole cost is visible;
- the hidden share of the smaller of loading and step: loading waits, or computes without the GIL,
  and the loop waits for a jitted step. The bound is 95 % or, if lower, the share that a handwritten
  thread and ``queue.Queue`` hide;
- the delay of the first batch, compared with the plain iterator;
- the number of batches that remain in the pipeline's own memory, by their addresses.

Without JAX there is nothing to measure.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.drop_in import computing, hidden, in_a_thread, waiting
from bench.pipelines.measure import Figure, Spread, drain, interleaved, main, timed

AHEAD = ("auto", 0, 1, 2)
ITEMS = 40  # batches per pass with loading and step


def per_batch(name: str, rows: dict[str, np.ndarray], size: int) -> list[Figure]:
    import jax
    import jax.numpy as jnp

    dataset = ps.Dataset.from_tensor_slices(rows).batch(size, drop_remainder=True)
    dataset = dataset.repeat(max(1, 200 // len(dataset)))
    batches = len(dataset)

    def plain() -> None:
        for batch in dataset:
            for leaf in batch.values():
                last = jnp.asarray(leaf)
        jax.block_until_ready(last)

    cases = {"plain": timed(plain, batches), "numpy": timed(lambda: drain(dataset), batches)}
    for ahead in AHEAD:
        batched = dataset.to_jax(prefetch=ahead)
        cases[str(ahead)] = timed(lambda batched=batched: drain(batched), batches)
    rounds = interleaved(cases)
    us = {case: rounds.seconds(case).median * 1e6 for case in rounds.rounds[0]}
    return [
        Figure(
            f"to_jax(prefetch={ahead!r}), {name}: time / plain batches and jnp.asarray",
            rounds.ratio(str(ahead), "plain"),
            "x",
            note=f"{us[str(ahead)]:.0f} against {us['plain']:.0f} us per batch; without JAX "
            f"{us['numpy']:.1f}",
        )
        for ahead in AHEAD
    ]


def jitted_step(ms: float) -> Callable[[Any], None]:
    """Return an XLA step on one thread, which completes before the call returns."""
    import jax

    @jax.jit
    def spin(x: Any, count: Any) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, y: y * 1.0001 + 1e-6, x)

    values, count = np.ones(64, np.float32), 100_000
    spin(values, 1).block_until_ready()
    whole = min(timed(lambda: spin(values, count).block_until_ready())() for _ in range(3))
    count = round(count * ms * 1e-3 / whole)
    return lambda batch: spin(batch, count).block_until_ready()


def hides(name: str, load: Callable[[], object], ms: float) -> Figure:
    import jax

    step = jitted_step(ms)

    def work(number: np.ndarray) -> np.ndarray:
        load()
        return number.astype(np.float32)

    rows = ps.Dataset.range(64 * ITEMS).batch(64)
    loaded = rows.map(work)
    batches = loaded.to_jax()
    one = next(iter(batches))

    def training(batches: Iterable[Any]) -> None:
        for batch in batches:
            step(batch)

    rounds = interleaved(
        {
            "load": timed(lambda: drain(loaded), ITEMS),
            "step": timed(lambda: [step(one) for _ in range(ITEMS)], ITEMS),
            "by hand": timed(lambda: training(in_a_thread(map(jax.device_put, loaded))), ITEMS),
            "to_jax": timed(lambda: training(batches), ITEMS),
        }
    )
    took = {case: rounds.seconds(case).median * 1e3 for case in rounds.rounds[0]}
    by_hand = hidden(rounds, "by hand", ITEMS)
    return Figure(
        f"to_jax, load that {name}, {ms:g} ms jitted step: hidden of the smaller",
        hidden(rounds, "to_jax", ITEMS),
        "%",
        at_least=min(95.0, by_hand.median),
        note=f"{took['load']:.2f} and {took['step']:.2f} alone; {took['to_jax']:.2f} ms per batch; "
        f"by hand {by_hand.median:.0f} %",
    )


def first_batch() -> Figure:
    images = np.zeros((512, 64, 64, 3), np.uint8)
    dataset = ps.Dataset.from_tensor_slices(images).shuffle(512).batch(64)
    batches = dataset.to_jax()

    def first(iterable: Any) -> Callable[[], float]:
        def case() -> float:
            start = time.perf_counter()
            it = iter(iterable)
            next(it)
            took = time.perf_counter() - start
            it.close()
            return took

        return case

    rounds = interleaved({"plain": first(dataset), "jax": first(batches)}, repeats=30)
    return Figure(
        "to_jax, first batch: later than the plain iterator's",
        rounds.difference("jax", "plain").scaled(1e3),
        "ms",
        at_most=50,
        note=f"{rounds.seconds('jax').median * 1e3:.2f} against "
        f"{rounds.seconds('plain').median * 1e3:.2f} ms; JAX itself was started before",
    )


def shared() -> Figure:
    places: list[int] = []

    def note(batch: np.ndarray) -> np.ndarray:
        places.append(batch.__array_interface__["data"][0])
        return batch

    rows = np.zeros((6400, 64), np.float32)
    dataset = ps.Dataset.from_tensor_slices(rows).shuffle(6400).batch(64).map(note)
    lie = [batch.unsafe_buffer_pointer() for batch in dataset.to_jax()]
    share = 100 * sum(a == b for a, b in zip(lie, places, strict=True)) / len(places)
    return Figure(
        "to_jax, batches that lie where the pipeline wrote them",
        Spread.of([share]),
        "%",
        at_least=100,
        note=f"of {len(places)} batches, by address",
    )


def run() -> list[Figure]:
    if importlib.util.find_spec("jax") is None:
        print("jax_batches: JAX is not installed; its figures are left out", file=sys.stderr)
        return []
    small = {"x": np.zeros((6400, 16), np.float32), "y": np.zeros(6400, np.int32)}
    large = {"x": np.zeros((512, 64, 64), np.float32), "y": np.zeros(512, np.int32)}
    return [
        *per_batch("32 rows of 16 floats", small, 32),
        *per_batch("128 images, 2 MiB", large, 128),
        hides("waits 4 ms", waiting(4), 4),
        hides("waits 2 ms", waiting(2), 6),
        hides("computes 4 ms", computing(4), 4),
        first_batch(),
        shared(),
    ]


if __name__ == "__main__":
    main(run, __doc__)
