"""Each lint rule matches its mistakes, and a good pipeline has no finding."""

import functools
import math
import random
import string
import types

import numpy as np
import pytest

import arrow_c
import penstock as ps
from penstock.lint import findings_of, view
from penstock.lint.rule import all_rules

END = ps.AUTOTUNE
IMAGE = ps.io.encode_jpeg(np.zeros((64, 64, 3), np.uint8))
FEATURES = {"x": ps.io.FixedLenFeature([], np.int64)}


def numbers(count=100_000):
    return ps.Dataset.range(count)


def images(count=100):
    return (
        ps.Dataset.from_tensors(IMAGE)
        .repeat(1)
        .concatenate(ps.Dataset.from_tensor_slices([IMAGE] * (count - 1)))
    )


def opaque(x):
    """Return x, in a form that cannot be traced."""
    return np.asarray(string.capwords(str(x)) == "", np.int64)


def with_rng(x, rng):
    return rng.normal() + float(x)


def with_global_generator(x):
    return np.random.rand() + float(x)


def with_random_module(x):
    return random.random() + float(x)


def with_own_generator(x):
    return np.random.default_rng(int(x)).normal()


GENERATOR = np.random.default_rng(6)
STATE = np.random.RandomState(6)
PLAIN = random.Random(6)
ACTING = types.SimpleNamespace(scale=2.0, rng=np.random.default_rng(6))
POOL = [np.random.default_rng(i) for i in range(4)]
draw = GENERATOR.normal


class Augment:
    rng_of_class = random.Random(6)

    def __init__(self):
        self.scale = 2.0
        self.rng = np.random.default_rng(6)
        self.inner = types.SimpleNamespace(rng=np.random.default_rng(6))

    def noise(self):
        return self.rng.normal()

    def apply(self, x):
        return float(x) + self.noise()

    def deep(self, x):
        return float(x) + self.inner.rng.normal()

    def of_class(self, x):
        return float(x) + self.rng_of_class.random()

    @property
    def shift(self):
        return self.rng.normal()

    def scaled(self, x):
        return float(x) * self.scale

    def __call__(self, x):
        return self.apply(x)


AUGMENT = Augment()


class Rows:
    def __init__(self):
        self.rng = np.random.default_rng(6)

    def __len__(self):
        return 9

    def __getitem__(self, i):
        return i + self.rng.normal()


def of_a_closure():
    g = np.random.default_rng(6)
    return lambda x: float(x) + g.normal()


def calling_another(x):
    return of_global_state(x)


def of_global_state(x):
    return float(x) + STATE.normal()


def with_default(x, g=GENERATOR):
    return float(x) + g.normal()


DRAWING = [
    lambda: lambda x: float(x) + GENERATOR.normal(),
    lambda: of_global_state,
    lambda: calling_another,
    lambda: lambda x: float(x) + PLAIN.random(),
    lambda: lambda x: float(x) + draw(),
    lambda: lambda x: float(x) + ACTING.rng.normal(),
    lambda: lambda x: float(x) + POOL[int(x) % 4].normal(),
    of_a_closure,
    lambda: with_default,
    lambda: functools.partial(lambda g, x: float(x) + g.normal(), GENERATOR),
    lambda: AUGMENT,
    lambda: AUGMENT.apply,
    lambda: AUGMENT.deep,
    lambda: AUGMENT.of_class,
    lambda: lambda x: AUGMENT.apply(x),
    lambda: lambda x: AUGMENT(x),
    lambda: lambda x: float(x) + AUGMENT.shift,
]


def drawing_in_parallel(make):
    return numbers().map(make(), 4)


def looping(x):
    total = 0
    for i in range(int(x) % 100):
        total += i * i
    return total


def calling_numpy(x):
    return sum(np.sort(np.arange(int(i))).sum() for i in range(int(x) % 3))


def decode(data):
    return ps.io.decode_jpeg(data)


def crop(image):
    return ps.image.central_crop(image, 0.5)


@ps.native
def decode_natively(data):
    return ps.image.central_crop(ps.io.decode_jpeg(data, channels=3), 0.5)


def words(x):
    return np.zeros(int(x) % 5)


def ones(x):
    return np.ones(4) * len(str(x))


