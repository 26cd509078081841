"""Profiles of loops over datasets as JAX arrays."""

import time

import pytest

import penstock as ps
from penstock.profiling import Profile

pytest.importorskip("jax")


def slow(x):
    time.sleep(0.02)
    return x


@pytest.mark.parametrize("begin", [lambda batches: batches, iter])
def test_a_loop_that_waits_for_files(begin):
    batches = ps.Dataset.range(12).map(slow).batch(3).to_jax()
    assert len(list(batches)) == 4  # JAX initializes its backend
    with ps.profile(begin(batches)) as p:
        assert len(list(p)) == 4
    assert isinstance(p.result, Profile)
    assert (p.bottleneck.kind, p.bottleneck.function) == ("io", "slow")
    assert p.advice[0].change.startswith("map(slow, num_parallel_calls=")
