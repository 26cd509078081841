"""Elements, order and random numbers are independent of run settings and machine.

Kinds of datasets use a pipeline of about 10,000 elements from order_stages.py, or their contract's.
`python tests/test_order.py` rewrites golden/order.json with the results of the former. Do that only
if results are meant to change.
"""

import hashlib
import itertools
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from of_contracts import dataset_of
from order_stages import ORDER_FREE, SOURCES, STAGES, WHOLE, Run, numbers
from penstock import _core

TABLE = SOURCES.keys() | STAGES.keys()
GOLDEN = Path(__file__).parent / "golden" / "order.json"

PLAIN = Run()
RUNS = [
    Run(1, 2, 1),
    Run(2, ps.AUTOTUNE, 4),
    Run(8, None, 3),
    Run(ps.AUTOTUNE, 16, None),
    Run(3, 2, None, debug=True),
]


@pytest.fixture(autouse=True)
def unseeded():
    yield
    ps.set_seed(None)


def build(kind, run):
    ps.set_seed(7)
    if kind in SOURCES:
        ds = SOURCES[kind](run)
    elif kind in STAGES:
        ds = STAGES[kind](numbers(run), run)
    else:
        ds = dataset_of(kind, run.calls)
    if run.ahead is not None:
        ds = ds.prefetch(run.ahead)
    return ds.with_options(run.options())


def add(digest, value):
    """Hash a nested value by structure, dtypes, shapes and bytes, the same on every machine."""
    if isinstance(value, (tuple, list)):
        digest.update(b"(%d" % len(value))
        for part in value:
            add(digest, part)
    elif isinstance(value, dict):
        add(digest, list(value.items()))
    elif isinstance(value, (str, bytes)):
        digest.update(repr(value).encode())
    else:
        array = np.asarray(value)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        if array.dtype.hasobject:
            add(digest, array.ravel().tolist())
        else:
            digest.update(np.ascontiguousarray(array).tobytes())


def hash_of(kind, run):
    """Hash a pass over a new dataset, and the beginning of a second one, which may differ."""
    digest = hashlib.sha256()
    ds = build(kind, run)
    if kind in TABLE - WHOLE:
        ds = ds.batch(500)
    for most in (None, 3):
        with iter(ds) as it:
            for element in itertools.islice(it, most):
                add(digest, element)
        digest.update(b"end")
    return digest.hexdigest()[:32]


def hash_in(kind, run):
    with tempfile.TemporaryDirectory() as folder:
        run = Run(
            *(getattr(run, n) for n in Run.__dataclass_fields__ if n != "folder"), Path(folder)
        )
        if run.debug:
            with ps.experimental.debug_mode():
                return hash_of(kind, run)
        return hash_of(kind, run)


def test_every_pipeline_is_of_a_kind_and_has_a_hash():
    assert set(_core.stage_traits()) >= TABLE
    assert json.loads(GOLDEN.read_text()).keys() == TABLE, "run python tests/test_order.py"


@pytest.mark.parametrize("kind", sorted(_core.stage_traits()))
def test_results_are_the_same_however_it_is_run(kind):
    wanted = json.loads(GOLDEN.read_text()).get(kind) or hash_in(kind, PLAIN)
    came = {str(run): hash_in(kind, run) for run in (PLAIN, *RUNS)}
    assert set(came.values()) == {wanted}, came


def kinds(ds):
    """Return the kinds of a dataset's stages."""
    return {ds._kind}.union(*map(kinds, ds._inputs))


MADE_BY_OTHERS = {"at", "count", "elements"}


@pytest.mark.parametrize("kind", sorted(TABLE - MADE_BY_OTHERS))
def test_the_pipeline_of_a_kind_has_such_a_stage(kind, tmp_path):
    ds = build(kind, Run(folder=tmp_path))
    assert kind in kinds(ds) or f"map_func={kind}" in repr(ds)


@pytest.mark.parametrize("kind", ORDER_FREE)
def test_without_order_the_same_elements_come(kind):
    def elements(**how):
        ds = build(kind, Run(8, 2, **how))
        return sorted(tuple(map(float, x)) for x in ds)

    assert elements(deterministic=False) == elements()


# --- seeds, as in tf.data ---


def epochs(ds, count=3):
    return [[int(x) for x in ds] for _ in range(count)]


def shuffled(**how):
    return ps.Dataset.range(30).shuffle(30, **how)


def test_a_second_pass_goes_on_with_the_sequence_and_a_new_dataset_restarts_it():
    ds = shuffled(seed=3)
    first = epochs(ds)
    assert first[0] != first[1] != first[2] != first[0]
    assert epochs(ds) != first
    assert epochs(shuffled(seed=3)) == first
    assert epochs(shuffled(seed=4)) != first


def test_repeat_reshuffles_reproducibly():
    def repeated(**how):
        rows = [int(x) for x in shuffled(seed=3, **how).repeat(3)]
        return [rows[i : i + 30] for i in (0, 30, 60)]

    one, two, three = repeated()
    assert one != two != three != one
    assert repeated() == [one, two, three]
    one, two, three = repeated(reshuffle_each_iteration=False)
    assert one == two == three


def test_without_reshuffling_every_pass_is_the_same():
    one, two, three = epochs(shuffled(seed=3, reshuffle_each_iteration=False))
    assert one == two == three


def test_the_global_seed_decides_what_has_no_seed_of_its_own():
    ps.set_seed(5)
    first = epochs(shuffled())
    ps.set_seed(5)
    assert epochs(shuffled()) == first
    ps.set_seed(6)
    assert epochs(shuffled()) != first
    ps.set_seed(None)
    assert epochs(shuffled()) != first


def test_stages_that_change_timing_alone_change_no_random_number():
    def noise(*stages):
        ps.set_seed(5)
        ds = ps.Dataset.range(50).shuffle(10)
        for stage in stages:
            ds = stage(ds)
        return list(ds.map(lambda x: ps.random.uniform(())))

    assert noise(lambda ds: ds.prefetch(2)) == noise() == noise(*[lambda ds: ds.prefetch(1)] * 3)


if __name__ == "__main__":
    found = {kind: hash_in(kind, PLAIN) for kind in sorted(TABLE)}
    GOLDEN.write_text(json.dumps(found, indent=1) + os.linesep)
    sys.stdout.write(f"{len(found)} kinds in {GOLDEN}\n")
