"""Damaged, foreign and invalid states are refused without a crash."""

import pickle
import random
import zlib

import pytest

import forging
import penstock as ps
from penstock import Dataset
from records import crc32c
from scripts import run_script

STATEFUL = {
    "plain": lambda: Dataset.range(50).shuffle(7, seed=3).batch(3),
    "parallel": lambda: Dataset.range(50).map(abs, num_parallel_calls=2).prefetch(2),
    "interleave": lambda: (
        Dataset.range(5)
        .interleave(lambda x: Dataset.range(10), cycle_length=3, num_parallel_calls=2)
        .repeat(2)
    ),
    "groups": lambda: Dataset.range(50).group_by_window(
        lambda x: x % 4, lambda key, w: w.window(3, 2).flat_map(lambda v: v.batch(2)), 5
    ),
    "buckets": lambda: Dataset.range(50).bucket_by_sequence_length(
        lambda x: x % 4, [1, 2], [3, 5, 4]
    ),
    "pack": lambda: Dataset.range(60).batch(5).pack(7, open_packs=3),
    "concat": lambda: Dataset.range(60).batch(5).pack(7, strategy="concat_then_split"),
    "two": lambda: Dataset.range(9).concatenate(Dataset.range(30).filter(lambda x: True)),
    "buffer": lambda: Dataset.range(60).filter(lambda x: x % 3 > 0).shuffle(9, seed=1).repeat(2),
}


@pytest.mark.parametrize("name", STATEFUL)
def test_damaged_states_are_rejected(name):
    ds = STATEFUL[name]()
    it = iter(ds)
    for _ in range(5):
        next(it)
    state = it.get_state()
    rng = random.Random(1)
    damaged = [state[:n] for n in range(len(state))]
    damaged += [state + b"x", b"", b"garbage", bytes(100), state[::-1]]
    for _ in range(300):
        bad = bytearray(state)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        damaged.append(bytes(bad))
    other = iter(ds)
    for bad in damaged:
        with pytest.raises(ValueError, match=r"^set_state: "):
            other.set_state(bad)
    other.set_state(state)
    assert len(list(other)) == len(list(it))


@pytest.mark.slow
@pytest.mark.parametrize("name", STATEFUL)
def test_states_damaged_below_their_checksum_never_crash(name):
    # An attacker recomputes the checksum: any result except a crash or a hang is fine.
    done = run_script(
        f"""
        import random
        def crc32c(data):
            crc = 0xFFFFFFFF
            for byte in data:
                crc ^= byte
                for _ in range(8):
                    crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
            return crc ^ 0xFFFFFFFF
        ds = {{
            "plain": lambda: Dataset.range(50).shuffle(7, seed=3).batch(3),
            "parallel": lambda: Dataset.range(50).map(abs, num_parallel_calls=2).prefetch(2),
            "interleave": lambda: Dataset.range(5).interleave(
                lambda x: Dataset.range(10), cycle_length=3, num_parallel_calls=2).repeat(2),
            "groups": lambda: Dataset.range(50).group_by_window(
                lambda x: x % 4,
                lambda key, w: w.window(3, 2).flat_map(lambda v: v.batch(2)), 5),
            "buckets": lambda: Dataset.range(50).bucket_by_sequence_length(
                lambda x: x % 4, [1, 2], [3, 5, 4]),
            "pack": lambda: Dataset.range(60).batch(5).pack(7, open_packs=3),
            "concat": lambda: Dataset.range(60).batch(5).pack(7, strategy="concat_then_split"),
            "two": lambda: Dataset.range(9).concatenate(Dataset.range(30).filter(lambda x: True)),
            "buffer": lambda: Dataset.range(60).filter(
                lambda x: x % 3 > 0).shuffle(9, seed=1).repeat(2),
        }}["{name}"]()
        it = iter(ds)
        for _ in range(5):
            next(it)
        state = it.get_state()
        assert crc32c(state[:-4]) == int.from_bytes(state[-4:], "little")
        rng = random.Random(2)
        for _ in range(300):
            body = bytearray(state[:-4])
            body[rng.randrange(8, len(body))] ^= 1 << rng.randrange(7)
            other = iter(ds)
            try:
                other.set_state(bytes(body) + crc32c(body).to_bytes(4, "little"))
                for _, _ in zip(other, range(5)):
                    pass
            except (ValueError, RuntimeError) as error:
                assert str(error)
            other.close()
    """,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_state_of_another_pipeline_is_refused_by_name():
    state = iter(Dataset.range(9).batch(2)).get_state()
    with pytest.raises(ValueError, match=r"another pipeline.*batch.*shuffle"):
        iter(Dataset.range(9).shuffle(2)).set_state(state)


@pytest.mark.parametrize("state", [None, 3, [1]])
def test_state_that_is_not_bytes(state):
    with pytest.raises(TypeError):
        iter(Dataset.range(3)).set_state(state)


def test_closed_iterators():
    it = iter(Dataset.range(9).prefetch(2))
    next(it)
    it.close()
    assert list(it) == []
    with pytest.raises(ValueError, match="get_state: the iterator is closed"):
        it.get_state()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_iterators_do_not_pickle_and_say_what_does(protocol):
    with pytest.raises(TypeError, match="pickle the dataset and the bytes of "):
        pickle.dumps(iter(Dataset.range(3)), protocol)


# --- every bit, other versions, other pipelines ---


def sealed(body):
    return bytes(body) + crc32c(body).to_bytes(4, "little")


@pytest.mark.parametrize("name", STATEFUL)
def test_every_bit_is_checked(name):
    ds = STATEFUL[name]()
    it = iter(ds)
    next(it)
    state = it.get_state()
    other = iter(ds)
    for bit in range(8 * len(state)):
        bad = bytearray(state)
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match=r"^set_state: "):
            other.set_state(bytes(bad))