def pictures(*sizes):
    encoded = [ps.io.encode_jpeg(np.zeros((64, size, 3), np.uint8)) for size in sizes]
    return ps.Dataset.from_tensor_slices(encoded)


def resized(data):
    return ps.image.resize(ps.io.decode_jpeg(data, channels=3), (8, 8))


def grown(x):
    return np.full((32, 32), string.digits.find(str(x)), np.float32)


@ps.native
def halved(x):
    return x / 2


@ps.native
def halved_first(x, valid):
    return x / 2 > 1


def parsed(record):
    return ps.io.parse_single_example(record, FEATURES)


def records():
    return ps.Dataset.from_tensor_slices([ps.io.make_example({"x": i}) for i in range(4)])


def shuffled_tables(memory_limit):
    schema = arrow_c.Table({f"column {i}": np.arange(4) for i in range(128)})
    ds = numbers(250)._then("table_rows", schema=schema, sizes=[4000] * 250)  # 0.95 GiB
    options = ps.Options()
    options.memory_limit = memory_limit
    return ds.global_shuffle(seed=1).batch(8).prefetch(1).with_options(options)


def files(tmp_path, count=6):
    names = []
    for i in range(count):
        with ps.io.TFRecordWriter(str(tmp_path / f"{i}.tfrecord")) as writer:
            writer.write(b"%d" % i)
        names.append(str(tmp_path / f"{i}.tfrecord"))
    return names


