"""Behaviour of every dataset and iterator, independent of its stages."""

import functools
import gc
import pickle
import sys

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import assert_frees_threads, steps


def test_iterating_twice_and_at_once():
    ds = ps.Dataset.range(3)
    assert_same([*ds, *ds], [0, 1, 2] * 2)
    assert_same(list(zip(ds, ds, strict=True)), [(0, 0), (1, 1), (2, 2)])
    assert_same(list(ds.as_numpy_iterator()), [0, 1, 2])


def test_first_closes_what_it_started():
    ds = ps.Dataset.range(5, 9).map(abs, num_parallel_calls=2).prefetch(2)
    assert ds.first() == 5
    assert_frees_threads(ds.first)


def test_first_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="first: the dataset is empty"):
        ps.Dataset.range(0).first()


def test_truth_length_and_cardinality():
    assert ps.Dataset.range(0)
    assert len(ps.Dataset.range(7).batch(2)) == 4
    assert ps.Dataset.range(7).repeat().cardinality() == ps.INFINITE_CARDINALITY == -1
    assert ps.Dataset.range(7).filter(bool).cardinality() == ps.UNKNOWN_CARDINALITY == -2
    with pytest.raises(TypeError, match="len: the dataset is infinite; use take"):
        len(ps.Dataset.range(7).repeat())
    with pytest.raises(TypeError, match=r"len: .*unknown"):
        len(ps.Dataset.range(7).filter(bool))


def test_list_works_where_the_length_is_unknown_or_known():
    for ds in (ps.Dataset.range(3), ps.Dataset.range(3).filter(lambda x: True)):
        assert len(list(ds)) == 3
        assert len(tuple(ds)) == 3


def leave_by_exception(it):
    with it:
        next(it)
        raise KeyError


def test_with_closes_the_iterator_also_when_an_exception_leaves_it():
    it = iter(ps.Dataset.range(100).prefetch(2))
    with pytest.raises(KeyError):
        leave_by_exception(it)
    assert list(it) == []
    it.close()


def test_the_iterator_is_its_own_iterator():
    it = iter(ps.Dataset.range(3))
    assert iter(it) is it
    assert isinstance(it, ps.Iterator)
    assert next(it, None) == 0
    assert next(iter(ps.Dataset.range(0)), "default") == "default"


def test_stats_tell_of_each_stage():
    it = iter(ps.Dataset.range(10).map(abs).batch(5).prefetch(2))
    list(it)
    stats = {entry["kind"]: entry for entry in it.stats()}
    assert list(stats) == ["prefetch", "batch", "map", "range"]
    assert [stats[k]["elements"] for k in stats] == [2, 2, 10, 10]
    assert stats["prefetch"]["buffer_limit"] == 2


def test_options_are_merged_the_later_wins():
    first, second = ps.Options(), ps.Options()
    first.deterministic, first.threading.private_threadpool_size = False, 3
    second.deterministic = True
    ds = ps.Dataset.range(3).with_options(first).map(abs).with_options(second)
    assert ds.options().deterministic is True
    assert ds.options().threading.private_threadpool_size == 3
    assert ps.Dataset.range(3).options().deterministic is None
    merged = ps.Dataset.zip(ps.Dataset.range(3), ds).options()
    assert merged.threading.private_threadpool_size == 3


def test_options_given_later_do_not_change_a_dataset_made_before():
    options = ps.Options()
    ds = ps.Dataset.range(3)
    other = ds.with_options(options)
    options.deterministic = False
    assert other.options().deterministic is None
    assert other is not ds
    assert_same(list(other), list(ds))


@pytest.mark.parametrize(
    ("field", "value"), [("memory_limit", -1), ("private_threadpool_size", -1)]
)
def test_options_out_of_range_are_refused(field, value):
    options = ps.Options()
    with pytest.raises(ValueError, match="must be >= 0, got -1"):
        setattr(options.threading if "thread" in field else options, field, value)


def test_with_options_takes_options_only():
    with pytest.raises(TypeError, match="with_options: options must be Options"):
        ps.Dataset.range(3).with_options({"deterministic": False})


@pytest.mark.parametrize("limit", [1, 100, 10**9])
def test_a_memory_limit_changes_no_result(limit):
    options = ps.Options()
    options.memory_limit = limit
    ds = (
        ps.Dataset.range(40)
        .map(lambda x: np.full(100, x), num_parallel_calls=3)
        .batch(4)
        .prefetch(3)
    )
    assert_same(list(ds.with_options(options)), list(ds))


def test_apply_calls_the_function():
    ds = ps.Dataset.range(6).apply(lambda ds: ds.batch(2)).apply(lambda ds: ds.take(1))
    assert_same(list(ds), [np.arange(2)])
    with pytest.raises(TypeError, match="apply: transformation_func must return a Dataset, got 3"):
        ps.Dataset.range(2).apply(lambda ds: 3)


def test_a_subclass_may_be_a_function_in_disguise():
    class Images(ps.Dataset):
        def __new__(cls, n):
            return ps.Dataset.range(n).map(lambda x: np.full((2, 2), x))

    ds = Images(3)
    assert isinstance(ds, ps.Dataset)
    assert_same(list(ds.batch(3)), [np.repeat(np.arange(3), 4).reshape(3, 2, 2)])
    assert_same(
        list(ps.Dataset.zip(Images(2), ds.take(1)).map(lambda a, b: a)), [np.zeros((2, 2), int)]
    )
    assert_same(
        list(ps.Dataset.range(2).interleave(lambda n: Images(1))), [np.zeros((2, 2), int)] * 2
    )


