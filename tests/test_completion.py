"""Editors and notebooks infer that dataset methods return a dataset."""

import inspect

import pytest

import penstock as ps

METHODS = sorted(
    name
    for name, member in inspect.getmembers(ps.Dataset)
    if not name.startswith("_") and callable(member)
)


@pytest.mark.parametrize("name", METHODS)
def test_no_method_names_its_result_self(name):
    # Jedi resolves Self to the class that defines the method, a mixin without the others' methods.
    method = getattr(ps.Dataset, name)
    assert inspect.signature(method).return_annotation != "Self"


@pytest.mark.parametrize(
    "before",
    [
        *("Dataset.range(3)", "Dataset.range(3).map(str)", "Dataset.list_files('*').shuffle(2)"),
        *("Dataset.from_tensor_slices([1]).filter(bool).repeat()", "TextLineDataset('x').cache()"),
        *("Dataset.zip((ps.Dataset.range(3),)).prefetch()", "Dataset.range(9).shard(2, 0)"),
    ],
)
def test_jedi_completes_after_a_method(before):
    jedi = pytest.importorskip("jedi")
    script = jedi.Script(f"import penstock as ps\nps.{before}.ba")
    assert "batch" in [each.name for each in script.complete()]
