"""The number of rows and of batches of Dataset.to_jax."""

import numpy as np
import pytest

import penstock as ps

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax_rows import Point, rows, same  # noqa: E402  # imports jax

Dataset = ps.Dataset


def halved(**arguments):
    """Return batches of 2 rows; the last is taken from 2 rows, all others from 4."""
    return rows().batch(4).map(lambda b: b["x"][:2], **arguments)


def spec(shape):
    return ps.TensorSpec(shape, np.float64)


class TestSizes:
    def test_a_shorter_last_batch_is_left_out_or_kept(self):
        assert [len(b["n"]) for b in rows().batch(4).to_jax()] == [4, 4]
        assert [len(b["n"]) for b in rows().batch(4).to_jax(drop_remainder=False)] == [4, 4, 2]
        assert [len(b["n"]) for b in rows(3).batch(4).to_jax()] == [3]  # the first is full

    def test_that_of_every_epoch(self):
        got = [b["n"].tolist() for b in rows().batch(4).repeat(2).to_jax()]
        assert got == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2

    @pytest.mark.parametrize(
        ("sizes", "words"),
        [
            ([3, 5], "batches of 3 rows .* got one of 5 rows;"),
            ([4, 2, 2], ".* got one of 2 rows after a shorter one;"),
        ],
    )
    def test_other_sizes_are_an_error_unless_they_are_wanted(self, sizes, words):
        ds = Dataset.from_generator(lambda: (np.zeros(n) for n in sizes))
        with pytest.raises(ValueError, match=f"to_jax: {words}"):
            list(ds.to_jax())
        assert [len(x) for x in ds.to_jax(drop_remainder=False)] == sizes

    def test_ragged_leaves_have_no_size_to_go_by(self):
        ds = Dataset.range(1, 6).map(lambda n: np.full(n, n)).ragged_batch(2)
        assert [len(splits) for _, splits in ds.to_jax()] == [3, 3, 2]

    @pytest.mark.parametrize(
        ("make", "wanted"),
        [
            (lambda: rows().batch(4), 2),
            (lambda: rows(12).batch(4), 3),
            (lambda: rows(3).batch(4), 1),
            (lambda: rows(0).batch(4), 0),
            (lambda: rows().batch(4, drop_remainder=True), 2),
            (lambda: rows().map(lambda r: r["x"] + 1).batch(4).cache().prefetch(2), 2),
            (lambda: rows().batch(4).enumerate().repeat(3), 6),
            (lambda: halved(output_signature=spec((2, None))), 3),
            (lambda: halved(output_signature=spec((2, 3)), num_parallel_calls=2).cache(), 3),
            (lambda: Dataset.range(1, 6).map(lambda n: np.full(n, n)).padded_batch(2), 2),
        ],
    )
    def test_length(self, make, wanted):
        batches = make().to_jax()
        assert len(batches) == len(list(batches)) == wanted
        assert len(make().to_jax(drop_remainder=False)) == len(make())

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: rows().batch(4).repeat(), "infinite"),
            (lambda: rows().filter(lambda r: True).batch(4), "unknown"),
            (lambda: rows().batch(4).shuffle(9), "not known how many batches have fewer rows"),
            (lambda: halved(), "not known how many batches have fewer rows"),
            (lambda: halved(num_parallel_calls=2).cache(), "not known how many batches have fewer"),
            (lambda: halved(output_signature=spec((None, 3))), "not known how many"),
            (lambda: halved(output_signature=spec(None)).repeat(2), "not known how many"),
        ],
    )
    def test_length_that_is_not_known(self, make, words):
        with pytest.raises(TypeError, match=f"len: .*{words}"):
            len(make().to_jax())

    def test_pad_fills_up_and_adds_a_mask(self):
        first, second, last = rows().batch(4).to_jax(pad=True)
        assert len(rows().batch(4).to_jax(pad=True)) == 3
        assert first["valid"].tolist() == second["valid"].tolist() == [True] * 4
        same(last["valid"], jnp.asarray([True, True, False, False]))
        same(last["n"], jnp.asarray([8, 9, 0, 0]))
        same(last["x"], jnp.asarray([[24.0, 25, 26], [27, 28, 29], [0, 0, 0], [0, 0, 0]]))
        *_, last = rows().batch(4).to_jax(pad="mask")
        assert set(last) == {"x", "n", "mask"}

    def test_pad_joins_a_mask_that_is_there(self):
        shard = Dataset.range(7).map(lambda n: {"n": n}).shard_evenly(2, 1, "pad")
        batches = list(shard.batch(3).to_jax(pad=True))
        assert [b["valid"].tolist() for b in batches] == [[True] * 3, [False] * 3]
        with pytest.raises(ValueError, match="'valid' that is no mask of its rows"):
            list(Dataset.from_tensors({"valid": np.arange(4)}).to_jax(pad=True))

    def test_pad_of_tuples_arrays_strings_and_objects(self):
        *_, last = Dataset.range(3).batch(2).to_jax(pad=True)
        assert [leaf.tolist() for leaf in last] == [[2, 0], [True, False]]
        ds = Dataset.range(3).map(lambda n: (n, (f"{n}", b"b", {n}, np.full(2, n))))
        *_, (n, (text, data, objects, pairs), mask) = ds.batch(2).to_jax(pad=True)
        assert (n.tolist(), mask.tolist()) == ([2, 0], [True, False])
        assert (text.tolist(), data.tolist()) == (["2", ""], [b"b", b""])
        assert objects.tolist() == [{2}, None]
        assert pairs.tolist() == [[2, 2], [0, 0]]

    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (lambda: Dataset.range(3), ValueError, r"one size .* got \(\); batch first"),
            (lambda: Dataset.range(3).map(lambda n: Point(n, n)).batch(2), TypeError, "a Point"),
            (
                lambda: Dataset.from_tensors({"a": np.zeros(2), "b": np.zeros(3)}),
                ValueError,
                r"got a: \(2,\), b: \(3,\); batch first",
            ),
        ],
    )
    def test_pad_of_what_has_no_rows_or_no_place(self, make, error, words):
        with pytest.raises(error, match=f"to_jax: pad: .*{words}"):
            list(make().to_jax(pad=True))

    def test_global_batch_says_what_is_full(self):
        (got,) = rows(3).batch(4).to_jax(global_batch=4, pad=True)
        assert got["valid"].tolist() == [True, True, True, False]
        assert list(rows(3).batch(4).to_jax(global_batch=4)) == []
        assert len(rows(3).batch(4).to_jax(global_batch=4)) == 0
        with pytest.raises(ValueError, match=r"batches of 2 rows were expected.* got one of 4"):
            list(rows().batch(4).to_jax(global_batch=2, drop_remainder=False))


