"""An error names its stage and its element, including the element's strings in any structure."""

import collections
import dataclasses
import logging

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset

NAMES = [f"photos/{i}.jpg" for i in range(8)]
BAD = "photos/5.jpg"


def labelled():
    return Dataset.from_tensor_slices((np.array(NAMES, dtype=object), np.arange(8)))


def note_of(dataset):
    """Return the note of the first error, after iterating over all elements."""
    notes = []
    it = iter(dataset)
    while True:
        try:
            next(it)
        except StopIteration:
            break
        except Exception as error:
            notes.append("\n".join(error.__notes__))
    assert len(notes) == 1, notes
    return notes[0]


def fail(name, *_):
    if name == BAD:
        raise ValueError("bad")
    return name


@ps.native
def read(name, number):
    return ps.io.read_file(ps.strings.join(["/missing-folder/", name])), number


PLACES = {
    "a lone string": (
        Dataset.from_tensor_slices(np.array(NAMES, dtype=object)),
        fail,
        "element 5 ('photos/5.jpg')",
    ),
    "a tuple": (labelled(), fail, "element 5 ('photos/5.jpg', 5)"),
    "a dict": (
        labelled().map(lambda name, label: {"path": name, "label": label}),
        lambda e: fail(e["path"]),
        "element 5 ({'path': 'photos/5.jpg', 'label': 5})",
    ),
    "nested, with an array": (
        labelled().map(lambda name, n: {"a": (name, np.zeros((2, 3), np.float32)), "b": n / 2}),
        lambda e: fail(e["a"][0]),
        "element 5 ({'a': ('photos/5.jpg', float32(2, 3)), 'b': 2.5})",
    ),
    "zip": (
        Dataset.zip(labelled(), Dataset.range(100, 108)),
        lambda pair, n: fail(pair[0]),
        "element 5 (('photos/5.jpg', 5), 105)",
    ),
    "bytes": (
        labelled().map(lambda name, n: (name.encode(), n)),
        lambda name, n: fail(name.decode()),
        "element 5 (b'photos/5.jpg', 5)",
    ),
    "several strings": (
        labelled().map(lambda name, n: (np.array([name] * 4, dtype=object), n == 5)),
        lambda names, _: fail(names[0]),
        "element 5 (str(4,)['photos/5.jpg', 'photos/5.jpg', 'photos/5.jpg', ...], True)",
    ),
}


@pytest.mark.parametrize("calls", [None, 3])
@pytest.mark.parametrize("case", PLACES)
def test_note_shows_the_strings_of_the_element(case, calls):
    dataset, function, place = PLACES[case]
    assert note_of(dataset.map(function, calls)).endswith(place)


def test_shuffled_element_is_named():
    note = note_of(labelled().shuffle(8, seed=3).map(fail))
    assert "('photos/5.jpg', 5)" in note


@pytest.mark.parametrize("calls", [None, 3])
def test_native_map_before_a_batch_names_the_file_that_is_missing(tmp_path, calls):
    names = []
    for i in range(8):
        names.append(str(tmp_path / f"{i}.txt"))
        if i != 5:
            (tmp_path / f"{i}.txt").write_text("x")
    data = Dataset.from_tensor_slices((np.array(names, dtype=object), np.arange(8)))
    load = ps.native(lambda name, n: (ps.io.read_file(name), n))
    for shuffled in (data, data.shuffle(8, seed=1)):
        note = note_of(shuffled.map(load, calls).batch(4))
        assert f"('{names[5]}', 5)" in note


def test_native_arithmetic_over_many_rows_names_the_row_that_fails():
    data = labelled().map(lambda name, n: (name, "x" if n == 5 else str(n)))
    parse = ps.native(lambda name, text: (name, ps.strings.to_number(text, np.int64)))
    note = note_of(data.cache().map(parse).batch(8))
    assert "('photos/5.jpg', 'x')" in note


