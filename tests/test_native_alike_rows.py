"""Native functions over individual rows: the results equal those of single calls."""

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


RAGGED = [np.arange(i * 7 % 5, dtype=np.float32) for i in range(60)]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ps.shape(x),
        lambda x: (x.shape[0], x.shape[-1] * 2, np.float32(1)),
        lambda x: ps.cast(ps.shape(x), np.int32)[0],
        lambda x: ps.zeros_like(x),
        lambda x: (ps.shape(x)[0], x),
        lambda x: ps.shape(x)[:1],
    ],
    ids=["shape", "sizes", "cast", "zeros", "with the row", "slice"],
)
def test_what_is_made_of_shapes_alone(function):
    def listed(results):
        results = [r if isinstance(r, tuple) else (r,) for r in results]
        return [[(np.asarray(x).dtype, np.asarray(x).tolist()) for x in r] for r in results]

    native = ps.native(function)
    ds = ps.Dataset.from_generator(lambda: iter(RAGGED))
    for rows in (ds, ds.shuffle(1), ds.prefetch(3), ps.experimental.from_list(RAGGED)):
        assert listed(rows.map(native)) == listed(map(function, RAGGED))
    alike = ps.Dataset.from_tensor_slices(np.zeros((20, 3, 2))).batch(7).unbatch()
    assert listed(alike.map(native)) == listed(map(function, np.zeros((20, 3, 2))))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[0],
        lambda x: x[-1, 2],
        lambda x: x[..., 1],
        lambda x: x[None, :, 1:3],
        lambda x: x[::-1, ::2],
        lambda x: x[1:1],
        lambda x: x[x[0, 0] % 2],
        lambda x: x[0, :, None] + x[1, 0],
    ],
)
def test_parts_of_rows_that_came_together(function):
    rows = np.arange(50 * 2 * 3).reshape(50, 2, 3)
    native = ps.native(function)
    found = next(iter(ps.Dataset.from_tensor_slices(rows).batch(7).unbatch().map(native).batch(50)))
    wanted = np.array([function(row) for row in rows])
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)
    words = rows.astype(str).astype(object)
    strings = ps.Dataset.from_tensor_slices(words).map(ps.native(lambda x: x[1, 1:])).batch(50)
    assert np.array_equal(next(iter(strings)), words[:, 1, 1:])


def test_an_index_too_many_is_an_error_of_each_row():
    ds = ps.Dataset.from_tensor_slices(np.zeros((5, 2))).map(ps.native(lambda x: x[0, 0]))
    it = iter(ds)
    for place in range(5):
        with pytest.raises(ValueError, match=r"too many indices: .* shape \(2,\)") as caught:
            next(it)
        assert f"element {place}" in "".join(caught.value.__notes__)
    outside = ps.Dataset.from_tensor_slices(np.zeros((5, 2))).map(ps.native(lambda x: x[3]))
    with pytest.raises(ValueError, match="index 3 is out of bounds for axis 0 with size 2"):
        outside.first()
