"""The types that readers accept as file names."""

import pathlib

import numpy as np
import pytest

import penstock as ps


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("x\n")
    return str(file)


READERS = {
    "lines": lambda names: list(ps.TextLineDataset(names)),
    "parallel": lambda names: list(ps.TextLineDataset(names, num_parallel_reads=2)),
    "csv": lambda names: [x for (x,) in ps.experimental.CsvDataset(names, [bytes])],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "form",
    [
        lambda path: np.array([path]),
        lambda path: np.array([path], object),
        lambda path: np.array([path.encode()]),
        lambda path: np.random.permutation([path, path])[:1],
        lambda path: [np.str_(path)],
        lambda path: np.str_(path),
        lambda path: np.bytes_(path.encode()),
        lambda path: (pathlib.Path(path),),
        lambda path: np.array([pathlib.Path(path)]),
        lambda path: ps.Dataset.from_tensor_slices([pathlib.Path(path)]),
        lambda path: ps.experimental.from_list([pathlib.Path(path)]),
        lambda path: ps.Dataset.from_tensor_slices(np.array([path])),
    ],
)
def test_names_of_every_form_are_accepted(reader, form, path):
    assert READERS[reader](form(path)) == [b"x"]


def test_a_dataset_of_other_objects_is_rejected(path):
    objects = ps.experimental.from_list([{1}, {2}])
    with pytest.raises(TypeError, match=r"each of filenames must be a str or a path, got \{1\}"):
        list(ps.TextLineDataset(objects))
