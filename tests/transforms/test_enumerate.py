"""enumerate: elements with their indices."""

import numpy as np
from hypothesis import strategies as st

import oracle
import penstock as ps
from compare import assert_same
from contract import DatasetContract
from plan_stage import PLACES, Stage, args


class TestEnumerate(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.from_tensor_slices(["a", "b", "c", "d", "e", "f"]))
    apply = staticmethod(lambda ds: ds.enumerate(5))
    expected = [(5 + i, "abcdef"[i]) for i in range(6)]

    def expected_around_error(self):
        # The failed element keeps its index, as with zip.
        return [e for e in self.expected if e[1] != "e"]


# For random pipelines (tests/plans.py).
STAGE = Stage(
    args(start=st.integers(-3, 9)),
    lambda ds, run, start: ds.enumerate(start),
    lambda again, expect, start: oracle.enumerate(again(), start),
    PLACES,
)


def test_numbers_are_int64_and_batch_with_the_elements():
    ds = ps.Dataset.range(4, output_type=np.float32).enumerate(start=-1).batch(4)
    assert_same(list(ds), [(np.arange(-1, 3), np.arange(4, dtype=np.float32))])


def test_numbers_stand_before_structures():
    ds = ps.Dataset.from_tensors({"a": (1, "x")}).enumerate()
    assert_same(list(ds), [(0, {"a": (1, "x")})])
    spec = ps.TensorSpec((), np.int64)
    assert ds.element_spec == (spec, {"a": (spec, ps.TensorSpec((), str))})