BAD = {
    "PS001": [
        lambda: numbers().repeat().shuffle(100_000),
        lambda: numbers().repeat(3).map(halved).shuffle(100_000),
        lambda: numbers().repeat(3).filter(opaque).prefetch(2).shuffle(100_000),
    ],
    "PS002": [
        lambda: numbers().batch(8).shuffle(100),
        lambda: numbers().padded_batch(8).map(halved).shuffle(100),
        lambda: (
            numbers()
            .map(words)
            .bucket_by_sequence_length(len, [2], [4, 4], pad_to_bucket_boundary=False)
            .shuffle(100)
        ),
    ],
    "PS003": [
        lambda: numbers().shuffle(16).batch(256),
        lambda: numbers().shuffle(16).map(halved).batch(17),
    ],
    "PS004": [
        lambda: numbers().shuffle(100_000).take(10),
        lambda: numbers().shuffle(100_000).batch(2).skip(10),
    ],
    "PS005": [lambda: numbers().batch(8).filter(opaque)],
    "PS006": [
        lambda: numbers().map(words).batch(8),
        lambda: ps.Dataset.from_generator(
            lambda: [1], output_signature=ps.TensorSpec([None])
        ).batch(2),
        lambda: numbers().map(words).shuffle(9).prefetch(2).batch(8),
        lambda: numbers(9).map(lambda x: {"a": x, "b": words(x)}).batch(8),
        lambda: pictures(64, 32).map(decode).batch(2),
        lambda: numbers().padded_batch(8).map(lambda x: x[: int(x[0]) % 7]).batch(2),
        lambda: numbers(1001).batch(8).batch(2),
        lambda: numbers().filter(opaque).batch(8).prefetch(1).batch(2),
    ],
    "PS007": [
        lambda: numbers().repeat().cache(),
        lambda: ps.Dataset.counter().cache(),
        lambda: numbers().repeat().snapshot("kept"),
    ],
    "PS008": [
        lambda: numbers().map(with_rng).cache(),
        lambda: numbers().map(with_global_generator).cache(),
        lambda: numbers().shuffle(100_000).cache(),
        lambda: images().map(lambda x: ps.image.random_flip_left_right(decode(x))).cache(),
    ],
    "PS009": [lambda: numbers(1 << 40).map(grown).cache()],
    "PS010": [lambda: images().map(decode_natively, END).repeat(9).prefetch(END)],
    "PS011": [lambda: numbers(1 << 40).map(grown).shuffle(1 << 30)],
    "PS012": [
        lambda: images().map(decode_natively).shuffle(100),
        lambda: numbers().map(grown).shuffle(100_000),
    ],
    "PS013": [
        lambda: numbers().shuffle(100_000).shard(2, 0),
        lambda: numbers().global_shuffle().shard(2, 1),
    ],
    "PS014": [
        lambda: numbers().map(halved).shard(2, 0),
        lambda: numbers().batch(8).shard_evenly(2, 0),
    ],
    "PS015": [
        lambda: numbers().map(opaque),
        lambda: numbers().filter(opaque).batch(8).repeat(2),
    ],
    "PS016": [
        lambda: numbers().prefetch(8).prefetch(2),
        lambda: numbers().prefetch(8).map(halved, num_parallel_calls=4),
    ],
    "PS018": [
        lambda: numbers().map(with_global_generator, 4),
        lambda: numbers().map(with_random_module, 4),
        lambda: numbers().map(functools.partial(with_global_generator), END),
        *(functools.partial(drawing_in_parallel, make) for make in DRAWING),
        lambda: ps.Dataset.from_indexable(Rows(), num_parallel_calls=2),
    ],
    "PS019": [
        lambda: numbers().map(looping, 4),
        lambda: numbers().map(lambda x: looping(x), END),
        lambda: numbers().filter(looping, num_parallel_calls=4),
        lambda: numbers().map(looping, 4, executor="thread").with_options(in_processes()),
    ],
    "PS020": [lambda: numbers().map(lambda x: x + 1), lambda: numbers().filter(lambda x: x > 3)],
    "PS021": [lambda: numbers().map(lambda x: x * 2 + 1).batch(8)],
    "PS022": [lambda: records().map(parsed).batch(2)],
    "PS023": [
        lambda: images().map(decode).map(crop),
        lambda: images().map(decode, 2).prefetch(1).map(crop),
    ],
    "PS025": [
        lambda: numbers().shard_evenly(2, 0).map(words).pack(8).batch(4),
        lambda: numbers().shard_evenly(2, 0).filter(opaque).batch(4).repeat(3),
        lambda: numbers().shard_evenly(2, 1, "pad").filter(halved_first),
        lambda: numbers().shard_evenly(2, 0).map(opaque, on_error="skip").batch(4),
        lambda: numbers().shard_evenly(2, 0).map(words).unbatch().batch(4),
        lambda: numbers().shard_evenly(2, 0).flat_map(ps.Dataset.range),
        lambda: numbers().shuffle(10).shard_evenly(2, 0).prefetch(2).unique(),
        lambda: (
            numbers()
            .shard_evenly(2, 0)
            .map(words)
            .bucket_by_sequence_length(len, [2], [4, 4])
            .prefetch(2)
        ),
    ],
    "PS032": [lambda: shuffled_tables(2**27)],
}
BAD["PS026"] = [
    lambda: numbers().repeat(2).cache(),
    lambda: numbers().repeat(3).map(halved).shuffle(100_000).cache(),
    lambda: numbers().repeat(2).batch(8).cache("kept"),
    lambda: numbers().repeat(2).snapshot("kept"),
    lambda: numbers(10).repeat(4).take(20).cache(),
]
BAD["PS027"] = [
    lambda: numbers().prefetch(4).shuffle(100_000),
    lambda: numbers().map(opaque).prefetch(END).shuffle(1000).batch(8).prefetch(1),
    lambda: numbers().prefetch(4).take(10).shuffle(10),
]
GOOD = {
    "PS001": [
        lambda: numbers().shuffle(100_000).repeat(),
        lambda: numbers().repeat(1).shuffle(100_000),
    ],
    "PS002": [
        lambda: numbers().shuffle(100_000).batch(8),
        lambda: numbers().batch(8).unbatch().shuffle(1000),
    ],
    "PS003": [lambda: numbers().shuffle(1000).batch(8), lambda: numbers(10).shuffle(10).batch(20)],
    "PS004": [
        lambda: numbers().take(10).shuffle(10),
        lambda: numbers().shuffle(100_000).repeat().take(1000),
        lambda: numbers().shuffle(100_000, seed=1, reshuffle_each_iteration=False).take(10),
    ],
    "PS005": [lambda: numbers().filter(halved).batch(8).prefetch(2)],
    "PS006": [
        lambda: numbers().map(words).padded_batch(8).prefetch(2),
        lambda: numbers().batch(8).batch(2, drop_remainder=True),
        lambda: numbers().map(ones).batch(8).prefetch(2),
        lambda: pictures(64, 64).map(ps.native(decode)).batch(2).prefetch(2),
        lambda: pictures(64, 32).map(ps.native(resized)).batch(2).prefetch(2),
        lambda: numbers(1000).batch(8).batch(5).prefetch(2),
        lambda: numbers(1001).batch(8, drop_remainder=True).batch(5).prefetch(2),
        lambda: numbers().map(ones).shuffle(100_000).batch(8).prefetch(2),
    ],
    "PS007": [lambda: numbers().cache().repeat()],
    "PS008": [
        lambda: numbers().map(halved).cache().shuffle(100_000).prefetch(1),
        lambda: numbers().shuffle(100_000).cache().shuffle(100_000),
    ],
    "PS009": [lambda: numbers(100).map(grown).cache().prefetch(2)],
    "PS010": [
        lambda: images().map(decode_natively, END).cache().repeat(9).prefetch(END),
        lambda: images().map(decode_natively, END).prefetch(END),
    ],
    "PS011": [lambda: numbers(1 << 40).shuffle(1 << 30)],
    "PS012": [lambda: images().shuffle(100).map(decode_natively, END).prefetch(END)],
    "PS013": [
        lambda: numbers().shard(2, 0).shuffle(50_000),
        lambda: numbers().shuffle(100_000, seed=1).shard(2, 0),
        lambda: numbers().shuffle(100_000).shard(1, 0),
    ],
    "PS014": [lambda: numbers().shard(2, 0).map(halved).prefetch(1)],
    "PS015": [
        lambda: numbers().map(opaque).prefetch(END),
        lambda: numbers().map(opaque).batch(8).prefetch(2).repeat(2),
        lambda: numbers().map(opaque, num_parallel_calls=4).batch(8),
        lambda: numbers().map(opaque).distribute(engine="local", num_workers=2).batch(8),
        lambda: numbers().shuffle(100_000).batch(8),
    ],
    "PS016": [lambda: numbers().map(opaque).prefetch(8).map(halved, num_parallel_calls=4)],
    "PS018": [
        lambda: numbers().map(with_rng, 4),
        lambda: numbers().map(with_own_generator, 4),
        lambda: numbers().map(with_global_generator).prefetch(1),
        lambda: numbers().map(AUGMENT.apply).prefetch(1),  # calls are sequential
        lambda: numbers().map(AUGMENT.scaled, 4),
        lambda: numbers().map(lambda x, rng: rng.normal() + AUGMENT.scaled(x), 4),
    ],
    "PS019": [
        lambda: numbers().map(calling_numpy, 4),
        lambda: numbers().map(looping).prefetch(1),
        lambda: numbers().map(looping, 4, executor="process"),
        lambda: numbers().map(looping, 4, executor="auto"),
        lambda: numbers().map(looping, 4).with_options(in_processes()),
    ],
    "PS020": [lambda: numbers().map(halved).prefetch(1), lambda: numbers().map(opaque).prefetch(1)],
    "PS021": [lambda: numbers().map(halved).batch(8).prefetch(1)],
    "PS022": [lambda: records().map(ps.native(parsed)).prefetch(1)],
    "PS023": [lambda: images().map(decode_natively, END)],
    "PS026": [
        lambda: numbers().cache().repeat(3),
        lambda: numbers().repeat(1).cache(),
        lambda: numbers(100).repeat().take(50).cache(),
    ],
    "PS027": [
        lambda: numbers().shuffle(100_000).prefetch(4),
        lambda: numbers().map(opaque).prefetch(4).batch(8).unbatch().shuffle(10).prefetch(1),
    ],
    "PS025": [
        lambda: numbers().map(words).pack(8).shard_evenly(2, 0).batch(4).prefetch(1),
        lambda: numbers().shard_evenly(2, 0).filter(opaque).repeat().take(100).prefetch(1),
        lambda: numbers().shard_evenly(2, 0).filter(opaque).repeat().prefetch(1),
        lambda: numbers().shard_evenly(1, 0).filter(opaque).prefetch(1),
        lambda: numbers().filter(opaque).shard_evenly(2, 0).batch(4).prefetch(1),
        lambda: numbers().shard(2, 0).filter(opaque).prefetch(1),
    ],
    "PS032": [lambda: shuffled_tables(2**31)],
}


