"""bucket_by_sequence_length: padded batches of elements of similar length."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps

LENGTHS = [1, 5, 2, 7, 3, 3, 10, 4, 5, 1, 6, 2]
SPEC = ps.TensorSpec([None], np.int64)


def row(length):
    return np.full(length, length)


def source(lengths=LENGTHS):
    return ps.Dataset.from_tensor_slices(lengths).map(row, output_signature=SPEC)


def lists(ds):
    return [batch.tolist() for batch in ds]


def as_text(batch):
    return str(batch.tolist())


class TestBuckets(DatasetContract):
    source = staticmethod(source)
    apply = staticmethod(
        lambda ds: ds.bucket_by_sequence_length(len, [3, 6], [3, 2, 2]).map(as_text)
    )
    expected = [
        "[[5, 5, 5, 5, 5], [3, 3, 3, 0, 0]]",
        "[[7, 7, 7, 7, 7, 7, 7, 0, 0, 0], [10, 10, 10, 10, 10, 10, 10, 10, 10, 10]]",
        "[[3, 3, 3, 0], [4, 4, 4, 4]]",
        "[[1, 0], [2, 2], [1, 0]]",
        "[[2, 2]]",
        "[[5, 5, 5, 5, 5]]",
        "[[6, 6, 6, 6, 6, 6]]",
    ]


class TestBucketsPaddedToTheirBoundaries(DatasetContract):
    source = staticmethod(lambda: source([x for x in LENGTHS if x < 6] * 2))
    apply = staticmethod(
        lambda ds: ds.bucket_by_sequence_length(
            len, [3, 6], [4, 2, 9], padding_values=-1, pad_to_bucket_boundary=True
        ).map(as_text)
    )

    @staticmethod
    def expected():
        waiting, batches = {2: [], 5: []}, []
        for n in [x for x in LENGTHS if x < 6] * 2:
            rows = waiting[2 if n < 3 else 5]
            rows.append([n] * n + [-1] * ((2 if n < 3 else 5) - n))
            if len(rows) == (4 if n < 3 else 2):
                batches.append(str(rows))
                rows.clear()
        return batches + [str(rows) for rows in waiting.values() if rows]


# tf.data 2.21's results.


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (
            {"drop_remainder": True},
            [
                [[5] * 5, [3, 3, 3, 0, 0]],
                [[7] * 7 + [0] * 3, [10] * 10],
                [[3, 3, 3, 0], [4] * 4],
                [[1, 0], [2, 2], [1, 0]],
            ],
        ),
        (
            {"padded_shapes": [12], "drop_remainder": True},
            [
                [[n] * n + [0] * (12 - n) for n in pair]
                for pair in ([5, 3], [7, 10], [3, 4], [1, 2, 1])
            ],
        ),
        (
            {"padding_values": np.int64(-1)},
            [
                [[5] * 5, [3, 3, 3, -1, -1]],
                [[7] * 7 + [-1] * 3, [10] * 10],
                [[3, 3, 3, -1], [4] * 4],
                [[1, -1], [2, 2], [1, -1]],
                [[2, 2]],
                [[5] * 5],
                [[6] * 6],
            ],
        ),
    ],
    ids=["drop_remainder", "padded_shapes", "padding_values"],
)
def test_batches_are_those_of_tf_data(arguments, wanted):
    ds = source().bucket_by_sequence_length(len, [3, 6], [3, 2, 2], **arguments)
    assert lists(ds) == wanted
    assert ds.cardinality() == ps.UNKNOWN_CARDINALITY


def test_the_spec_tells_what_is_known_of_the_elements():
    for arguments in ({}, {"pad_to_bucket_boundary": True}, {"no_padding": True}):
        ds = source().bucket_by_sequence_length(len, [3, 6], [3, 2, 2], **arguments)
        assert ds.element_spec == ps.TensorSpec((None, None), np.int64)
    ds = source().bucket_by_sequence_length(len, [3, 6], [3, 2, 2], padded_shapes=[12])
    assert ds.element_spec == ps.TensorSpec((None, 12), np.int64)


def test_a_boundary_begins_the_next_bucket():
    assert lists(source([1, 2, 3]).bucket_by_sequence_length(len, [2, 3], [1, 1, 1])) == [
        [[1]],
        [[2, 2]],
        [[3, 3, 3]],
    ]
    assert lists(source([0, 0, 1]).bucket_by_sequence_length(len, [1], [2, 2])) == [[[], []], [[1]]]
    without = source([1, 5, 2, 7]).bucket_by_sequence_length(len, [], [2])
    assert lists(without) == [[[1, 0, 0, 0, 0], [5] * 5], [[2, 2, 0, 0, 0, 0, 0], [7] * 7]]


def test_elements_of_several_leaves():
    ds = ps.Dataset.zip((source(), ps.Dataset.range(100))).take(6)
    came = list(ds.bucket_by_sequence_length(lambda x, i: len(x), [3], [2, 2]))
    assert [(x.tolist(), i.tolist()) for x, i in came] == [
        ([[1, 0], [2, 2]], [0, 2]),
        ([[5, 5, 5, 5, 5, 0, 0], [7, 7, 7, 7, 7, 7, 7]], [1, 3]),
        ([[3, 3, 3], [3, 3, 3]], [4, 5]),
    ]
    padded = ds.bucket_by_sequence_length(
        lambda x, i: len(x), [3], [2, 2], padded_shapes=([None], []), padding_values=(-1, 0)
    )
    assert padded.first()[0].tolist() == [[1, -1], [2, 2]]


def test_padding_to_the_boundary_refuses_the_last_bucket_and_goes_on():
    ds = source().bucket_by_sequence_length(len, [3, 6], [3, 2, 2], pad_to_bucket_boundary=True)
    came = steps(iter(ds))
    errors = [s for s in came if isinstance(s, Failure)]
    assert [e.kind for e in errors] == ["ValueError"] * 2
    assert "every element must be shorter than the last boundary, 6" in errors[0].text
    assert [s.tolist() for s in came if not isinstance(s, Failure)] == [
        [[5] * 5, [3, 3, 3, 0, 0]],
        [[3, 3, 3, 0, 0], [4, 4, 4, 4, 0]],
        [[1, 0], [2, 2], [1, 0]],
        [[2, 2]],
        [[5] * 5],
    ]


@pytest.mark.parametrize("looked_at", [False, True])
def test_sizes_that_nobody_declared(looked_at):
    plain = ps.Dataset.from_tensor_slices([4, 1, 2]).map(lambda n: (row(n), n))
    if looked_at:
        assert plain.element_spec[0].shape == (None,)
    to_boundary = plain.bucket_by_sequence_length(
        lambda x, n: len(x), [6], [3, 1], pad_to_bucket_boundary=True
    )
    assert to_boundary.first()[0].tolist() == [[4, 4, 4, 4, 0], [1, 0, 0, 0, 0], [2, 2, 0, 0, 0]]
    two = plain.map(lambda x, n: (x, np.zeros(3)))
    ambiguous = two.bucket_by_sequence_length(
        lambda x, y: len(x), [6], [3, 1], pad_to_bucket_boundary=True
    )
    with pytest.raises(ValueError, match=r"cannot be known of .* give padded_shapes"):
        next(iter(ambiguous))
    told = two.bucket_by_sequence_length(
        lambda x, y: len(x), [6], [3, 1], ([None], [3]), pad_to_bucket_boundary=True
    )
    assert [x.shape for x in told.first()] == [(3, 5), (3, 3)]


def test_declared_sizes_are_kept():
    spec = (SPEC, ps.TensorSpec([3], np.float64))
    ds = ps.Dataset.range(1, 4).map(lambda n: (row(n), np.zeros(3)), output_signature=spec)
    ds = ds.bucket_by_sequence_length(lambda x, y: len(x), [9], [3, 1], pad_to_bucket_boundary=True)
    assert [x.shape for x in ds.first()] == [(3, 8), (3, 3)]


def test_without_padding_elements_are_batched_as_they_are():
    fives = source([5, 2, 5, 2, 5]).bucket_by_sequence_length(len, [3], [2, 2], no_padding=True)
    assert lists(fives) == [[[5] * 5] * 2, [[2] * 2] * 2, [[5] * 5]]
    mixed = source([1, 2]).bucket_by_sequence_length(len, [3], [2, 2], no_padding=True)
    came = steps(iter(mixed))
    assert "batch: element 1 has shape (2,)" in came[0].text
    assert came[1].tolist() == [[1]]


@pytest.mark.parametrize(
    ("boundaries", "sizes", "words"),
    [
        ([3, 6], [1, 2], "must have 3 sizes for 2 boundaries, one more, got 2"),
        ([6, 3], [1, 1, 1], "bucket_boundaries must ascend"),
        ([3, 3], [1, 1, 1], "bucket_boundaries must ascend"),
        ([3], [1, 0], "bucket_batch_sizes must be >= 1, got 0"),
        ([], [], "must have 1 sizes for 0 boundaries, one more, got 0"),
    ],
)
def test_wrong_buckets_are_refused(boundaries, sizes, words):
    with pytest.raises(ValueError, match=f"bucket_by_sequence_length: .*{words}"):
        source().bucket_by_sequence_length(len, boundaries, sizes)


def test_other_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="element_length_func must be callable"):
        source().bucket_by_sequence_length(3, [3], [1, 1])
    with pytest.raises((TypeError, ValueError), match="padded_batch"):
        source().bucket_by_sequence_length(len, [3], [1, 1], padded_shapes={"a": [3]})
    came = steps(iter(source([1]).bucket_by_sequence_length(lambda x: 1.5, [3], [1, 1])))
    assert "bucket_by_sequence_length: element_length_func must return one int" in came[0].text


def test_errors_leave_the_others():
    def length(x):
        if len(x) == 4:
            raise Boom("length of 4")
        return len(x)

    came = steps(iter(source().bucket_by_sequence_length(length, [3, 6], [3, 2, 2])))
    assert came[2] == Failure("Boom", "length of 4")
    assert [s.tolist() for s in came[3:5]] == [
        [[3, 3, 3, 0, 0], [5] * 5],
        [[1, 0], [2, 2], [1, 0]],
    ]


def test_native_lengths_give_the_same():
    native = ps.native(lambda x: x.shape[0])
    arguments = ([3, 6], [3, 2, 2])
    assert_same(
        list(source().bucket_by_sequence_length(native, *arguments)),
        list(source().bucket_by_sequence_length(len, *arguments)),
    )


def test_words_in_buckets():
    words = ps.Dataset.from_tensor_slices(["b", "aa", "cccc", "d"])
    letters = words.map(lambda word: np.array(list(word), object))
    ds = letters.bucket_by_sequence_length(len, [2], [2, 2], padding_values="-")
    assert [["".join(row) for row in batch] for batch in ds] == [["aa--", "cccc"], ["b", "d"]]


def test_the_experimental_form_is_the_same():
    form = ps.experimental.bucket_by_sequence_length(len, [3, 6], [3, 2, 2], drop_remainder=True)
    wanted = source().bucket_by_sequence_length(len, [3, 6], [3, 2, 2], drop_remainder=True)
    assert_same(list(source().apply(form)), list(wanted))


def words_of(n):
    return np.array([f"w{i}" for i in range(n)], object)


def of_two_dtypes(n):
    return np.full(n, n, np.int64 if n != 4 else np.float32)


def of_two_ranks(n):
    return np.full(n if n != 4 else (4, 2), n)


def nested(n):
    return {"x": np.full((n, 3), n), "name": f"{n}", "of": (np.float32(n), words_of(n))}


def reordered(n):
    element = nested(n)
    return element if n % 2 else dict(reversed(element.items()))


def opaque(n):
    return np.array([object] * n, object) if n == 4 else words_of(n)


LONG = [int(n) for n in np.random.default_rng(5).integers(0, 9, 120)]


@pytest.mark.parametrize("padding", [{}, {"padding_values": 7}, {"padded_shapes": [6]}], ids=str)
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize(
    "made", [row, words_of, of_two_dtypes, of_two_ranks, nested, reordered, opaque]
)
def test_batches_and_errors_are_those_of_padded_batch_for_each_bucket(made, drop, padding):
    sizes = np.array([9, 5, 16])

    def length(element):
        return len(element["x"] if isinstance(element, dict) else element)

    def batch(bucket, window):
        return window.padded_batch(int(sizes[bucket]), drop_remainder=drop, **padding)

    def bucket(element):
        return (length(element) >= 3) + (length(element) >= 6)

    ds = ps.Dataset.from_generator(lambda: map(made, LONG))
    buckets = ds.bucket_by_sequence_length(length, [3, 6], sizes, drop_remainder=drop, **padding)
    windows = ds.group_by_window(bucket, batch, window_size_func=lambda key: sizes[key])
    assert_same(*(as_comparable(steps(iter(made))) for made in (buckets, windows)))


def test_batches_without_padding_are_those_of_batch_for_each_bucket():
    def batch(bucket, window):
        return window.batch(4)

    ds = source(LONG)
    buckets = ds.bucket_by_sequence_length(len, [3, 6], [4] * 3, no_padding=True)
    windows = ds.group_by_window(lambda x: (len(x) >= 3) + (len(x) >= 6), batch, 4)
    came = as_comparable(steps(iter(buckets)))
    assert_same(came, as_comparable(steps(iter(windows))))
    assert sum(isinstance(s, str) for s in came) > 20  # shapes that differ


def as_comparable(came):
    return [str(s) if isinstance(s, Failure) else s for s in came]


def test_lengths_may_be_of_any_native_form():
    wanted = list(source(LONG).bucket_by_sequence_length(len, [3, 6], [3, 2, 2]))
    for length in (
        lambda x: ps.shape(x)[0],
        lambda x: ps.shape(x)[-1],
        lambda x: x.shape[0] + 0,
        lambda x: ps.cast(ps.shape(x), np.uint8)[0],
        lambda x: ps.shape(ps.concat([x, x], 0))[0] // 2,
        lambda x: np.minimum(x.shape[0], 100),
    ):
        ds = source(LONG).bucket_by_sequence_length(ps.native(length), [3, 6], [3, 2, 2])
        assert_same(list(ds), wanted)


def test_a_native_length_of_an_axis_that_a_row_lacks_is_an_error_of_that_row():
    ds = ps.Dataset.from_generator(lambda: map(of_two_ranks, [1, 4, 2, 4, 3]))
    length = ps.native(lambda x: ps.shape(x)[1])
    came = steps(iter(ds.bucket_by_sequence_length(length, [3], [2, 2])))
    assert next(s for s in came if not isinstance(s, Failure)).tolist() == [[[4, 4]] * 4] * 2
    errors = [s for s in came if isinstance(s, Failure)]
    wanted = "getitem: index 1 is out of bounds for axis 0 with size 1"
    assert [(s.kind, s.text) for s in errors] == [("ValueError", wanted)] * 3
