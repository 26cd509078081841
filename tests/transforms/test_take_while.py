"""take_while: the elements before the first that fails a condition."""

import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


def numbers():
    return ps.Dataset.range(15)


def below_nine(x):
    return x < 9


class TestTakeWhile(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.take_while(below_nine))
    expected = list(range(9))


class TestTakeWhileNative(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.take_while(ps.native(below_nine)))
    expected = list(range(9))
    pickles = False

    def expected_around_error(self):
        return [0, 1, 2, 3, 5, 6, 7, 8]


class TestNothingIsTaken(DatasetContract):
    build = staticmethod(lambda: numbers().take_while(lambda x: False))
    expected = []
    pickles = False


class TestAllIsTaken(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.take_while(lambda x: True))
    expected = list(range(15))
    pickles = False


def test_the_input_is_not_read_on():
    seen = []
    ds = ps.Dataset.range(100).map(lambda x: seen.append(int(x)) or x).take_while(lambda x: x < 3)
    it = iter(ds)
    assert_same(list(it), [0, 1, 2])
    assert list(it) == []
    assert seen == [0, 1, 2, 3]


def test_an_error_ends_nothing():
    def fail(x):
        if x == 2:
            raise Boom("two")
        return x < 5

    ds = ps.Dataset.range(8).take_while(fail)
    assert steps(iter(ds)) == [0, 1, Failure("Boom", "two"), 3, 4]
    with pytest.raises(Boom) as error:
        list(ds)
    assert error.value.__notes__[0].startswith("penstock: in stage take_while(fail), element 2")


def test_elements_that_failed_before_it_count_in_errors():
    def fail(x):
        raise Boom(str(x))

    def fail_at_one(x):
        return fail(x) if x == 1 else x

    it = iter(ps.Dataset.range(3).map(fail_at_one).skip(1).take_while(fail))
    for number in ("1", "2"):
        with pytest.raises(Boom, match=number) as caught:
            next(it)
    assert caught.value.__notes__[0].startswith("penstock: in stage take_while(fail), element 1")


def test_endless_inputs_end():
    assert_same(list(ps.Dataset.range(10).repeat().take_while(lambda x: x < 2)), [0, 1])
    assert_same(list(ps.Dataset.range(4).take_while(lambda x: x < 2).repeat(2)), [0, 1, 0, 1])


@pytest.mark.parametrize("answer", [1, None, [True, False]])
def test_another_answer_is_an_error_at_each_element(answer):
    came = steps(iter(ps.Dataset.range(2).take_while(lambda x: answer)))
    assert [f.kind for f in came] == ["TypeError"] * 2
    assert "take_while: the predicate must return one bool" in came[0].text


def test_a_tuple_becomes_arguments_and_the_length_is_unknown():
    ds = ps.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])).take_while(
        lambda n, s: s != "b"
    )
    assert_same(list(ds), [(1, "a")])
    assert ds.cardinality() == ps.UNKNOWN_CARDINALITY
    assert ds.repeat().cardinality() == ps.INFINITE_CARDINALITY
    assert ps.Dataset.range(3).repeat().take_while(bool).cardinality() == ps.UNKNOWN_CARDINALITY


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="take_while: predicate must be callable, got 3"):
        ps.Dataset.range(3).take_while(3)


def test_the_experimental_name():
    assert_same(list(numbers().apply(ps.experimental.take_while(lambda x: x < 2))), [0, 1])