def in_processes():
    options = ps.Options()
    options.executor = "process"
    return options


def cases(table):
    return [
        pytest.param(code, make, id=f"{code}-{i}")
        for code in table
        for i, make in enumerate(table[code])
    ]


def codes(dataset, **more):
    return {finding.rule for finding in findings_of(dataset, **more)}


@pytest.mark.parametrize(("code", "make"), cases(BAD))
def test_a_mistake_is_found(code, make):
    found = [each for each in make().lint() if each.rule == code]
    assert found
    assert found[0].message
    assert found[0].fix
    assert str(found[0]).startswith(f"{code} {found[0].stage}: ")


@pytest.mark.parametrize(("code", "make"), cases(GOOD))
def test_a_good_pipeline_draws_no_finding(code, make):
    assert make().lint() == []


def test_many_files_in_sequence(tmp_path):
    names = files(tmp_path)
    listed = ps.Dataset.from_tensor_slices(names)
    for bad in (
        ps.TFRecordDataset(names),
        listed.interleave(ps.TFRecordDataset),
        listed.flat_map(lambda name: ps.TFRecordDataset(name)),
    ):
        assert "PS017" in codes(bad.prefetch(1))
    for good in (
        ps.TFRecordDataset(names, num_parallel_reads=4),
        listed.interleave(ps.TFRecordDataset, num_parallel_calls=4),
        ps.TFRecordDataset(names[:2]),
    ):
        assert codes(good.prefetch(1)) == set()


