"""Generator arrays of different sizes, batched with padding or as ragged rows."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, Failure, steps

SIZES = [int(n) for n in np.random.default_rng(9).integers(0, 6, 90)]
REUSED = np.zeros(8, np.int64)


def reused(n):
    REUSED[:n] = n
    return REUSED[:n]


def sometimes(n):
    """Return arrays, some of which are not contiguous or not in native byte order."""
    row = np.arange(n * 2, dtype=np.int32)
    return row[::2] if n == 3 else row[:n].astype(">i4") if n == 4 else row[:n].copy()


ROWS = {
    "numbers": lambda i, n: np.full(n, i),
    "bools": lambda i, n: np.full(n, i % 2 == 0),
    "floats of 16 bits": lambda i, n: np.full(n, i, np.float16),
    "complex numbers": lambda i, n: np.full(n, i + 1j, np.complex64),
    "with an int": lambda i, n: (np.full(n, i), n),
    "with scalars": lambda i, n: (np.float32(i), np.full(n, i, np.uint8), True, 0.5),
    "with a word": lambda i, n: (np.full(n, i), f"row {i}"),
    "dicts": lambda i, n: {"x": np.full(n, i), "of": {"y": np.full((7 - n, 2), n)}},
    "dicts of two orders": lambda i, n: (
        {"x": np.full(n, i), "y": n} if i % 3 else {"y": n, "x": np.full(n, i)}
    ),
    "matrices": lambda i, n: np.full((n, 3), i),
    "matrices of two widths": lambda i, n: np.full((n, 3 + i // 50), i),
    "of one size in the middle": lambda i, n: np.full(n if not 20 < i < 70 else 4, i),
    "of one size at first": lambda i, n: np.full(2 if i < 50 else n, i),
    "of one size": lambda i, n: np.full(3, i),
    "lists": lambda i, n: [i] * (n + 1),
    "lists now and then": lambda i, n: [i] * (n + 1) if n == 2 else np.full(n, i),
    "reused": lambda i, n: reused(n),
    "of another form now and then": lambda i, n: sometimes(n),
    "large": lambda i, n: np.full(30_000 if i == 40 else n, i),
    "strings": lambda i, n: np.array(["ab"] * n, object),
    "of another dtype now and then": lambda i, n: np.full(n, i, np.int64 if n != 4 else np.int8),
    "of another rank now and then": lambda i, n: np.full(n if n != 4 else (4, 4), i),
    "wrong now and then": lambda i, n: np.full(n, i) if n != 4 else {"x": i},
    "without arrays": lambda i, n: (i, float(n)),
    "nothing": lambda i, n: (),
}
FORMS = {
    "padded": lambda ds: ds.padded_batch(7),
    "all of them": lambda ds: ds.padded_batch(1000),
    "ragged": lambda ds: ds.ragged_batch(8),
    "remainder": lambda ds: ds.padded_batch(11, drop_remainder=True),
    "values": lambda ds: ds.padded_batch(11, padding_values=5),
}


def generated(row, **signature):
    return ps.Dataset.from_generator(
        lambda: (ROWS[row](i, n) for i, n in enumerate(SIZES)), **signature
    )


def comparable(came):
    return [str(s) if isinstance(s, Failure) else s for s in came]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("row", ROWS)
def test_batches_are_those_of_rows_that_come_one_by_one(row, form):
    together = FORMS[form](generated(row))
    singly = FORMS[form](generated(row).prefetch(1))
    came = comparable(steps(iter(together)))
    assert_same(came, comparable(steps(iter(singly))))
    assert came or form == "remainder"


@pytest.mark.parametrize(
    "row", ["numbers", "with an int", "dicts", "matrices", "lists now and then"]
)
def test_rows_are_what_is_declared_of_them(row):
    spec = generated(row).element_spec

    def declared(spec, dtype=None):
        if isinstance(spec, dict):
            return {key: declared(part, dtype) for key, part in spec.items()}
        if isinstance(spec, tuple):
            return tuple(declared(part, dtype) for part in spec)
        shape = [None, *spec.shape[1:]] if spec.shape else ()
        return ps.TensorSpec(shape, dtype or spec.dtype)

    for signature in (declared(spec), declared(spec, np.float32)):
        together = generated(row, output_signature=signature).padded_batch(7)
        singly = generated(row, output_signature=signature).prefetch(1).padded_batch(7)
        assert_same(list(together), list(singly))


def test_what_is_not_as_declared_is_an_error_at_its_place():
    ds = generated("numbers", output_signature=ps.TensorSpec([3], np.int64))
    came = steps(iter(ds.padded_batch(4)))
    assert sum(isinstance(s, Failure) for s in came) == sum(n != 3 for n in SIZES)
    kept = [i for i, n in enumerate(SIZES) if n == 3]
    batches = [s for s in came if not isinstance(s, Failure)]
    assert [int(row[0]) for batch in batches for row in batch] == kept


@pytest.mark.parametrize("row", ["numbers", "with an int", "of one size in the middle"])
def test_states_between_batches_and_errors_are_exact(row):
    def rows():
        for i, n in enumerate(SIZES):
            if n == 4 and i % 2:
                yield {"no": "row"}
            yield ROWS[row](i, n)

    def run():
        spec = ps.TensorSpec([None], np.int64)
        signature = (spec, ps.TensorSpec((), np.int64)) if row == "with an int" else spec
        ds = ps.Dataset.from_generator(rows, output_signature=signature)
        return iter(ds.padded_batch(7))

    whole = steps(run())
    assert any(isinstance(s, Failure) for s in whole)
    for at in range(len(whole)):
        it = run()
        for _ in range(at):
            try:
                next(it)
            except TypeError:
                continue
        other = run()
        other.set_state(it.get_state())
        assert_same(comparable(steps(other)), comparable(whole[at:]))


def test_a_generator_that_fails_ends_behind_the_rows_it_gave():
    def rows():
        for i, n in enumerate(SIZES[:10]):
            yield np.full(n, i)
        raise Boom("no more")

    came = steps(iter(ps.Dataset.from_generator(rows).padded_batch(4)))
    assert [s if isinstance(s, Failure) else len(s) for s in came] == [
        *(4, 4, Failure("Boom", "no more"), 2)
    ]


def test_batches_do_not_share_memory_with_later_ones():
    batches = list(generated("of one size").padded_batch(9))
    assert not any(np.shares_memory(a, b) for a in batches for b in batches if a is not b)
    assert all(batch.flags.writeable for batch in batches)


def listed(row):
    return ps.experimental.from_list([ROWS[row](i, n) for i, n in enumerate(SIZES)])


@pytest.mark.parametrize("form", ["padded", "all of them", "ragged", "remainder"])
@pytest.mark.parametrize(
    "row",
    [
        *("numbers", "with scalars", "with a word", "dicts", "dicts of two orders", "matrices"),
        *("matrices of two widths", "of one size", "large", "without arrays"),
    ],
)
def test_lists_are_batched_like_rows_that_come_one_by_one(row, form):
    together = FORMS[form](listed(row))
    singly = FORMS[form](listed(row).prefetch(1))
    came = comparable(steps(iter(together)))
    assert_same(came, comparable(steps(iter(singly))))
    it, other = iter(together), iter(together)
    for _ in range(len(came) // 2):
        next(it)
    other.set_state(it.get_state())
    assert_same(comparable(steps(other)), came[len(came) // 2 :])