@pytest.mark.parametrize(
    "use",
    [
        lambda ds: ds.filter(lambda name, n: fail(name) != ""),
        lambda ds: ds.take_while(lambda name, n: fail(name) != ""),
        lambda ds: ds.flat_map(lambda name, n: Dataset.from_tensors(fail(name))),
        lambda ds: ds.interleave(
            lambda name, n: Dataset.from_tensors(fail(name)), num_parallel_calls=2
        ),
        lambda ds: ds.scan(0, lambda s, e: (s, fail(e[0]))),
        lambda ds: ds.group_by_window(
            lambda name, n: len(fail(name)), lambda key, w: w, window_size=2
        ),
        lambda ds: ds.rejection_resample(lambda name, n: len(fail(name)) * 0, [1.0], [1.0]),
    ],
)
def test_every_stage_that_calls_a_function_names_the_element(use):
    assert "('photos/5.jpg', 5)" in note_of(use(labelled()))


def test_result_of_the_wrong_type_names_the_element():
    signature = ps.TensorSpec((), np.int64)
    ds = labelled().map(lambda name, n: name if n == 5 else n, output_signature=signature)
    assert "('photos/5.jpg', 5)" in note_of(ds)
    single = labelled().shuffle(8, seed=1)  # individual rows
    ds = single.map(lambda name, n: name if n == 5 else n, output_signature=signature)
    assert "('photos/5.jpg', 5)" in note_of(ds)


def sized(name, n):
    return name, np.zeros(2 if n == 5 else 1)


def typed(name, n):
    return name, np.float32(n) if n == 5 else n


def nested(name, n):
    return (name, (n, n)) if n == 5 else (name, n)


def opaque(name, n):
    return name, object() if n == 5 else n


@pytest.mark.parametrize(
    ("use", "place"),
    [
        (lambda ds, path: ds.map(sized).batch(8), "batch, element 5 ('photos/5.jpg', float64(2,))"),
        (lambda ds, path: ds.map(sized).shuffle(1).batch(8), "('photos/5.jpg', float64(2,))"),
        (lambda ds, path: ds.map(typed).batch(8), "batch, element 5 ('photos/5.jpg', 5.0)"),
        (lambda ds, path: ds.map(nested).batch(8), "batch, element 5 ('photos/5.jpg', (5, 5))"),
        (
            lambda ds, path: ds.map(sized).batch(8, name="rows"),
            "batch(name='rows'), element 5 ('photos/5.jpg', float64(2,))",
        ),
        (
            lambda ds, path: ds.map(typed).padded_batch(8),
            "padded_batch, element 5 ('photos/5.jpg', 5.0)",
        ),
        (
            lambda ds, path: ds.map(sized).padded_batch(8, ([], [1])),
            "padded_batch, element 5 ('photos/5.jpg', float64(2,))",
        ),
        (
            lambda ds, path: ds.map(typed).ragged_batch(8),
            "ragged_batch, element 5 ('photos/5.jpg', 5.0)",
        ),
        (
            lambda ds, path: ds.map(
                lambda name, n: (np.array([name] * (1 + (n == 5))), [n])
            ).unbatch(),
            "unbatch, element 5 (str(2,)['photos/5.jpg', 'photos/5.jpg'], int64(1,))",
        ),
        (
            lambda ds, path: ds.map(lambda name, n: name if n == 5 else np.array([name])).unbatch(),
            "unbatch, element 5 ('photos/5.jpg')",
        ),
        (
            lambda ds, path: ds.map(lambda name, n: (name, n) if n == 5 else name).unique(),
            "unique, element 5 ('photos/5.jpg', 5)",
        ),
        (
            lambda ds, path: ds.map(opaque).cache(path / "cache"),
            "cache, element 5 ('photos/5.jpg', object)",
        ),
        (
            lambda ds, path: ds.map(opaque).snapshot(path / "snapshot"),
            "snapshot, element 5 ('photos/5.jpg', object)",
        ),
    ],
)
def test_stages_that_refuse_an_element_name_it(tmp_path, use, place):
    assert place in first_note_of(use(labelled(), tmp_path))


