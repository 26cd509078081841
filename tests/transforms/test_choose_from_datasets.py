"""choose_from_datasets: a dataset of indices selects the input of each element."""

import signal
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract, Failure, steps

choose = ps.Dataset.choose_from_datasets


def choices(*numbers):
    return ps.Dataset.from_tensor_slices(np.array(numbers, np.int64))


class TestChoose(DatasetContract):
    """The dataset of choices fails."""

    source = staticmethod(lambda: choices(0, 1, 1, 0, 1, 0, 0, 1))

    @staticmethod
    def apply(ds):
        return choose([ps.Dataset.range(5), ps.Dataset.range(10, 15)], ds)

    expected = [0, 10, 11, 1, 12, 2, 3, 13]


class TestChooseFromWhatFails(DatasetContract):
    """An input fails: its choice is consumed, and the other inputs are not affected."""

    source = staticmethod(lambda: ps.Dataset.range(7))

    @staticmethod
    def apply(ds, num_parallel_calls=None):
        second = ds.map(lambda x: (x, "b"), num_parallel_calls=num_parallel_calls)
        first = ps.Dataset.range(20, 30).map(lambda x: (x, "a"))
        return choose([first, second], choices(*[1, 0] * 6), False)

    expected = [p for i in range(6) for p in [(i, "b"), (20 + i, "a")]]
    pickles = False

    def expected_around_error(self):
        return [p for p in self.expected if p != (BOOM, "b")]


class TestChooseOfDifferentShapes(DatasetContract):
    build = staticmethod(
        lambda: choose(
            [
                ps.Dataset.range(6).batch(2).map(lambda x: {"x": x, "y": 1}),
                ps.Dataset.range(6).map(lambda x: {"x": np.array([x]), "y": 2}),
            ],
            ps.Dataset.range(6).map(lambda x: x % 2),
        )
    )
    pickles = False

    expected = [
        {"x": np.array([0, 1]), "y": 1},
        {"x": np.array([0]), "y": 2},
        {"x": np.array([2, 3]), "y": 1},
        {"x": np.array([1]), "y": 2},
        {"x": np.array([4, 5]), "y": 1},
        {"x": np.array([2]), "y": 2},
    ]

    def test_element_spec_accepts_every_element(self):
        shapes = {"x": ps.TensorSpec((None,), np.int64), "y": ps.TensorSpec((), np.int64)}
        assert self.build().element_spec == shapes


def test_dicts_may_list_their_keys_in_another_order():
    parts = [ps.Dataset.from_tensors({"a": 1, "b": 2}), ps.Dataset.from_tensors({"b": 3, "a": 4})]
    came = list(choose([p.repeat() for p in parts], choices(0, 1, 1, 0)))
    assert [(int(e["a"]), int(e["b"])) for e in came] == [(1, 2), (4, 3), (4, 3), (1, 2)]


# tf.data 2.21's results for range(3) and range(10, 16).
@pytest.mark.parametrize(
    ("stop", "wanted"), [(True, [0, 10, 1, 2]), (False, [0, 10, 1, 2, 11, 12])]
)
def test_a_dataset_that_has_ended_ends_it_or_is_passed_over(stop, wanted):
    data = [ps.Dataset.range(3), ps.Dataset.range(10, 16)]
    turns = choices(0, 1, 0, 0, 0, 1, 1)
    assert_same(list(choose(data, turns, stop)), wanted)
    form = ps.experimental.choose_from_datasets
    assert_same(list(form(data, turns, stop)), wanted)
    if not stop:
        assert_same(list(form(data, turns)), wanted)
    else:
        assert_same(list(choose(data, turns)), wanted)


def test_it_ends_when_all_have_ended():
    ds = choose([ps.Dataset.range(2), ps.Dataset.range(1)], choices(0, 1).repeat(), False)
    assert_same(list(ds), [0, 0, 1])


def test_one_dataset_and_empty_ones():
    assert_same(list(choose([ps.Dataset.range(3)], choices(0, 0))), [0, 1])
    assert list(choose([ps.Dataset.range(0)], choices(0, 0))) == []
    assert list(choose([ps.Dataset.range(3)], choices(0).take(0))) == []


@pytest.mark.parametrize("bad", [2, -1, 2**62])
def test_a_number_of_no_dataset_is_an_error_in_its_place(bad):
    ds = choose([ps.Dataset.range(3), ps.Dataset.range(10, 16)], choices(0, bad, 1))
    words = f"choose_from_datasets: choice_dataset must give numbers in [0, 2), got {bad}"
    assert_same(steps(iter(ds)), [0, Failure("ValueError", words), 10])


@pytest.mark.parametrize("bad", [0.5, "0", [0, 1], (0,), True])
def test_what_is_no_number_is_an_error(bad):
    data = [ps.Dataset.range(3)]
    with pytest.raises(TypeError, match="choice_dataset must be one integer"):
        list(choose(data, ps.Dataset.from_tensors(bad)))
    late = ps.Dataset.range(2).map(lambda x: x * 0 if x == 0 else bad)
    came = steps(iter(choose(data, late)))
    assert came[0] == 0
    assert came[1].kind == "TypeError"


def test_wrong_arguments_are_refused():
    a = ps.Dataset.range(3)
    with pytest.raises(ValueError, match="choose_from_datasets: at least one dataset"):
        choose([], choices(0))
    with pytest.raises(TypeError, match="choice_dataset must be a Dataset"):
        choose([a], [0, 0])
    with pytest.raises(TypeError, match="a Dataset was expected, got 3"):
        choose([a, 3], choices(0))
    with pytest.raises(TypeError, match="must be a sequence of Datasets"):
        choose(a, choices(0))
    for other in (ps.Dataset.zip(a, a), ps.Dataset.from_tensor_slices([1.0])):
        with pytest.raises(TypeError, match="the same structure and dtypes"):
            choose([a, other], choices(0))


def test_the_cardinality_is_known_when_no_choice_can_fail():
    a = ps.Dataset.range(3)
    assert choose([a, a], choices(0, 1)).cardinality() == ps.UNKNOWN_CARDINALITY
    assert choose([a.repeat(), a], choices(0, 1)).cardinality() == ps.UNKNOWN_CARDINALITY
    assert len(choose([a.repeat(), a.repeat()], choices(0, 1))) == 2
    endless = choose([a.repeat(), a.repeat()], choices(0, 1).repeat())
    assert endless.cardinality() == ps.INFINITE_CARDINALITY


def test_ctrl_c_and_close_end_turns_that_go_to_nobody():
    asked = threading.Event()

    def forever():
        yield 0
        asked.set()
        yield 0

    first = ps.Dataset.from_generator(forever, output_signature=ps.TensorSpec((), np.int64))
    turns = first.concatenate(choices(0).repeat())
    ds = choose([ps.Dataset.range(1), ps.Dataset.range(1)], turns, False)
    it = iter(ds)
    assert next(it) == 0
    thread = threading.Thread(target=lambda: (asked.wait(), signal.raise_signal(signal.SIGINT)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    thread.join()
    ahead = iter(ds.prefetch(1))
    assert next(ahead) == 0
    ahead.close()