class TestBatchesWithAMaskOfTheirOwn:
    def test_are_filled_up_to_the_size_of_a_batch(self):
        ds = ps.Dataset.range(5).map(lambda i: {"n": i + 1, "s": str(i)})
        shard = ds.shard_evenly(2, 1, evaluation=True)
        first, second = shard.batch(2).to_jax()
        assert first["n"].tolist() == [2, 4]
        assert first["valid"].tolist() == [True, True]
        assert second["n"].tolist() == [0, 0]
        assert second["valid"].tolist() == [False, False]
        (only,) = shard.batch(8).prefetch(1).to_jax()  # not even the first one is full
        assert only["n"].tolist() == [2, 4, 0, 0, 0, 0, 0, 0]
        assert only["s"].tolist() == ["1", "3", *[""] * 6]
        assert only["valid"].tolist() == [True] * 2 + [False] * 6

    def test_are_left_out_or_left_short_where_that_is_asked_for(self):
        batches = ps.Dataset.range(5).shard_evenly(1, 0, "pad").batch(2)
        assert [mask.tolist() for _, mask in batches.to_jax(drop_remainder=True)] == [
            [True] * 2
        ] * 2
        assert [len(x) for x, _ in batches.to_jax(drop_remainder=False)] == [2, 2, 1]
        filled = batches.to_jax()
        assert len(filled) == 3
        assert [mask.tolist() for _, mask in filled][-1] == [True, False]

    def test_may_have_more_rows_after_a_function(self):
        def doubled(x, mask):
            return np.repeat(x, 2), np.repeat(mask, 2)

        batches = ps.Dataset.range(5).shard_evenly(1, 0, evaluation=True).batch(2).map(doubled)
        assert [x.tolist() for x, _ in batches.to_jax()] == [
            [0, 0, 1, 1],
            [2, 2, 3, 3],
            [4, 4, 0, 0],
        ]
