"""tf.random.experimental: some names of tf.random, and seeds derived from seeds."""

from penstock.compat.listing import listing
from penstock.compat.tf import stateless
from penstock.compat.tf.generator import (
    Algorithm,
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from penstock.compat.tf.stateless import index_shuffle, stateless_shuffle

stateless_fold_in = stateless.fold_in
stateless_split = stateless.split

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "index_shuffle",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]

__dir__ = listing(globals())
