"""Arguments of a wrong type: the error names the function, what it expects, and what came."""

import numpy as np
import pytest

import penstock as ps

RANGE = ps.Dataset.range(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RANGE.apply(3), r"apply: transformation_func must be a function .* got 3$"),
        (lambda: iter(RANGE).set_state("abc"), r"set_state: bytes of get_state .* got a str$"),
        (lambda: ps.Dataset.list_files(3), r"list_files: file_pattern must be .* got 3$"),
        (lambda: ps.TFRecordDataset(3), r"TFRecordDataset: filenames must be a path.* got 3$"),
        (lambda: ps.set_seed("a"), r"set_seed: seed must be an int or None, got 'a'$"),
        (lambda: ps.TensorSpec(5, np.int32), r"TensorSpec: shape must be .* got 5$"),
        (lambda: ps.TensorSpec("a", np.int32), r"TensorSpec: shape must be .* got 'a'$"),
    ],
)
def test_wrong_type(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_seed_of_numpy_is_taken():
    try:
        ps.set_seed(np.int64(3))
        first = [int(x) for x in ps.Dataset.range(9).shuffle(9)]
        ps.set_seed(3)
        assert first == [int(x) for x in ps.Dataset.range(9).shuffle(9)]
    finally:
        ps.set_seed(None)