def test_repr_shows_the_chain():
    ds = ps.Dataset.range(6).map(abs).batch(2)
    assert repr(ds).startswith("<Dataset range(start=0, stop=6")
    assert repr(ds).endswith("batch(batch_size=2, drop_remainder=False)>")
    long = ps.Dataset.range(6)
    for _ in range(500):
        long = long.skip(0)
    assert len(repr(long)) < 1000
    assert len(repr(ps.Dataset.from_tensor_slices(np.zeros(10_000)))) < 200


def test_a_long_chain_works_and_a_longer_one_is_an_error():
    ds = ps.Dataset.range(6)
    for _ in range(1000):
        ds = ds.skip(0)
    assert_same(list(ds), list(range(6)))
    assert_same(list(pickle.loads(pickle.dumps(ds))), list(range(6)))
    it = iter(ds)
    next(it)
    resumed = iter(ds)
    resumed.set_state(it.get_state())
    assert next(resumed) == 1
    with pytest.raises(ValueError, match=r"deep|stages"):
        functools.reduce(lambda ds, _: ds.skip(0), range(100_000), ds)


def test_a_pickle_keeps_options_and_shared_inputs():
    options = ps.Options()
    options.deterministic = False
    part = ps.Dataset.range(4).map(abs)
    ds = ps.Dataset.zip(part, part).with_options(options)
    copy = pickle.loads(pickle.dumps(ds))
    assert copy.options().deterministic is False
    assert_same(list(copy), [(i, i) for i in range(4)])


def test_many_iterators_live_at_once():
    iterators = [
        iter(ps.Dataset.range(9).map(abs, num_parallel_calls=2).prefetch(1)) for _ in range(64)
    ]
    assert [int(next(it)) for it in iterators] == [0] * 64
    assert [int(next(it)) for it in iterators] == [1] * 64


@pytest.mark.slow
def test_nothing_keeps_elements_alive():
    class Thing:
        pass

    import weakref

    refs = []

    def make(x):
        thing = Thing()
        refs.append(weakref.ref(thing))
        return thing

    for ds in (ps.Dataset.range(9).map(make), ps.Dataset.range(9).map(make, 2).prefetch(2)):
        refs.clear()
        steps(iter(ds))
        gc.collect()
        assert len(refs) == 9
        assert not any(ref() for ref in refs)


def test_names_are_accepted_everywhere():
    ds = (
        ps.Dataset.range(9, name="a")
        .map(abs, name="b")
        .filter(bool, name="c")
        .batch(2, name="d")
        .unbatch(name="e")
        .shuffle(3, name="f")
        .repeat(1, name="g")
        .take(5, name="h")
        .skip(0, name="i")
        .shard(1, 0, name="j")
        .enumerate(name="k")
        .prefetch(1, name="l")
        .cache(name="m")
    )
    assert len(list(ds)) == 5


@pytest.mark.parametrize("arguments", [(), ([1, 2],), (range(3), 2)])
def test_a_dataset_is_made_by_sources(arguments):
    class Own(ps.Dataset):
        def __init__(self, *arguments):
            raise AssertionError("not called")

    for kind in (ps.Dataset, Own):
        with pytest.raises(TypeError) as error:
            kind(*arguments)
        assert str(error.value).startswith(f"{kind.__name__}: a Dataset is made by a source")
        for source in ("from_tensor_slices", "from_generator", "from_indexable", "list_files"):
            assert source in str(error.value)


def test_repr_shows_the_methods_that_were_called(tmp_path, monkeypatch):
    (tmp_path / "a.txt").touch()
    monkeypatch.chdir(tmp_path)
    files = ps.Dataset.list_files("*.txt", seed=5, name="files")
    assert repr(files) == "<Dataset list_files(file_pattern='*.txt', seed=5, name='files')>"
    mapped = ps.Dataset.list_files("*.txt", shuffle=False).map(len, 2)
    call = "list_files(file_pattern='*.txt', shuffle=False)"
    assert repr(mapped) == f"<Dataset {call}.map(map_func=len, num_parallel_calls=2)>"
    assert "parallel_map" not in mapped._repr_html_()


def test_a_long_repr_has_a_line_for_each_stage_in_a_terminal(monkeypatch):
    ds = ps.Dataset.range(6).map(abs, num_parallel_calls=2).shuffle(3).batch(2).prefetch(2)
    assert "\n" not in repr(ds)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    lines = repr(ds).splitlines()
    assert lines[0].startswith("<Dataset range(start=0, ")
    assert [line.strip().partition("(")[0] for line in lines[1:]] == [
        *(".map", ".shuffle", ".batch", ".prefetch"),
    ]
    assert "\n" not in repr(ps.Dataset.range(6))
    monkeypatch.setenv("COLUMNS", "1000")
    assert "\n" not in repr(ds)


def test_a_notebook_shows_stages_elements_and_their_number():
    ds = ps.Dataset.range(6000).map(lambda x: "<a>", name="<b>").batch(2)
    shown = ds._repr_html_()
    assert "<b>range</b>" in shown
    assert "batch_size=2" in shown
    assert "&lt;b&gt;" in shown
    assert "<a>" not in shown
    assert "cardinality: 3,000" in shown
    assert "known once the first one is computed" in shown
    assert "TensorSpec(shape=(2,), dtype=int64)" in ps.Dataset.range(4).batch(2)._repr_html_()
    assert "cardinality: infinite" in ps.Dataset.range(4).repeat()._repr_html_()
    assert "cardinality: unknown" in ps.Dataset.range(4).filter(bool)._repr_html_()
