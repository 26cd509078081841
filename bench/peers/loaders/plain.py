"""Plain Python: lists, threads, queues and NumPy, as one writes it without any loader."""

from __future__ import annotations

import queue
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import tfrecord as records


def jpeg(task: Task) -> Epoch:
    """ThreadPoolExecutor(processors), simplejpeg + OpenCV, np.stack, two batches ahead."""
    from bench.peers import photo

    load, pool = photo.reader(task), ThreadPoolExecutor(task.workers)

    def epoch() -> Iterator[Any]:
        loaded = ahead(pool, load, photos.paths(task), 2 * task.batch)
        return map(np.stack, batches(loaded, task.batch))

    return epoch


def overhead(task: Task) -> Epoch:
    """A plain for; a list per batch or field and np.array."""
    if task.case == "range":
        return lambda: range(task.n)
    if task.case == "map":
        function = lambda x: x + 1  # noqa: E731 - as the loaders get it
        return lambda: map(np.array, batches(map(function, range(task.n)), task.batch))
    return lambda: map(collated, batches(map(counting.record, range(task.n)), task.batch))


def collated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def tfrecord(task: Task) -> Epoch:
    """File.read of length, record and CRC in turn; google_crc32c checks each record."""

    def epoch() -> Iterator[Any]:
        found = read_records(task)
        return batches(found, task.batch) if task.batch else found

    return epoch


def read_records(task: Task) -> Iterator[bytes]:
    import google_crc32c

    value, number = google_crc32c.value, int.from_bytes
    with records.path(task).open("rb", buffering=1 << 20) as file:
        while head := file.read(12):
            contents = file.read(number(head[:8], "little"))
            crc = value(contents)
            masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
            if masked != number(file.read(4), "little"):
                raise ValueError("corrupt record")
            yield contents


def shuffle(task: Task) -> Epoch:
    """A list of 100,000 elements, one of which is drawn and replaced for each that comes."""
    values: Any = shuffling.rows(task) if task.width else range(task.n)
    return lambda: map(np.array, batches(drawn(values, task.buffer), task.batch))


def drawn(values: Iterable[Any], size: int) -> Iterator[Any]:
    source = iter(values)
    buffer = list(islice(source, size))
    draw = random.random
    for value in source:
        place = int(draw() * size)
        yield buffer[place]
        buffer[place] = value
    random.shuffle(buffer)
    yield from buffer


def generator(task: Task) -> Epoch:
    """np.stack in a thread, queue.Queue(2)."""

    def epoch() -> Iterator[Any]:
        stacked = map(np.stack, batches(images.generate(task.n), task.batch))
        return in_background(stacked, 2)

    return epoch


def gil(task: Task) -> Epoch:
    """Holds: ProcessPoolExecutor(processors).map, chunks of 4; releases: ThreadPoolExecutor."""
    function = functions.function(task)
    if task.case == "releases the GIL":
        threads = ThreadPoolExecutor(task.workers)
        return lambda: threads.map(function, range(task.n))
    processes = ProcessPoolExecutor(task.workers)
    return lambda: processes.map(function, range(task.n), chunksize=4)


def cache(task: Task) -> Epoch:
    """Memory: a list of rows, np.stack; file: np.save, np.load(mmap_mode="r"), copied slices."""
    rows = caching.rows(task)
    if task.case == "memory":
        kept = list(rows)
        return lambda: map(np.stack, batches(kept, task.batch))
    file = task.scratch / "rows.npy"
    np.save(file, rows)

    def epoch() -> Iterator[Any]:
        mapped = np.load(file, mmap_mode="r")
        return (np.array(mapped[i : i + task.batch]) for i in range(0, task.n, task.batch))

    return epoch


def batches(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    source = iter(values)
    while batch := list(islice(source, size)):
        yield batch


def ahead(
    pool: Executor, function: Callable[[Any], Any], values: Iterable[Any], most: int
) -> Iterator[Any]:
    """Map in order, with so many calls waiting or done."""
    waiting: deque[Future[Any]] = deque()
    for value in values:
        waiting.append(pool.submit(function, value))
        if len(waiting) > most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def in_background(values: Iterable[Any], most: int) -> Iterator[Any]:
    """Iterate in a thread of its own."""
    ready: queue.Queue[Any] = queue.Queue(most)
    end = object()

    def fill() -> None:
        for value in values:
            ready.put(value)
        ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    while (value := ready.get()) is not end:
        yield value
