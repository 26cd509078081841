"""`Dataset.show`: the first elements as text, and as images in a notebook."""

import base64
import re
import sys
import types

import numpy as np
import pytest

import penstock as ps
from penstock.preview import Preview


def pictures_in(*elements):
    found = re.findall(r"base64,([^']+)", Preview(elements)._repr_html_())
    return [ps.image.decode_png(base64.b64decode(each)) for each in found]


def test_it_prints_the_first_elements(capsys):
    rows = {"image": np.zeros((3, 9, 9, 3), np.uint8), "label": [1, 2, 3], "name": ["a", "b", "c"]}
    ps.Dataset.from_tensor_slices(rows).show(2)
    first = "{'image': uint8 array of shape (9, 9, 3), 'label': 1, 'name': 'a'}"
    assert capsys.readouterr().out.splitlines()[0] == f"0: {first}"
    ps.Dataset.range(9).batch(3).enumerate().show(1)
    assert capsys.readouterr().out == "0: (0, [0, 1, 2])\n"
    ps.Dataset.range(0).show()
    assert capsys.readouterr().out == "no elements\n"


def test_it_computes_no_more_elements_than_it_shows(capsys):
    seen = []
    ps.Dataset.range(9).map(lambda x: seen.append(int(x)) or x).show(2)
    assert seen == [0, 1]


def test_a_notebook_displays_them(monkeypatch, capsys):
    displayed = []
    ipython = types.SimpleNamespace(
        get_ipython=lambda: object(),
        display=types.SimpleNamespace(display=displayed.append),
    )
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    ps.Dataset.range(3).show(1)
    assert repr(displayed[0]) == "0: 0"
    monkeypatch.setattr(ipython, "get_ipython", lambda: None)
    ps.Dataset.range(3).show(1)
    assert (capsys.readouterr().out, len(displayed)) == ("0: 0\n", 1)


@pytest.mark.parametrize(
    ("shape", "dtype", "count"),
    [
        *(((9, 12, 3), np.uint8, 1), ((9, 12, 1), np.uint8, 1), ((9, 12, 4), np.uint8, 1)),
        *(((9, 12), np.uint8, 1), ((5, 9, 12, 3), np.float32, 5), ((99, 8, 8, 1), np.uint8, 64)),
        *(((9, 12), np.float32, 0), ((9, 12, 2), np.uint8, 0), ((7, 12, 3), np.uint8, 0)),
        *(((9, 12, 3), np.int64, 0), ((0, 12, 3), np.uint8, 0)),
    ],
)
def test_pictures_are_recognised_by_shape_and_dtype(shape, dtype, count):
    assert len(pictures_in({"x": np.ones(shape, dtype)})) == count


def test_pictures_keep_their_pixels():
    image = np.random.default_rng(3).integers(0, 256, (9, 12, 3), np.uint8)
    (shown,) = pictures_in((image, 5))
    np.testing.assert_array_equal(shown, image)
    (scaled,) = pictures_in(image / np.float32(255))
    np.testing.assert_array_equal(scaled, image)
    assert pictures_in(image * np.float32(1)) == []
    (small,) = pictures_in(np.zeros((1000, 500, 3), np.uint8))
    assert max(small.shape) <= 160


def test_text_in_a_notebook_is_escaped():
    page = Preview(["<b>", np.zeros((8, 8, 3), np.uint8)])._repr_html_()
    assert "&lt;b&gt;" in page
    assert Preview(["<b>"])._repr_html_() == "<pre>0: &#x27;&lt;b&gt;&#x27;</pre>"


def test_a_negative_number_is_rejected():
    with pytest.raises(ValueError, match="show: n must be >= 0, got -1"):
        ps.Dataset.range(3).show(-1)
