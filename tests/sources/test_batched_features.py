"""parse_example_dataset and make_batched_features_dataset."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps

make = ps.experimental.make_batched_features_dataset
parse_example_dataset = ps.experimental.parse_example_dataset

FEATURES = {
    "x": ps.io.FixedLenFeature((2,), np.float32),
    "label": ps.io.FixedLenFeature((), np.int64, -1),
    "words": ps.io.VarLenFeature(bytes),
    "rows": ps.io.FixedLenSequenceFeature((2,), np.int64, allow_missing=True),
}
X = {"x": FEATURES["x"]}


def message(i):
    given = {"x": [i, i + 0.5], "words": [b"w"] * i, "rows": list(range(2 * i))}
    return ps.io.make_example(given | ({"label": i} if i % 2 else {}))


def parsed(*numbers):
    return ps.io.parse_example([message(i) for i in numbers], FEATURES)


def batches():
    return ps.Dataset.from_tensor_slices([message(i) for i in range(7)]).batch(3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for name, numbers in (("a", (0, 1, 2)), ("b", (3, 4))):
        with ps.io.TFRecordWriter(folder / f"{name}.tfrecord") as writer:
            for i in numbers:
                writer.write(message(i))
    return str(folder / "*.tfrecord")


class TestParse(DatasetContract):
    @staticmethod
    def build(num_parallel_calls=1):
        return batches().apply(parse_example_dataset(FEATURES, num_parallel_calls))

    @staticmethod
    def expected():
        return [parsed(0, 1, 2), parsed(3, 4, 5), parsed(6)]


class TestBatches(DatasetContract):
    @pytest.fixture(autouse=True)
    def _files(self, files):
        type(self).files = files

    @classmethod
    def build(cls):
        return make(cls.files, 2, X, num_epochs=2, shuffle=False, label_key="x")

    @staticmethod
    def expected():
        order = [0, 1, 2, 3, 4] * 2
        pairs = [order[i : i + 2] for i in range(0, 10, 2)]
        return [({}, parsed(*pair)["x"]) for pair in pairs]


def xs(ds):
    return [int(x[0]) for batch in ds for x in batch["x"]]


def test_types_and_shapes_are_known_beforehand():
    spec = batches().apply(parse_example_dataset(FEATURES)).element_spec
    assert spec == {
        "x": ps.TensorSpec((None, 2), np.float32),
        "label": ps.TensorSpec((None,), np.int64),
        "words": (ps.TensorSpec((None,), bytes), ps.TensorSpec((None,), np.int64)),
        "rows": ps.TensorSpec((None, None, 2), np.int64),
    }
    none = ps.Dataset.from_tensor_slices(np.array([b"x"], object)).skip(1)
    full = none.batch(4, drop_remainder=True).apply(parse_example_dataset(FEATURES))
    assert full.element_spec["x"] == ps.TensorSpec((4, 2), np.float32)
    assert full.element_spec["words"][1] == ps.TensorSpec((5,), np.int64)
    assert list(full) == []


def test_order_is_kept_or_not_as_asked():
    everything = xs(batches().apply(parse_example_dataset(X, ps.AUTOTUNE, deterministic=False)))
    assert sorted(everything) == list(range(7))
    assert xs(batches().apply(parse_example_dataset(X, 3, deterministic=True))) == list(range(7))


@pytest.mark.parametrize(
    "dataset",
    [
        ps.Dataset.from_tensor_slices([b"a"]),
        ps.Dataset.range(3).batch(2),
        ps.Dataset.from_tensor_slices([b"a"]).batch(1).batch(1),
        ps.Dataset.from_tensors(([b"a"], [b"b"])),
    ],
)
def test_only_batches_of_bytes_are_parsed(dataset):
    with pytest.raises(TypeError, match="parse_example_dataset: batches of bytes were expected"):
        dataset.apply(parse_example_dataset(X))


def test_wrong_arguments_of_parsing_are_refused():
    for none in (None, {}):
        with pytest.raises(ValueError, match="parse_example_dataset: features must be given"):
            parse_example_dataset(none)
    with pytest.raises(ValueError, match="num_parallel_calls must be >= 1"):
        batches().apply(parse_example_dataset(X, 0))


def test_a_corrupt_message_is_the_error_of_its_batch():
    records = [message(0), b"zz", message(2)]
    ds = ps.Dataset.from_tensor_slices(records).batch(1).apply(parse_example_dataset(X))
    came = steps(iter(ds))
    assert came[1].kind == "DataError"
    assert xs([came[0], came[2]]) == [0, 2]


# --- make_batched_features_dataset ---


def test_without_an_end_all_batches_are_full(files):
    ds = make(files, 2, X, shuffle=False)
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    assert ds.element_spec == {"x": ps.TensorSpec((2, 2), np.float32)}
    assert xs(ds.take(4)) == [0, 1, 2, 3, 4, 0, 1, 2]


def test_the_last_batch_may_be_left_out(files):
    arguments = {"num_epochs": 1, "shuffle": False}
    assert xs(make(files, 2, X, **arguments)) == [0, 1, 2, 3, 4]
    assert xs(make(files, 2, X, drop_final_batch=True, **arguments)) == [0, 1, 2, 3]
    assert xs(make(files, 2, X, prefetch_buffer_size=0, **arguments)) == [0, 1, 2, 3, 4]


def test_shuffling_is_the_default_and_repeatable(files):
    def epochs(seed):
        return xs(make(files, 5, X, num_epochs=4, shuffle_seed=seed))

    assert epochs(1) == epochs(1) != epochs(2)
    assert sorted(epochs(1)) == sorted([0, 1, 2, 3, 4] * 4)
    assert len({tuple(epochs(1)[i : i + 5]) for i in range(0, 20, 5)}) > 1


@pytest.mark.parametrize("threads", [2, ps.AUTOTUNE])
def test_several_files_are_read_in_turn(files, threads):
    arguments = {"num_epochs": 1, "shuffle": False, "reader_num_threads": threads}
    assert xs(make(files, 5, X, **arguments)) == [0, 3, 1, 4, 2]
    sloppy = make(files, 5, X, sloppy_ordering=True, parser_num_threads=1, **arguments)
    assert sorted(xs(sloppy)) == [0, 1, 2, 3, 4]


def test_a_label_is_given_apart(files):
    (batch,) = make(files, 9, FEATURES, label_key="label", num_epochs=1, shuffle=False)
    wanted = parsed(0, 1, 2, 3, 4)
    label = wanted.pop("label")
    assert_same([batch], [(wanted, label)])


def test_a_reader_may_take_arguments(tmp_path):
    with ps.io.TFRecordWriter(tmp_path / "x.gz", "GZIP") as writer:
        writer.write(message(3))
    arguments = {"num_epochs": 1, "shuffle": False, "reader_args": ["GZIP"]}
    assert xs(make(tmp_path / "x.gz", 1, X, **arguments)) == [3]
    assert xs(make(tmp_path / "x.gz", 1, X, ps.TFRecordDataset, **arguments)) == [3]


def test_a_reader_may_be_any_function(tmp_path):
    (tmp_path / "numbers").write_text("1\n2\n")

    def pairs(name, text):
        assert text == "more"
        return ps.TextLineDataset(name).map(lambda line: (line, message(int(line))))

    ds = make(tmp_path / "numbers", 2, X, pairs, reader_args=["more"], num_epochs=1, shuffle=False)
    assert xs(ds) == [1, 2]


def test_a_damaged_record_leaves_the_others(tmp_path):
    path = tmp_path / "damaged"
    with ps.io.TFRecordWriter(path) as writer:
        for i in range(3):
            writer.write(message(i))
    content = bytearray(path.read_bytes())
    content[len(message(0)) + 16 + 14] ^= 1  # in the second record
    path.write_bytes(content)
    came = steps(iter(make(path, 1, X, num_epochs=1, shuffle=False)))
    assert [s.kind for s in came if isinstance(s, Failure)] == ["DataError"]
    assert xs(s for s in came if not isinstance(s, Failure)) == [0, 2]


def test_wrong_arguments_are_refused(files, tmp_path):
    with pytest.raises(ValueError, match=r"label_key must be one of \['x'\], got 'q'"):
        make(files, 1, X, label_key="q")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        make(str(tmp_path / "none*"), 1, X)
    with pytest.raises(ValueError, match="batch_size must be >= 1"):
        make(files, 0, X)
    with pytest.raises(ValueError, match="features must be given"):
        make(files, 1, {})
