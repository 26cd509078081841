"""Random pipelines of all stages, compared with an oracle in plain Python.

Each plan runs with two settings (parallelism, buffers, threads, memory), and once more in pieces:
saved after random steps, and resumed by a pipeline with other settings. PENSTOCK_EXAMPLES is the
number of plans; PENSTOCK_SEED selects other plans.
"""

import itertools
import os
import tempfile

import pytest
from hypothesis import HealthCheck, assume, given, note, seed, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same, assert_same_unordered
from contract import MOST_STATE, Failure
from plan_stage import KEEPS, PLACES, RANDOM_VALUES, SHUFFLES
from plans import Run, TooLong, plans

MOST = 60  # maximum number of compared steps
FUEL = 3000  # maximum steps of all stages of the oracle
EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "200"))
SEED = os.environ.get("PENSTOCK_SEED")

calls = st.lists(st.sampled_from([None, 1, 2, 4, ps.AUTOTUNE]), min_size=1, max_size=4).map(tuple)
ahead = st.lists(st.sampled_from([0, 1, 2, 7, ps.AUTOTUNE]), min_size=1, max_size=3).map(tuple)
runs = st.builds(
    Run,
    calls=calls,
    ahead=ahead,
    deterministic=st.sampled_from([None, True]),
    threads=st.sampled_from([None, 1, 3]),
    memory=st.sampled_from([None, None, 1, 100_000]),
    debug=st.sampled_from([False, False, False, True]),
)
pieces = st.lists(st.tuples(st.integers(0, 12), runs), min_size=1, max_size=3)


def dataset(plan, run):
    ps.random.set_seed(5)
    return plan.build(run).with_options(run.options())


def start(plan, run):
    ds = dataset(plan, run)
    if not run.debug:
        return iter(ds)
    with ps.experimental.debug_mode():
        return iter(ds)


def take_steps(it, count):
    """List the next steps, at most `count`, in the oracle's form."""
    came = []
    while len(came) < count:
        try:
            came.append(next(it))
        except StopIteration:
            break
        except Exception as error:
            came.append(Failure(type(error).__name__, str(error)))
    return came


def run_steps(plan, run, count=MOST):
    with start(plan, run) as it:
        return take_steps(it, count)


def same_failure(came, wanted):
    return came.kind == wanted.kind and (wanted.text is ... or came.text == wanted.text)


def check_steps(came, wanted):
    for i, (a, b) in enumerate(itertools.zip_longest(came, wanted)):
        if isinstance(a, Failure) or isinstance(b, Failure):
            same = isinstance(a, Failure) and isinstance(b, Failure) and same_failure(a, b)
            assert same, f"step {i} of\n  {came!r}, not\n  {wanted!r}"
    assert len(came) == len(wanted), (came, wanted)
    pairs = zip(came, wanted, strict=True)
    kept = [(a, b) for a, b in pairs if not isinstance(b, Failure)]
    assert_same([a for a, _ in kept], [b for _, b in kept])


def check_unordered(came, wanted):
    def parts(steps):
        failures = sorted(s.kind for s in steps if isinstance(s, Failure))
        return failures, [s for s in steps if not isinstance(s, Failure)]

    (failures, elements), (wanted_failures, wanted_elements) = parts(came), parts(wanted)
    assert failures == wanted_failures, (came, wanted)
    assert_same_unordered(elements, wanted_elements)


def foretold(plan):
    """Return the first steps of the oracle, and whether it ended."""
    try:
        wanted = list(itertools.islice(plan.expect([FUEL])(), MOST + 1))
    except TooLong:
        assume(False)
    return wanted[:MOST], len(wanted) <= MOST


def check_plan(plan, first, other, more):
    note(f"{plan!r}\n  {first}\n  {other}\n  {more}")
    wanted, ended = foretold(plan)
    order = plan.order()
    came = run_steps(plan, first)
    if order == KEEPS:
        check_steps(came, wanted)
    elif order == SHUFFLES and ended:
        check_unordered(came, wanted)
    check_steps(run_steps(plan, other), came)
    check_cardinality(plan, first, came, ended and order != RANDOM_VALUES)
    check_pieces(plan, first, more, came)
    if ended and order < RANDOM_VALUES and not plan.uses(PLACES):
        check_unordered(run_steps(plan, other._replace(deterministic=False, debug=False)), came)


def check_cardinality(plan, run, came, ended):
    count = dataset(plan, run).cardinality()
    if not ended or count < 0 or any(isinstance(step, Failure) for step in came):
        return
    # As in tf.data, an infinite repeat has infinite cardinality, even if its input turns out to be
    # empty.
    assert count == len(came) or (count > len(came) and plan.repeats_for_ever())


def check_pieces(plan, first, more, wanted):
    """Run in pieces: each new iterator restores the state of the previous one."""
    it = start(plan, first)
    came = []
    # A snapshot depends on its functions and everything they hold, including the run settings.
    same = plan.uses("snapshot")
    for count, run in more:
        came += take_steps(it, min(count, MOST - len(came)))
        state = it.get_state()
        assert len(state) < MOST_STATE
        with it:
            rest = take_steps(it, MOST - len(came))
        check_steps(came + rest, wanted)
        it = start(plan, first if same else run)
        # Functions hold the run settings, so with other settings they are other functions.
        it.set_state(state, strict=False)
    with it:
        came += take_steps(it, MOST - len(came))
    check_steps(came, wanted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:set_state. the state is of other data:RuntimeWarning")
@pytest.mark.timeout(240 + EXAMPLES)
@(seed(int(SEED)) if SEED else lambda test: test)
@settings(
    derandomize=not SEED,
    max_examples=EXAMPLES,
    database=None,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)
@given(plans(), runs, runs, pieces)
def test_a_random_pipeline_gives_what_the_oracle_says(plan, first, other, more):
    with tempfile.TemporaryDirectory() as folder:
        first, other = (run._replace(folder=folder) for run in (first, other))
        more = [(count, run._replace(folder=folder)) for count, run in more]
        check_plan(plan, first, other, more)