def test_the_number_of_windows_of_a_global_shuffle_is_shown():
    (found,) = shuffled_tables(2**27).lint()
    assert "its 1000000 rows take 0.95 GiB decoded" in found.message
    assert "(rows / window = 15.3)" in found.message


def test_a_call_that_takes_all_of_endless_data():
    assert codes(numbers().repeat(), collector="list() in line 3") == {"PS024"}
    assert codes(numbers().repeat()) == set()
    assert codes(numbers(), collector="list() in line 3") == set()


def test_every_rule_is_tested_and_has_a_page():
    tested = {*BAD, "PS017", "PS024", "PS028", "PS029", "PS030", "PS031"}  # test_loader_rules
    assert set(all_rules()) == tested
    assert len(tested) >= 18
    for code, rule in all_rules().items():
        page = rule.page()
        assert page.startswith(f"{code} {rule.name}\n\n")
        for part in (
            "**Why is this bad?**",
            "**Instead of**::",
            "**write**::",
            "**When to ignore it.**",
        ):
            assert page.count(part) == 1, (code, part)


def test_memory_is_that_of_the_machine(monkeypatch):
    small = numbers(1000).map(grown).cache().prefetch(1)
    assert codes(small) == set()
    monkeypatch.setattr(view, "available_memory", lambda: 1000.0)
    from penstock.lint.rules import caching

    monkeypatch.setattr(caching, "available_memory", lambda: 1000.0)
    assert codes(small) == {"PS009"}


def test_nothing_is_computed_that_is_known_or_not_asked_for():
    called = []

    def counted(x):
        called.append(x)
        return np.float32(x)

    ds = numbers().map(counted).shuffle(1000).batch(8).prefetch(1)
    findings_of(ds, probes=False)
    assert called == []
    ds.lint()
    assert len(called) == 1


def test_a_function_that_fails_is_no_error_of_lint():
    def fails(x):
        raise ValueError("no")

    assert codes(numbers().map(fails).batch(2).prefetch(1)) <= {"PS020", "PS021"}


total_of = np.arange(3).sum  # its comparison is not a single bool


def test_methods_of_arrays_are_no_generators():
    assert "PS018" not in codes(numbers().map(lambda x: x + total_of(), 4))


def test_long_and_branched_pipelines():
    ds = numbers(9)
    for _ in range(1500):
        ds = ds.skip(0)
    assert ds.lint() == []
    both = ps.Dataset.zip(numbers().repeat(2).shuffle(10), numbers().batch(2).shuffle(10))
    assert codes(both) == {"PS001", "PS002"}
    assert math.isnan(view.StageView(both, None, True).inputs[0].element_bytes) is False