@pytest.mark.parametrize(("version", "words"), [(8, "newer one, upgrade"), (6, "older one, start")])
def test_another_version_is_told(version, words):
    state = bytearray(iter(Dataset.range(9)).get_state()[:-4])
    assert state[:5] == b"PSTK\x07"
    state[4] = version
    with pytest.raises(ValueError, match=f"the state has version {version}, .*{words}"):
        iter(Dataset.range(9)).set_state(sealed(state))


def base():
    return Dataset.range(9)


OTHERS = [
    (base().batch(2), base().shuffle(2), 2, "batch", "shuffle"),
    (base().batch(2), base(), 2, "batch", "nothing more"),
    (base(), base().batch(2), 2, "nothing more", "batch"),
    (base(), Dataset.from_tensor_slices([1, 2]), 1, "range", "from_tensor_slices"),
    (
        base().map(abs).batch(2).prefetch(1),
        base().map(abs, 3).repeat(2).prefetch(1),
        3,
        "batch",
        "repeat",
    ),
    (Dataset.zip(base(), base().take(3)), Dataset.zip(base(), base().skip(3)), 3, "take", "skip"),
    (Dataset.zip(base(), base()), Dataset.zip(base(), base(), base()), 3, "zip of 2", "range"),
]


@pytest.mark.parametrize(("saved", "own", "stage", "theirs", "ours"), OTHERS)
def test_the_first_stage_that_differs_is_named_with_both_sides(saved, own, stage, theirs, ours):
    with pytest.raises(ValueError) as error:
        iter(own).set_state(iter(saved).get_state())
    words = f"by another pipeline: stage {stage} of it is {theirs}, of this one {ours}; it is "
    assert words in str(error.value)


def test_a_long_pipeline_is_told_in_short():
    ds = base()
    for _ in range(300):
        ds = ds.skip(0)
    with pytest.raises(ValueError) as error:
        iter(ds.take(1)).set_state(iter(ds.repeat(1)).get_state())
    assert "stage 302 of it is repeat, of this one take" in str(error.value)
    assert len(str(error.value)) < 600


class Unpicklable:
    def __reduce__(self):
        raise AssertionError("pickled")


def test_a_state_holds_no_element_and_no_pickle():
    secrets = [f"secret {i}" for i in range(50)]
    ds = (
        Dataset.from_generator(lambda: ((s, Unpicklable()) for s in secrets))
        .map(lambda s, o: (s + "!", o), num_parallel_calls=3)
        .shuffle(20, seed=1)
        .batch(3)
        .prefetch(2)
    )
    it = iter(ds)
    for _ in range(4):
        next(it)
        state = it.get_state()
        assert b"secret" not in state
        assert len(state) < 500
    other = iter(ds)
    other.set_state(state)
    assert [row[0].tolist() for row in other] == [row[0].tolist() for row in it]


@pytest.mark.parametrize(
    "account",
    [
        b'{"stages": [["text_line", {"files": {"first": []}}]]}',
        b'{"stages": [["range", 3]]}',
        b'{"stages": [["range", {"stop": []}]]}',
        b'{"stages": 3}',
        b'{"versions": 3}',
        b"[3]",
    ],
)
def test_accounts_that_someone_has_made_up_are_damaged_states(account):
    iterator = iter(Dataset.range(3))
    next(iterator)
    state, own = iterator.get_state(), iterator._own_account()
    at = state.index(own)
    begin = state[: at - len(forging.varint(len(own)))]
    body = begin + forging.text(zlib.compress(account)) + state[at + len(own) : -4]
    forged = body + crc32c(body).to_bytes(4, "little")
    with pytest.raises(ValueError, match="describe_state: the state is damaged"):
        ps.describe_state(forged)
    with pytest.raises(ValueError, match="set_state"):
        iter(Dataset.range(3)).set_state(forged)
