"""States over files, in array checkpoints and trainer checkpoints; their size and cost."""

import base64

import numpy as np
import pytest

import penstock as ps
from contract import MOST_STATE
from penstock.account import _short
from records import crc32c
from states import difference, state_of

Dataset = ps.Dataset
BASE = Dataset.range(40)


def scaled(x):
    return x * 3


def closure(n):
    return lambda x: x + n


# --- files ---


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(*names, lines=2):
        paths = [tmp_path / name for name in names]
        for path in paths:
            path.write_text("line\n" * lines)
        return list(names)

    return make


def test_names_sizes_and_order_of_files_count(files, tmp_path):
    a, b, c = files("a.txt", "b.txt", "c.txt")
    one = difference(ps.TextLineDataset([a, b]), ps.TextLineDataset([a, c]))
    assert one == f"text_line: file 2 is now {c!r}, the state has {b!r}"
    one = difference(ps.TextLineDataset([a, b]), ps.TextLineDataset([b, a]))
    assert one == f"text_line: file 1 is now {b!r}, the state has {a!r}"
    one = difference(ps.TextLineDataset([a, b]), ps.TextLineDataset([a, b, c]))
    assert one == "text_line: 3 files, the state has 2"
    one = difference(ps.TextLineDataset(a), ps.TextLineDataset(b))
    assert one == f"text_line: file 1 is now {b!r}, the state has {a!r}"
    state = state_of(ps.TextLineDataset([a, b]))
    files("b.txt", lines=3)
    with pytest.raises(ps.StateError) as refused:
        iter(ps.TextLineDataset([a, b])).set_state(state)
    assert refused.value.differences == (
        f"text_line: file 2 ({b!r}) has 15 bytes, the state has 10",
    )
    (tmp_path / "b.txt").unlink()
    with pytest.raises(ps.StateError, match=r"text_line: file 2 \('.*b.txt'\) is missing"):
        iter(ps.TextLineDataset([a, b])).set_state(state)


def test_one_of_many_files_counts(files):
    names = files(*[f"{i}.txt" for i in range(30)], lines=1)
    state = state_of(ps.TextLineDataset(names))
    assert len(state) < MOST_STATE
    iter(ps.TextLineDataset(names)).set_state(state)
    files("20.txt")
    with pytest.raises(ps.StateError, match="text_line: the sizes of files after number 8 have"):
        iter(ps.TextLineDataset(names)).set_state(state)
    names[20], names[21] = names[21], names[20]
    with pytest.raises(ps.StateError, match="text_line: the names of files after number 8 have"):
        iter(ps.TextLineDataset(names)).set_state(state)


def test_another_format_is_named(files):
    (a,) = files("a.txt")
    state = state_of(ps.TextLineDataset([a]))
    with pytest.raises(ps.StateError, match="fixed_length_record: the state has text_line there"):
        iter(ps.FixedLengthRecordDataset([a], 5)).set_state(state)


def test_saved_datasets_count_by_their_files(tmp_path):
    folder = str(tmp_path / "saved")
    BASE.save(folder)
    ds = Dataset.load(folder)
    state = state_of(ds)
    iter(Dataset.load(folder)).set_state(state)
    BASE.take(20).save(folder)
    with pytest.raises(ps.StateError, match="load: "):
        iter(Dataset.load(folder)).set_state(state)


# --- size, form, cost ---


def test_states_stay_small():
    many = Dataset.from_tensor_slices([f"{i:060d}" for i in range(5000)])
    assert len(state_of(many)) < 500
    deep = BASE
    for i in range(150):
        deep = deep.map(closure(i))
    assert len(state_of(deep)) < MOST_STATE
    deeper = BASE
    for i in range(150):
        deeper = deeper.map(closure(i if i != 75 else -1))
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(deeper).set_state(state_of(deep))


def test_the_pipeline_is_looked_at_once_for_each_iterator(monkeypatch):
    looks = []
    account_of = Dataset._account
    monkeypatch.setattr(Dataset, "_account", lambda ds: looks.append(ds) or account_of(ds))
    ds = BASE.map(scaled).batch(2)
    it = iter(ds)
    next(it)
    assert looks == []
    for _ in range(5):
        state = it.get_state()
    assert len(looks) == 1
    it.set_state(state)
    it.set_state(state)
    assert len(looks) == 1


