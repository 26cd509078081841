"""Native functions over rows that come one by one: the results are those of single calls."""

import numpy as np
import pytest

import penstock as ps

LINES = [f"{i},{i / 7},name {i}" for i in range(300)]


@ps.native
def fields(line):
    return ps.io.decode_csv(line, [0, 0.0, ""])


@ps.native
def doubled(x):
    return x * 2 + 1


def values(ds):
    return [[np.asarray(leaf).tolist() for leaf in element] for element in ds]


def shuffled(ds):
    return ds.shuffle(50, seed=3, reshuffle_each_iteration=False)


@pytest.mark.parametrize("calls", [None, 2])
def test_strings_of_a_generator_and_behind_shuffle(calls):
    ds = shuffled(ps.Dataset.from_generator(lambda: iter(LINES)))
    plain = [[np.asarray(leaf).tolist() for leaf in fields(str(line))] for line in ds]
    assert values(ds.map(fields, num_parallel_calls=calls)) == plain
    batched = ds.map(fields, num_parallel_calls=calls).batch(7)
    rows = [list(row) for batch in values(batched) for row in zip(*batch, strict=True)]
    assert rows == plain


@pytest.mark.parametrize(
    "elements",
    [
        [np.arange(4) + i for i in range(40)],  # alike
        [np.arange(i % 3 + 1) for i in range(40)],  # of several shapes
        [np.full(40_000, i, np.uint8) for i in range(5)],  # large
        [np.zeros((0, 3)) for _ in range(20)],
        [np.float32(i) for i in range(40)],
    ],
    ids=["alike", "shapes", "large", "empty", "scalars"],
)
def test_arrays(elements):
    ds = shuffled(ps.Dataset.from_generator(lambda: iter(elements)))
    expected = [doubled(x) for x in ds]
    found = list(ds.map(doubled))
    assert len(found) == len(elements)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert np.array_equal(one, other)


def test_dicts_of_several_orders():
    def elements():
        for i in range(60):
            row = {"a": np.int64(i), "b": np.full(2, -i)}
            yield row if i % 2 else dict(reversed(row.items()))

    @ps.native
    def both(row):
        return row["a"] + row["b"], row["a"]

    ds = shuffled(ps.Dataset.from_generator(elements))
    assert [(list(b), int(a)) for b, a in ds.map(both)] == [
        (list(row["a"] + row["b"]), int(row["a"])) for row in ds
    ]


@pytest.mark.parametrize("calls", [None, 3])
def test_a_bad_row_fails_alone(calls):
    lines = [*LINES[:40], "not a number,1,x", *LINES[40:80]]
    ds = shuffled(ps.Dataset.from_generator(lambda: iter(lines)))
    places = [i for i, line in enumerate(ds) if line.startswith("not")]
    assert len(places) == 1
    it = iter(ds.map(fields, num_parallel_calls=calls))
    found = []
    for place in range(len(lines)):
        if place in places:
            with pytest.raises(ps.DataError, match="not a number") as caught:
                next(it)
            assert f"element {place}" in "".join(caught.value.__notes__)
        else:
            found.append(int(next(it)[0]))
    assert sorted(found) == list(range(80))
    assert list(it) == []


@pytest.mark.parametrize("calls", [None, 3])
@pytest.mark.parametrize("depth", [2**45, 2**55], ids=["no memory", "no such size"])
@pytest.mark.parametrize("source", ["generator", "shuffle", "range"])
def test_rows_too_large_for_any_memory_fail_one_by_one(source, depth, calls):
    n = 200
    numbers = ps.Dataset.range(n)
    alike = ps.Dataset.from_generator(lambda: (np.int64(i) for i in range(n)))
    ds = {"generator": alike, "shuffle": shuffled(alike), "range": numbers}[source]
    large = ps.native(lambda x: ps.one_hot(x, depth))
    it = iter(ds.map(large, num_parallel_calls=calls))
    for place in range(n):
        with pytest.raises(MemoryError) as caught:
            next(it)
        assert f"in stage map, element {place}" in "".join(caught.value.__notes__)
    assert next(it, None) is None


def test_rows_keep_the_file_and_place_they_are_from(tmp_path):
    for name in ("one", "two"):
        with ps.io.TFRecordWriter(tmp_path / name) as writer:
            for i in range(30):
                writer.write(f"{i}".encode() if i != 20 else b"bad")

    number = ps.native(lambda record: ps.strings.to_number(record, np.int64))

    @ps.native
    def longer(record):
        return ps.strings.join([record, record])

    files = [str(tmp_path / name) for name in ("one", "two")]
    ds = shuffled(ps.TFRecordDataset(files)).map(longer)
    failures = []
    it = iter(ds.map(number, num_parallel_calls=2))
    for _ in range(60):
        try:
            next(it)
        except (ps.DataError, ValueError) as error:
            failures.append("".join(error.__notes__))
    assert len(failures) == 2
    for name in ("one", "two"):
        assert any(f"/{name}, byte" in note for note in failures), failures


def test_random_numbers_belong_to_the_element():
    @ps.native
    def noise(line):
        return ps.strings.length(line) + 0 * ps.random.uniform((), 0, 9, np.int64), line

    ds = ps.Dataset.from_generator(lambda: iter(LINES))
    one = sorted((line, int(n)) for n, line in shuffled(ds).map(noise))
    assert one == sorted((line, len(line)) for line in LINES)


def test_states_at_every_element():
    ds = shuffled(ps.Dataset.from_generator(lambda: iter(LINES[:60]))).map(fields)
    expected = values(ds)
    it = iter(ds)
    for place in range(60):
        again = iter(ds)
        again.set_state(it.get_state())
        assert values(again) == expected[place:]
        next(it)
