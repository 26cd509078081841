"""The expected contents of every shard of shard_evenly, and the tested sources."""

import numpy as np

import penstock as ps

POLICIES = ["drop", "pad", "repeat"]

# Sources of the numbers below n, each built differently.
SOURCES = {
    "range": lambda n: ps.Dataset.range(n),
    "slices": lambda n: ps.Dataset.from_tensor_slices(np.arange(n)),
    "generator": lambda n: ps.Dataset.from_generator(lambda: iter(range(n))),
    "filtered": lambda n: (
        ps.Dataset.range(2 * n).filter(lambda x: x % 2 == 0).map(lambda x: x // 2)
    ),
    "mapped": lambda n: ps.Dataset.range(n).map(lambda x: x, num_parallel_calls=2),
    "any order": lambda n: ps.Dataset.range(n).map(
        lambda x: x, num_parallel_calls=3, deterministic=False
    ),
    "rows": lambda n: ps.Dataset.from_indexable(list(range(n))),
    "parallel rows": lambda n: ps.Dataset.from_indexable(list(range(n)), num_parallel_calls=2),
    "ahead": lambda n: ps.Dataset.range(n).prefetch(2),
    "unbatched": lambda n: ps.Dataset.range(n).batch(4).unbatch(),
}


def even_shards(items, count, remainder, begin=0, zero=0):
    """Return the expected contents of every shard, from element `begin` on."""
    items = [int(x) for x in items]
    rounds = range(begin, len(items), count)
    shards = [[] for _ in range(count)]
    for first in rounds:
        if first + count > len(items) and remainder == "drop":
            break
        for i, shard in enumerate(shards):
            real = first + i < len(items)
            if remainder == "pad":
                shard.append((items[first + i], True) if real else (zero, False))
            else:
                shard.append(items[(first + i) % len(items)])
    return shards