def first_note_of(dataset):
    with pytest.raises(Exception) as told:
        list(dataset)
    return "\n".join(told.value.__notes__)


def test_save_names_the_element_that_it_refuses(tmp_path):
    with pytest.raises(TypeError, match="in element 5, leaf") as told:
        labelled().map(opaque).save(tmp_path / "saved")
    assert "save, element 5 ('photos/5.jpg'" in "\n".join(told.value.__notes__)


def test_pack_names_the_element_that_it_refuses():
    ds = labelled().map(lambda name, n: {"x": np.zeros(9 if n == 5 else 2), "name": name})
    with pytest.raises(ValueError, match="pack: element 0") as told:
        list(ds.pack(4))
    assert "pack, element 0 ({'x': float64(2,), 'name': 'photos/0.jpg'})" in str(
        told.value.__notes__
    )


def test_a_batch_is_of_a_file_only_if_all_its_rows_are(tmp_path):
    for name, lines in {"good": "1\n2\n3\n", "bad": "4\nx\n"}.items():
        (tmp_path / f"{name}.txt").write_text(lines)
    lines = ps.TextLineDataset([str(tmp_path / "good.txt"), str(tmp_path / "bad.txt")])

    def numbers(rows):
        return [int(row) for row in rows]

    for mixed in (lines.batch(5), lines.shuffle(2, seed=1).batch(5), lines.padded_batch(5)):
        assert "(file" not in note_of(mixed.map(numbers))
    note = note_of(lines.batch(3).map(numbers))
    assert f"(file {tmp_path / 'bad.txt'}, byte 0)" in note
    both = Dataset.zip(lines, lines.skip(3))
    assert "(file" not in note_of(both.map(lambda a, b: int(b)))
    numbered = Dataset.zip(lines, Dataset.range(5))
    assert "bad.txt, byte 2" in note_of(numbered.map(lambda line, n: int(line)))


Point = collections.namedtuple("Point", "path label")


@dataclasses.dataclass
class Record:
    path: str
    label: int


@pytest.mark.parametrize("make", [Point, Record])
def test_fields_of_classes_are_named(make):
    note = note_of(
        labelled()
        .map(lambda p, n: make(p, n))
        .map(lambda e: fail(e[0] if make is Point else e.path))
    )
    assert "(path='photos/5.jpg', label=5)" in note


TEXTS = {
    "x" * 500: "'" + "x" * 40 + "..." + "x" * 80 + "'",
    "näher/日本": "'näher/日本'",
    "it's\n": r"'it\'s\n'",
    b"\xff\x00a": r"b'\xff\x00a'",
    3: "3",
    2.0: "2.0",
    np.float32(0.1): "0.1",
    np.float16(0.5): "0.5",
    np.uint8(200): "200",
    True: "True",
}


@pytest.mark.parametrize("value", TEXTS)
def test_text_of_lone_values(value):
    told = []
    ds = Dataset.from_tensors((value, "x")).map(
        lambda *_: 1 // 0, on_error=lambda error, info: told.append(info.text)
    )
    assert list(ds) == []
    assert told == [f"({TEXTS[value]}, 'x')"]


def test_long_text_is_cut_between_characters():
    told = []
    ds = Dataset.from_tensors("é" * 300 + "日" * 300).map(
        lambda _: 1 // 0, on_error=lambda error, info: told.append(info.text)
    )
    assert list(ds) == []
    text = told[0]
    assert set(text) == set("'é日.")
    assert len(text) < 100


