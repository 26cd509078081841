"""tf.print writes the same text as TensorFlow."""

import io

import numpy as np
import pytest

import penstock.compat.tf as tf

T = tf.constant


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([tf.range(10)], {}, "[0 1 2 ... 7 8 9]\n"),
        ([tf.range(10)], {"summarize": -1}, "[0 1 2 3 4 5 6 7 8 9]\n"),
        ([tf.range(10)], {"summarize": 2}, "[0 1 ... 8 9]\n"),
        ([tf.range(6)], {}, "[0 1 2 3 4 5]\n"),
        ([T(["a", "b"])], {}, '["a" "b"]\n'),
        ([T("a")], {}, "a\n"),
        (["x", T("a")], {}, 'x "a"\n'),
        (["a", b"b"], {}, "a b'b'\n"),
        ([100.0, T(100.0), T([1.5, 1e10, 1 / 3])], {}, "100.0 100 [1.5 1e+10 0.333333343]\n"),
        ([T(1 / 3, tf.float64), T(0.1)], {}, "0.33333333333333331 0.1\n"),
        ([T(0.1, tf.float16), T(3, tf.uint8)], {}, "0.0999755859 3\n"),
        ([[T([1, 2]), T("x"), "y", 3]], {}, "[[1 2], \"x\", 'y', 3]\n"),
        ([{"b": 1, "a": [T(2)]}], {}, "{'a': [2], 'b': 1}\n"),
        ([(T(1),)], {}, "(1,)\n"),
        ([T([[1.5, 2], [3, 4]])], {}, "[[1.5 2]\n [3 4]]\n"),
        ([tf.reshape(tf.range(8), [2, 2, 2])], {}, "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n"),
        ([tf.reshape(tf.range(90), [9, 10])], {"summarize": 3}, None),
        ([None, True, T([True, False])], {}, "None True [1 0]\n"),
        ([tf.zeros([0])], {}, "[]\n"),
        ([1, 2], {"sep": ",", "end": "!"}, "1,2!"),
        ([tf.ragged.constant([[1], [2, 3]])], {}, "[[1], [2, 3]]\n"),
        (["x", tf.ragged.constant([["a"], ["b", "c"]])], {}, "x [['a'], ['b', 'c']]\n"),
        ([tf.ragged.constant([list(range(9))])], {}, "[[0, 1, 2, ..., 6, 7, 8]]\n"),
        (
            [tf.sparse.from_dense([[0, 1]])],
            {},
            "'SparseTensor(indices=[[0 1]], values=[1], shape=[1 2])'\n",
        ),
        ([T(["a'b\"c\\d\te\x01\x7f"])], {}, '["a\\\'b\\"c\\\\d\\te\\001\\177"]\n'),
        (["{}", T(1)], {}, "{} 1\n"),
        ([["{}", T(1)]], {}, "['{}', 1]\n"),
        ([np.arange(3)], {}, "array([0, 1, 2])\n"),
        ([tf.Variable([1.0, 2.0])], {}, "[1 2]\n"),
        ([T([float("nan"), float("inf")])], {}, "[nan inf]\n"),
        ([tf.cast([1.5], tf.bfloat16)], {}, "[1.5]\n"),
        ([], {}, "\n"),
    ],
)
def test_what_is_printed(values, options, expected):
    stream = io.StringIO()
    tf.print(*values, output_stream=stream, **options)
    if expected is None:
        lines = stream.getvalue().splitlines()
        assert (lines[0], lines[3], len(lines)) == ("[[0 1 2 ... 7 8 9]", " ...", 7)
        return
    assert stream.getvalue() == expected


def test_where_it_is_printed(capsys, tmp_path):
    tf.print("error")
    assert capsys.readouterr().err == "error\n"
    for _ in range(2):
        tf.print("line", output_stream=f"file://{tmp_path}/file")
    assert (tmp_path / "file").read_text() == "line\nline\n"


def test_text_and_bytes_that_are_none_are_one_tensor():
    assert T(["é", b"\xff"]).numpy().tolist() == ["é".encode(), b"\xff"]
