"""A part that fails to start is an error at its position; the other parts yield their elements."""

import pytest

import penstock as ps
from contract import Failure, steps

Dataset = ps.Dataset


def raising_call():
    raise ValueError("no call")


def generator_that_is_never_made(folder):
    return Dataset.from_generator(raising_call, output_signature=ps.TensorSpec((), "int64"))


def no_iterable(folder):
    return Dataset.from_generator(lambda: 3, output_signature=ps.TensorSpec((), "int64"))


def missing_file(folder):
    return ps.TextLineDataset(folder / "missing.txt").map(int)


def name_that_is_taken(folder):
    (folder / "taken").write_text("no cache")
    return Dataset.range(2).cache(folder / "taken")


def folder_that_is_none(folder):
    (folder / "taken").write_text("no folder")
    return Dataset.range(2).snapshot(folder / "taken")


def behind_a_thread(folder):
    return missing_file(folder).prefetch(1)


def in_a_zip(folder):
    return Dataset.zip(missing_file(folder))


PARTS = {
    generator_that_is_never_made: "ValueError",
    no_iterable: "TypeError",
    missing_file: "FileNotFoundError",
    name_that_is_taken: "FileExistsError",
    folder_that_is_none: "NotADirectoryError",
    behind_a_thread: "FileNotFoundError",
    in_a_zip: "FileNotFoundError",
}


def ends(x):
    return Dataset.range(10 * x, 10 * x + 2)


def opened(part):
    return lambda x: part if x == 1 else ends(x)


# "!" is the error; without an order, the elements are sorted and it comes last.
STAGES = {
    "concatenate": (
        lambda part: ends(0).concatenate(part).concatenate(ends(2)),
        [0, 1, "!", 20, 21],
    ),
    "concatenate, first": (lambda part: part.concatenate(ends(2)), ["!", 20, 21]),
    "concatenate, last": (lambda part: ends(0).concatenate(part), [0, 1, "!"]),
    "concatenate, twice": (
        lambda part: part.concatenate(part).concatenate(ends(2)),
        ["!", "!", 20, 21],
    ),
    "repeat": (lambda part: part.concatenate(ends(0)).repeat(2), ["!", 0, 1, "!", 0, 1]),
    "flat_map": (lambda part: Dataset.range(3).flat_map(opened(part)), [0, 1, "!", 20, 21]),
    "interleave": (
        lambda part: Dataset.range(3).interleave(opened(part), cycle_length=2),
        [0, "!", 1, 20, 21],
    ),
    "parallel interleave": (
        lambda part: Dataset.range(3).interleave(
            opened(part), cycle_length=2, num_parallel_calls=2
        ),
        [0, "!", 1, 20, 21],
    ),
    "choose_from_datasets": (
        lambda part: Dataset.choose_from_datasets(
            [ends(0), part, ends(2)],
            Dataset.from_tensor_slices([0, 1, 2, 0, 1, 2]),
            stop_on_empty_dataset=False,
        ),
        [0, "!", 20, 1, 21],
    ),
    "sample_from_datasets": (
        lambda part: Dataset.sample_from_datasets([ends(0), part, ends(2)], [0.3, 0.3, 0.4], 1),
        None,
    ),
    # As long as the shortest: the error is paired with the first element of the other.
    "zip": (lambda part: Dataset.zip(ends(0), part).map(lambda a, b: a), ["!"]),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", STAGES)
def test_the_other_parts_come_behind_the_error(name, part, tmp_path):
    stage, want = STAGES[name]
    ds = stage(part(tmp_path))
    it = iter(ds)
    states, came = [it.get_state()], []
    while (step := next_of(it)) is not None:
        came.append(step)
        states.append(it.get_state())
    shown = ["!" if isinstance(step, Failure) else int(step) for step in came]
    if want is None:
        assert sorted(step for step in shown if step != "!") == [0, 1, 20, 21]
        assert shown.count("!") == 1
    else:
        assert shown == want
    assert {step.kind for step in came if isinstance(step, Failure)} == {PARTS[part]}
    for at, state in enumerate(states):
        again = iter(ds)
        again.set_state(state)
        rest = steps(again)
        assert elements(rest) == elements(came[at:]), at
        # An error reported before the state may be reported again, because the start is retried.
        assert len(rest) - len(came[at:]) in {0, 1}, at


def elements(came):
    return [int(step) for step in came if not isinstance(step, Failure)]


def next_of(it):
    """Return the next step, None at the end."""
    try:
        return next(it)
    except StopIteration:
        return None
    except Exception as error:
        return Failure(type(error).__name__, str(error))
