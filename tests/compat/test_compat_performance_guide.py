"""Programs in the style of the tf.data performance guide, with short waits instead of work."""

import itertools
import threading
import time

import pytest

import penstock.compat.tf as tf

WAIT = 0.0005  # seconds of simulated work


class ArtificialDataset(tf.data.Dataset):
    """Simulate a reader that opens a file, then reads samples."""

    def _generator(num_samples):
        time.sleep(WAIT)
        for sample_idx in range(num_samples):
            time.sleep(WAIT)
            yield (sample_idx,)

    def __new__(cls, num_samples=3):
        return tf.data.Dataset.from_generator(
            cls._generator,
            output_signature=tf.TensorSpec(shape=(1,), dtype=tf.int64),
            args=(num_samples,),
        )


def benchmark(dataset, num_epochs=2):
    """Train for several epochs; return the samples seen in each."""
    epochs = []
    for _ in range(num_epochs):
        epochs.append([])
        for sample in dataset:
            time.sleep(WAIT)
            epochs[-1].append(sample.numpy().tolist())
    return epochs


def mapped_function(s):
    tf.py_function(lambda: time.sleep(WAIT), [], ())
    return s


SAMPLES = [[0], [1], [2]]


@pytest.mark.parametrize(
    "dataset",
    [
        lambda: ArtificialDataset(),
        lambda: ArtificialDataset().prefetch(tf.data.AUTOTUNE),
        lambda: ArtificialDataset().map(mapped_function),
        lambda: ArtificialDataset().map(mapped_function, num_parallel_calls=tf.data.AUTOTUNE),
        lambda: ArtificialDataset().map(mapped_function).cache(),
    ],
)
def test_one_reader(dataset):
    assert benchmark(dataset()) == [SAMPLES, SAMPLES]


@pytest.mark.parametrize("calls", [None, tf.data.AUTOTUNE])
def test_interleaved_readers(calls):
    ds = tf.data.Dataset.range(2).interleave(
        lambda _: ArtificialDataset(), num_parallel_calls=calls
    )
    both = [[0], [0], [1], [1], [2], [2]]
    assert benchmark(ds) == [both, both]


def test_a_cached_map_is_called_once_for_each_sample():
    calls = itertools.count()
    ds = ArtificialDataset().map(lambda s: (next(calls), s)[1]).cache()
    assert benchmark(ds, 3) == [SAMPLES] * 3
    assert next(calls) == len(SAMPLES)


def test_parallel_calls_overlap():
    together = threading.Barrier(3, timeout=60)  # passes only when three calls run concurrently

    def wait(s):
        together.wait()
        return s

    ds = ArtificialDataset().map(wait, num_parallel_calls=3, deterministic=True)
    assert benchmark(ds, 1) == [SAMPLES]


def test_prefetch_runs_ahead_of_the_training_step():
    produced = threading.Event()

    def samples():
        yield 0
        produced.set()
        yield 1

    ds = tf.data.Dataset.from_generator(samples, output_types=tf.int64, output_shapes=())
    it = iter(ds.prefetch(2))
    assert next(it) == 0
    assert produced.wait(60)  # while the consumer is busy
    assert [x.numpy() for x in it] == [1]


def increment(x):
    return x + 1


def test_scalar_and_vectorised_maps_agree():
    fast = tf.data.Dataset.range(1000)
    scalar = fast.map(increment).batch(256)
    vectorised = fast.batch(256).map(increment)
    assert benchmark(scalar, 1) == benchmark(vectorised, 1)
    assert scalar.element_spec.is_compatible_with(vectorised.element_spec)


class TimeMeasuredDataset(tf.data.Dataset):
    """Like the guide's: yields steps, their end times, and counters."""

    OUTPUT_SIGNATURE = (
        tf.TensorSpec(shape=(2, 1), dtype=tf.string, name=None),
        tf.TensorSpec(shape=(2, 2), dtype=tf.float32, name=None),
        tf.TensorSpec(shape=(2, 3), dtype=tf.int32, name=None),
    )

    _INSTANCES_COUNTER = itertools.count()

    def _generator(instance_idx, num_samples):
        begin = time.perf_counter()
        time.sleep(WAIT)
        opened = time.perf_counter() - begin
        for sample_idx in range(num_samples):
            start = time.perf_counter()
            time.sleep(WAIT)
            read = time.perf_counter() - start
            yield (
                [("Open",), ("Read",)],
                [(begin, opened if sample_idx == 0 else -1.0), (start, read)],
                [(instance_idx, 0, -1), (instance_idx, 0, sample_idx)],
            )

    def __new__(cls, num_samples=4):
        return tf.data.Dataset.from_generator(
            cls._generator,
            output_signature=cls.OUTPUT_SIGNATURE,
            args=(next(cls._INSTANCES_COUNTER), num_samples),
        )


@tf.function
def naive_map(steps, times, values):
    def measure(steps, times, values):
        start = time.perf_counter()
        time.sleep(WAIT)
        map_step = [["Map"]]
        map_time = [[start, time.perf_counter() - start]]
        map_values = [values[-1]]
        return (
            tf.concat((steps, map_step), axis=0),
            tf.concat((times, map_time), axis=0),
            tf.concat((values, map_values), axis=0),
        )

    steps, times, values = tf.py_function(
        measure, inp=(steps, times, values), Tout=(tf.string, tf.float32, tf.int32)
    )
    steps.set_shape((None, 1))
    times.set_shape((None, 2))
    values.set_shape((None, 3))
    return steps, times, values


def batch_map(steps, times, values):
    steps, times, values = tf.py_function(
        lambda s, t, v: (
            tf.concat((s, tf.tile([[["Map"]]], multiples=[tf.shape(s)[0], 1, 1])), axis=1),
            tf.concat((t, tf.zeros([tf.shape(t)[0], 1, 2])), axis=1),
            tf.concat((v, tf.tile([[v[:][-1][-1]]], multiples=[tf.shape(v)[0], 1, 1])), axis=1),
        ),
        inp=(steps, times, values),
        Tout=(tf.string, tf.float32, tf.int32),
    )
    return steps, times, values


def timeline(dataset, num_epochs=2):
    """Collect all steps, like the guide's last benchmark for its plot."""
    steps, samples = [], []
    for epoch in range(num_epochs):
        for names, times, values in dataset:
            assert times.dtype == tf.float32
            assert values.dtype == tf.int32
            names = tf.reshape(names, [-1])
            values = tf.reshape(values, [-1, 3])
            steps += [(epoch, name.decode()) for name in names.numpy()]
            samples += values[:, 2].numpy().tolist()
    return steps, samples


def test_the_naive_and_the_optimised_pipeline_read_the_same_samples():
    naive = (
        tf.data.Dataset.range(2)
        .flat_map(lambda _: TimeMeasuredDataset())
        .map(naive_map, num_parallel_calls=1)
    )
    optimised = (
        tf.data.Dataset.range(2)
        .interleave(lambda _: TimeMeasuredDataset(), num_parallel_calls=tf.data.AUTOTUNE)
        .batch(4, drop_remainder=True)
        .map(batch_map, num_parallel_calls=tf.data.AUTOTUNE)
        .cache()
        .prefetch(tf.data.AUTOTUNE)
    )
    naive_steps, naive_samples = timeline(naive)
    steps, samples = timeline(optimised)
    assert sorted(naive_steps) == sorted(steps)
    assert len(samples) == len(naive_samples) == 2 * 2 * 4 * 3
    for sample in range(4):
        assert samples.count(sample) >= 2 * 2
