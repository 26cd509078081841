"""from_tensors: one element, of any structure."""

import numpy as np

import penstock as ps
from compare import assert_same
from contract import DatasetContract


def nested():
    return {
        "x": np.arange(6, dtype=np.int16).reshape(2, 3),
        "rest": (1, 2.5, True, None, "ä", b"\0"),
    }


class TestFromTensors(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_tensors(nested()))
    expected = [nested()]


def test_a_list_is_an_array_and_a_tuple_is_several():
    element = ps.Dataset.from_tensors(([1, 2], (1, 2))).first()
    assert_same([element], [(np.array([1, 2]), (1, 2))])


def test_the_array_is_shared_and_handed_out_read_only():
    array = np.arange(4)
    came = ps.Dataset.from_tensors(array).first()
    assert np.shares_memory(came, array)
    assert not came.flags.writeable


def test_the_spec_is_that_of_the_element():
    assert ps.Dataset.from_tensors((np.zeros((2, 3), np.float32), "a")).element_spec == (
        ps.TensorSpec((2, 3), np.float32),
        ps.TensorSpec((), str),
    )
