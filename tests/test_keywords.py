"""Errors for wrong keyword arguments name penstock's parameter, or the most similar one."""

import inspect
import pickle

import pytest

import penstock as ps
from wrong_arguments import call, calls, make_files

DS = ps.Dataset.range(4)
CASES = {
    "PyTorch's workers": (lambda: DS.map(abs, num_workers=2), "map", "it is num_parallel_calls"),
    "Hugging Face's": (lambda: DS.map(abs, num_proc=2), "map", "it is num_parallel_calls here"),
    "batches in map": (lambda: DS.map(abs, batch_size=2), "map", "batch(batch_size) is a stage"),
    "batched": (lambda: DS.map(abs, batched=True), "map", "put batch(n) before it"),
    "function": (lambda: DS.map(function=abs), "map", "it is map_func here"),
    "predicate": (lambda: DS.filter(function=abs), "filter", "it is predicate here"),
    "drop_last": (lambda: DS.batch(2, drop_last=True), "batch", "it is drop_remainder here"),
    "shuffle": (lambda: DS.batch(2, shuffle=True), "batch", "shuffle(buffer_size) is a stage"),
    "misspelt": (lambda: DS.batch(2, drop_remander=True), "batch", "perhaps drop_remainder is"),
    "rank": (lambda: DS.shard(2, rank=0), "shard", "it is index here"),
    "nothing near": (lambda: DS.take(2, xyz=1), "take", "there are count, name"),
    "a source": (
        lambda: ps.Dataset.from_generator(list, output_signatur=None),
        "from_generator",
        "perhaps output_signature is meant",
    ),
    "files": (
        lambda: ps.TextLineDataset("a", num_workers=2),
        "TextLineDataset",
        "it is num_parallel_reads here",
    ),
    "compression": (
        lambda: ps.TFRecordDataset("a", compression="GZIP"),
        "TFRecordDataset",
        "it is compression_type here",
    ),
    "csv": (
        lambda: ps.experimental.make_csv_dataset("a", batchsize=2),
        "make_csv_dataset",
        "perhaps batch_size is meant",
    ),
}


@pytest.mark.parametrize(("call", "stage", "advice"), CASES.values(), ids=CASES)
def test_a_wrong_keyword_names_what_is_meant(call, stage, advice):
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value).startswith(f"{stage}: there is no argument ")
    assert advice in str(error.value)


def test_every_function_says_so_of_a_keyword_that_it_has_not(tmp_path):
    make_files(tmp_path)
    silent = []
    for label, (where, name, arguments) in calls(tmp_path).items():
        given = {key: value for key, value in arguments.items() if key not in {"on", "args"}}
        if not given:
            continue  # range and zip take any number of arguments
        nearest = next(iter(given))
        for wrong in (f"{nearest}_", "no_such_argument"):
            with pytest.raises(TypeError) as error:
                call(where, name, {**arguments, wrong: 1})
            said = str(error.value)
            if f"there is no argument {wrong!r}; " not in said:
                silent.append(f"{label}: {said}")
            elif wrong != "no_such_argument" and nearest not in said:
                silent.append(f"{label}({wrong}): {said}")
    assert not silent, "\n".join(silent)


def test_options_are_no_arguments():
    with pytest.raises(TypeError, match=r"Options: .* options = Options\(\); options.warm_start"):
        ps.Options(warm_start=True)
    with pytest.raises(TypeError, match="ThreadingOptions: no arguments were expected, got 2;"):
        ps.experimental.ThreadingOptions(2)
    assert str(inspect.signature(ps.Options)) == "()"


def test_other_errors_stay_what_they_are():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        DS.map(num_parallel_calls=2)
    with pytest.raises(TypeError, match="map_func must be callable"):
        DS.map(map_func=3)

    def transformation(ds):
        return ds.nothing(bad=1)

    with pytest.raises(AttributeError, match="nothing"):
        DS.apply(transformation_func=transformation)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bad'"):
        DS.apply(transformation_func=lambda ds: transformation(ds, bad=1))


def test_methods_are_what_they_were():
    assert list(inspect.signature(ps.Dataset.take).parameters) == ["self", "count", "name"]
    assert ps.Dataset.take.__qualname__.endswith(".take")
    assert "Parameters" in ps.Dataset.map.__doc__
    assert pickle.loads(pickle.dumps(ps.TextLineDataset)) is ps.TextLineDataset