def test_many_leaves_are_cut():
    wide = {f"name{i}": f"value{i}" for i in range(300)}
    note = note_of(Dataset.from_tensors(wide).map(lambda _: 1 // 0))
    assert len(note) < 1000
    assert "'name0': 'value0'" in note


def test_arrays_alone_say_nothing():
    note = note_of(Dataset.from_tensors(np.zeros((2, 2))).map(lambda _: 1 // 0))
    assert note == "penstock: in stage map, element 0"


def test_error_info_has_stage_name_function_and_text():
    told = []
    ds = labelled().map(fail, name="decode", on_error=lambda error, info: told.append(info))
    assert len(list(ds)) == 7
    text = "('photos/5.jpg', 5)"
    assert told == [ps.ErrorInfo("map", 5, None, None, name="decode", function="fail", text=text)]


def test_log_names_the_element(caplog):
    with caplog.at_level(logging.WARNING, "penstock"):
        list(labelled().map(fail, name="decode", on_error="log"))
    assert [r.getMessage() for r in caplog.records] == [
        "map(fail, name='decode'): element 5 ('photos/5.jpg', 5) skipped: ValueError: bad"
    ]


def test_no_text_is_made_without_an_error():
    """Arguments are not touched beyond the call itself: arrays stay writeable."""

    def take(name, array):
        assert array.flags.writeable
        return name

    ds = labelled().map(lambda name, n: (name, np.zeros(3))).shuffle(4).map(take)
    assert sorted(ds) == NAMES


class Photos:
    """A map-style dataset, as PyTorch defines it."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return NAMES[i], i


class Lines:
    """An iterable dataset."""

    def __iter__(self):
        return iter([(NAMES[i], i) for i in range(4)])


def refuse(batch):
    raise ValueError("bad")


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("data", "size", "place"),
    [
        (Photos(), 2, "dataset[i] for i in [0, 1]: ('photos/0.jpg', 0), ('photos/1.jpg', 1)"),
        (Photos(), None, "dataset[0]: ('photos/0.jpg', 0)"),
        (Lines(), 2, "a batch of 2 samples: ('photos/0.jpg', 0), ('photos/1.jpg', 1)"),
        (Lines(), None, "a sample: ('photos/0.jpg', 0)"),
    ],
)
def test_data_loader_names_the_samples_of_a_batch_that_fails(workers, data, size, place):
    loader = ps.DataLoader(data, batch_size=size, collate_fn=refuse, num_workers=workers)
    with pytest.raises(ValueError, match="bad") as told:
        next(iter(loader))
    assert place in "\n".join(told.value.__notes__)


def test_data_loader_over_a_dataset_keeps_its_notes():
    class Elements:
        def __iter__(self):
            return iter(labelled().map(fail))

    loader = ps.DataLoader(Elements(), batch_size=8)
    with pytest.raises(ValueError, match="bad") as told:
        next(iter(loader))
    assert "map(fail), element 5 ('photos/5.jpg', 5)" in "\n".join(told.value.__notes__)


def test_a_data_error_of_a_function_names_the_file_of_its_element(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")

    def refuse(line):
        raise ps.DataError(f"no number: {line.decode()}", file="own" if line == b"two" else None)

    seen = []
    lines = ps.TextLineDataset(tmp_path / "a.txt")
    list(lines.map(refuse, on_error=lambda error, _: seen.append(str(error))))
    assert seen == [
        f"no number: one (file {tmp_path / 'a.txt'}, byte 0)",
        "no number: two (file own)",
    ]


@pytest.mark.parametrize("keys", ["np", "pn"])
def test_a_native_function_names_the_file_that_it_has_read(tmp_path, keys):
    good, bad = str(tmp_path / "good.png"), str(tmp_path / "bad.png")
    ps.io.write_file(good, ps.io.encode_png(np.zeros((2, 2, 3), np.uint8)))
    ps.io.write_file(bad, b"no image")
    elements = [{"n": i, "p": path} for i, path in enumerate((good, bad))]
    ds = Dataset.from_generator(lambda: ({key: e[key] for key in keys} for e in elements))
    seen = []
    load = ps.native(lambda e: (ps.io.decode_image(ps.io.read_file(e["p"])), e["n"]))
    loaded = ds.map(load, on_error=lambda error, info: seen.append((error.file, info.file)))
    assert [int(n) for _, n in loaded] == [0]
    assert seen == [(bad, bad)]
