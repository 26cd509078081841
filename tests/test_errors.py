"""Errors are reported once, at their position, in few lines, and iteration continues."""

import re

import numpy as np
import pytest

import penstock as ps
from scripts import run_script

Dataset = ps.Dataset


class Mine(Exception):
    pass


def fails_at_three(x):
    if x == 3:
        raise Mine("three")
    return x


def source(bad=3):
    """A reader that continues after its error, which a generator function cannot do."""

    class Source:
        def __init__(self):
            self.i = -1

        def __iter__(self):
            return self

        def __next__(self):
            self.i += 1
            if self.i == 6:
                raise StopIteration
            return fails_at_three(self.i) if bad == 3 else self.i

    return Source()


# name: pipeline, the stage and element of the note
FAILING = {
    "map": (lambda: Dataset.range(6).map(fails_at_three), "map", 3),
    "parallel map": (lambda: Dataset.range(6).map(fails_at_three, num_parallel_calls=4), "map", 3),
    "out of order": (
        lambda: Dataset.range(6).map(fails_at_three, num_parallel_calls=4, deterministic=False),
        "map",
        3,
    ),
    "filter": (lambda: Dataset.range(6).filter(lambda x: fails_at_three(x) >= 0), "filter", 3),
    "flat_map": (
        lambda: Dataset.range(6).flat_map(lambda x: Dataset.from_tensors(fails_at_three(x))),
        "flat_map",
        3,
    ),
    "interleave": (
        lambda: Dataset.range(6).interleave(
            lambda x: Dataset.from_tensors(fails_at_three(x)), cycle_length=2
        ),
        "interleave",
        3,
    ),
    "parallel interleave": (
        lambda: Dataset.range(6).interleave(
            lambda x: Dataset.from_tensors(fails_at_three(x)),
            cycle_length=2,
            num_parallel_calls=2,
        ),
        "interleave",
        3,
    ),
    "inside an interleave": (
        lambda: Dataset.range(1).interleave(
            lambda _: Dataset.range(6).map(fails_at_three), num_parallel_calls=1, cycle_length=1
        ),
        "map",
        3,
    ),
    "iterable": (lambda: Dataset.from_generator(source), "from_generator", 3),
    "behind prefetch": (lambda: Dataset.range(6).map(fails_at_three).prefetch(2), "map", 3),
    "behind shuffle": (lambda: Dataset.range(6).map(fails_at_three).shuffle(3, seed=1), "map", 3),
    "behind batch": (lambda: Dataset.range(6).map(fails_at_three).batch(2).unbatch(), "map", 3),
    "behind all": (
        lambda: (
            Dataset.range(6)
            .map(fails_at_three, num_parallel_calls=2)
            .batch(2)
            .prefetch(2)
            .unbatch()
        ),
        "map",
        3,
    ),
    "in a vectorised map": (
        lambda: Dataset.range(6).batch(1).map(lambda b: np.array([fails_at_three(b[0])])).unbatch(),
        "map",
        3,
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_exception_is_raised_as_itself_and_the_rest_follows(name):
    make, stage, element = FAILING[name]
    it = iter(make())
    got = []
    raised = []
    while True:
        try:
            got.append(int(next(it)))
        except Mine as error:
            raised.append(error)
        except StopIteration:
            break
    assert sorted(got) == [0, 1, 2, 4, 5]
    if name not in ("out of order", "behind shuffle"):
        assert got == sorted(got)
    (error,) = raised
    assert error.args == ("three",)
    (note,) = error.__notes__
    label = rf"{stage}(\(\w+\))?"
    assert re.fullmatch(rf"penstock: in stage {label}, element {element}( \(3\))?", note)
    frames = []
    trace = error.__traceback__
    while trace:
        frames.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert frames[-1] == "fails_at_three"
    assert len(frames) <= 4


def test_generator_function_that_raises_has_ended():
    def generator():
        yield 1
        raise Mine("mine")

    for ds in (Dataset.from_generator(generator), Dataset.from_generator(generator).prefetch(2)):
        it = iter(ds)
        assert next(it) == 1
        with pytest.raises(Mine) as raised:
            next(it)
        assert raised.value.__notes__ == ["penstock: in stage from_generator(generator), element 1"]
        assert next(it, None) is None


@pytest.mark.parametrize("stop", [StopIteration, StopAsyncIteration, GeneratorExit])
@pytest.mark.parametrize("name", ["map", "parallel map", "filter", "flat_map"])
def test_stop_iteration_of_a_function_does_not_end_the_data(name, stop):
    def stops(x):
        if x == 2:
            raise stop
        return x

    ds = {
        "map": lambda: Dataset.range(4).map(stops),
        "parallel map": lambda: Dataset.range(4).map(stops, num_parallel_calls=2),
        "filter": lambda: Dataset.range(4).filter(lambda x: stops(x) >= 0),
        "flat_map": lambda: Dataset.range(4).flat_map(lambda x: Dataset.from_tensors(stops(x))),
    }[name]()
    it = iter(ds)
    assert [int(next(it)), int(next(it))] == [0, 1]
    with pytest.raises(RuntimeError, match=f"the function raised {stop.__name__}") as raised:
        next(it)
    assert isinstance(raised.value.__cause__, stop)
    assert [int(x) for x in it] == [3]


def test_exceptions_that_misbehave():
    class Odd(Exception):
        def __str__(self):
            raise ValueError("no text")

        def add_note(self, note):
            raise TypeError("no notes")

    class Cyclic(Exception):
        pass

    def function(x):
        error = Odd() if x == 0 else Cyclic()
        error.__context__ = None
        error.itself = error
        raise error

    it = iter(Dataset.range(2).map(function, num_parallel_calls=2))
    with pytest.raises(Odd):
        next(it)
    with pytest.raises(Cyclic):
        next(it)


def test_same_exception_object_raised_again_and_again():
    error = Mine("one object")

    def function(x):
        raise error

    it = iter(Dataset.range(50).map(function, num_parallel_calls=2))
    for _ in range(50):
        with pytest.raises(Mine):
            next(it)
    assert next(it, None) is None


@pytest.mark.parametrize(
    "how",
    [
        ".map(f)",
        ".map(f, num_parallel_calls=2)",
        ".filter(f)",
        ".map(f).prefetch(1).batch(2).prefetch(1)",
    ],
)
def test_printed_traceback_is_short_and_ends_in_the_users_line(how):
    done = run_script(
        f"""
        def f(x):
            return [True][int(x)]
        for element in Dataset.range(6){how}:
            pass
    """
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert len(lines) <= 12
    # Since 3.13, the lines of a script without a file are also shown and marked.
    lines = [line for line in lines if not line.startswith("    ")]
    assert lines[0].startswith("Traceback")
    assert lines[-2].startswith("IndexError: list index out of range")
    assert lines[-1].startswith("penstock: in stage ")
    assert lines[-3].endswith("in f")


# --- arguments and files ---

ARGUMENTS = {
    "batch(0)": "batch_size",
    "batch(-1)": "batch_size",
    "shuffle(0)": "buffer_size",
    "prefetch(-2)": "buffer_size",
    "shard(0, 0)": "num_shards",
    "shard(2, 2)": "index",
    "shard_evenly(0, 0)": "num_shards",
    "shard_evenly(2, -1)": "index",
    "map(int, num_parallel_calls=0)": "num_parallel_calls",
    "map(int, num_parallel_calls=-3)": "num_parallel_calls",
    "interleave(Dataset.from_tensors, cycle_length=0)": "cycle_length",
    "interleave(Dataset.from_tensors, block_length=0)": "block_length",
    "interleave(Dataset.from_tensors, cycle_length=2, num_parallel_calls=0)": "num_parallel_calls",
}


@pytest.mark.parametrize("call", ARGUMENTS)
def test_wrong_numbers_are_refused_by_name(call):
    with pytest.raises(ValueError, match=rf"\b{ARGUMENTS[call]}\b.*got"):
        eval(f"ds.{call}", {"ds": Dataset.range(3), "Dataset": Dataset})


@pytest.mark.parametrize(
    "call",
    [
        "batch('a')",
        "batch(1.5)",
        "take('x')",
        "map(3)",
        "map(iter([1]))",
        "filter(None)",
        "map((i for i in 'ab'))",
    ],
)
def test_wrong_types_are_refused(call):
    with pytest.raises(TypeError, match=call.split("(")[0]):
        eval(f"ds.{call}", {"ds": Dataset.range(3), "Dataset": Dataset})


def test_lists_of_unequal_lengths():
    with pytest.raises(ValueError):
        Dataset.from_tensor_slices(([1, 2, 3], [1, 2]))
    it = iter(Dataset.from_generator(lambda: [[1, 2], [1, 2, 3], [4, 5]]).batch(2))
    with pytest.raises(ValueError, match="element 1"):
        next(it)
    np.testing.assert_array_equal(next(it), [[1, 2], [4, 5]])


@pytest.mark.parametrize(
    "stages",
    [
        lambda ds: ds,
        lambda ds: ds.prefetch(4),
        lambda ds: ds.batch(3).unbatch(),
        lambda ds: ds.map(lambda a: a, num_parallel_calls=2),
    ],
)
def test_generator_that_yields_one_array_again_and_again(stages):
    def generator():
        array = np.zeros(4)
        for i in range(9):
            array[:] = i
            yield array

    got = list(stages(Dataset.from_generator(generator)))
    assert [a.tolist() for a in got] == [[i] * 4 for i in range(9)]


@pytest.mark.parametrize("prefetched", [False, True])
def test_files_that_are_none(tmp_path, prefetched):
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "folder").mkdir()
    names = [str(tmp_path / n) for n in ("a.txt", "missing.txt", "folder", "a.txt")]
    ds = ps.TextLineDataset(names)
    it = iter(ds.prefetch(2) if prefetched else ds)
    assert [next(it), next(it)] == [b"1", b"2"]
    with pytest.raises(FileNotFoundError) as raised:
        next(it)
    assert raised.value.filename == names[1]
    with pytest.raises(IsADirectoryError) as raised:
        next(it)
    assert raised.value.filename == names[2]
    assert list(it) == [b"1", b"2"]


def test_patterns_and_folders_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        Dataset.list_files(str(tmp_path / "nothing*"))
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileNotFoundError, match="file"):
        Dataset.list_files(str(file / "*.jpg"))


@pytest.mark.parametrize("calls", [None, 3])
@pytest.mark.parametrize("bad", [range(33, 200, 40), range(200)], ids=["some", "all"])
@pytest.mark.parametrize("stage", ["map", "from_indexable"])
def test_results_too_large_for_any_memory_fail_alone(stage, bad, calls):
    huge = np.broadcast_to(np.float64(0), (2**45,))

    def result(x):
        return huge if x in bad else np.full(2, x, float)

    class Rows:
        def __len__(self):
            return 200

        def __getitem__(self, i):
            return result(i)

    if stage == "map":
        ds = Dataset.range(200).map(result, num_parallel_calls=calls)
    else:
        ds = Dataset.from_indexable(Rows(), num_parallel_calls=calls)
    it = iter(ds)
    for i in range(200):
        if i in bad:
            with pytest.raises(MemoryError) as told:
                next(it)
            label = "map(result)" if stage == "map" else stage
            assert f"in stage {label}, element {i}" in told.value.__notes__[0]
        else:
            assert next(it).tolist() == [i, i]
    assert next(it, None) is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"\xff\xd8" + b"p" * 30, "(b'\\xff\\xd8" + "p" * 22 + "'... of 32 bytes)"),
        (b"\x00" * 24, "(b'" + "\\x00" * 24 + "')"),
        ("photos/münchen/sommer/bild.jpg".encode(), "m\\xc3\\xbcnchen/sommer/bild.jpg')"),
    ],
)
def test_of_binary_strings_the_first_bytes_are_shown(value, shown):
    def fails(x):
        raise ValueError(x[:1])

    with pytest.raises(ValueError, match="b'") as raised:
        list(Dataset.from_tensors(value).map(fails))
    assert shown in raised.value.__notes__[0]


def frames_of(raised):
    trace, frames = raised.value.__traceback__.tb_next, []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


@pytest.mark.parametrize(
    "call",
    [
        *(lambda: ps.Dataset.range(3).batch(-1), lambda: ps.Dataset.range(3).map(5)),
        *(lambda: ps.Dataset.range(3).shuffle("x"), lambda: ps.Dataset.list_files("*", seed="x")),
    ],
    ids=["batch", "map", "shuffle", "list_files"],
)
def test_a_wrong_argument_has_one_frame_of_each_wrapper(call):
    with pytest.raises((TypeError, ValueError)) as raised:
        call()
    own = [frame for frame in frames_of(raised) if frame.f_code is not call.__code__]
    assert own
    assert {frame.f_code.co_name for frame in own} == {"call"}
    assert all(frame.f_locals["__tracebackhide__"] for frame in own)


def test_an_error_of_a_users_argument_keeps_its_frames():
    class Number:
        def __index__(self):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as raised:
        ps.Dataset.range(3).batch(Number())
    assert "__index__" in [frame.f_code.co_name for frame in frames_of(raised)]