def test_an_array_that_was_changed_is_seen_by_the_next_iterator():
    data = np.arange(10)
    ds = Dataset.from_tensor_slices(data)
    state = state_of(ds)
    data[3] = 99
    with pytest.raises(ps.StateError, match="the values of tensors have changed"):
        iter(ds).set_state(state)


def test_a_state_may_be_an_array():
    it = iter(BASE.shuffle(10, seed=1))
    for _ in range(7):
        next(it)
    state = it.get_state()
    rest = list(it)
    as_array = np.frombuffer(state, np.uint8)
    for form in (as_array, as_array.copy(), bytearray(state), memoryview(state)):
        resumed = iter(BASE.shuffle(10, seed=1))
        resumed.set_state(form)
        assert list(resumed) == rest
    for wrong in (as_array.astype(np.int32), as_array.reshape(1, -1), as_array[0]):
        with pytest.raises(TypeError, match="an array of uint8 of them, got an array of"):
            iter(BASE).set_state(wrong)


def test_a_state_of_the_version_before_is_refused_in_one_sentence():
    body = bytearray(state_of(BASE)[:-4])
    body[4] = 3
    old = bytes(body) + crc32c(body).to_bytes(4, "little")
    with pytest.raises(
        ValueError, match=r"has version 3, .* an older one, start from the beginning$"
    ):
        iter(BASE).set_state(old)


def take_up(resumed, state):
    resumed.load_state_dict(state)
    return iter(resumed)


def test_states_of_trainers_are_compared_too():
    batches = BASE.batch(4).map(lambda x: x * 1.5)
    other = BASE.batch(5).map(lambda x: x * 1.5)
    torch = pytest.importorskip("torch")
    assert torch is not None
    it = iter(batches.to_torch())
    next(it)
    for resumed in (iter(other.to_torch()), other.to_torch_iterable()):
        with pytest.raises(ps.StateError, match="batch: batch_size 5, the state has 4"):
            take_up(resumed, it.state_dict())


def test_digests_in_states_are_those_of_base64():
    for size in range(8, 300, 9):
        digest = bytes(i * size % 256 for i in range(8))
        assert _short(digest) == base64.b85encode(digest).decode()


# --- text ---


def numbers():
    return BASE.shuffle(10, seed=3).batch(3)


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: text.encode(),
        lambda text: f"{text}\n",
        lambda text: np.frombuffer(text.encode(), np.uint8),
        lambda text: bytearray(text.encode()),
        lambda text: np.array(text),
        lambda text: np.array(text.encode()),
        lambda text: np.str_(text),
    ],
)
def test_a_state_as_text_is_equivalent_to_its_bytes(form):
    it = iter(numbers())
    next(it)
    text = it.get_state(text=True)
    assert isinstance(text, str)
    assert text.isascii()
    assert base64.b64decode(text) == it.get_state() == it.get_state(text=False)
    again = iter(numbers())
    again.set_state(form(text))
    assert [x.tolist() for x in again] == [x.tolist() for x in it]
    assert ps.describe_state(form(text)) == ps.describe_state(base64.b64decode(text))


def test_states_as_text_are_merged():
    its = [iter(BASE.shard_evenly(2, i)) for i in range(2)]
    for it in its:
        next(it)
    states = [it.get_state() for it in its]
    assert ps.merge_states([it.get_state(text=True) for it in its]) == ps.merge_states(states)


@pytest.mark.parametrize("text", ["UFNUS", "UFNUSé", "UFNUSw==", b"UFNUS*"])
def test_text_that_is_not_a_state_is_rejected(text):
    with pytest.raises(ValueError, match=r"set_state: .*state"):
        iter(BASE).set_state(text)


@pytest.mark.parametrize("text", ["", "word", "é", "PSTK"])
def test_other_texts_are_damaged_states(text):
    with pytest.raises(ValueError, match=r"set_state: .*state"):
        iter(BASE).set_state(text)


@pytest.mark.parametrize("place", [0, 3, 10, 30, -3])
def test_damaged_text_is_rejected(place):
    text = iter(BASE).get_state(text=True)
    damaged = list(text)
    damaged[place] = "A" if damaged[place] != "A" else "B"
    with pytest.raises(ValueError, match="set_state: "):
        iter(BASE).set_state("".join(damaged))


@pytest.mark.parametrize("text", [None, 1, "yes"])
def test_the_text_argument_must_be_a_bool(text):
    with pytest.raises(TypeError, match="get_state: text must be a bool, got"):
        iter(BASE).get_state(text)
