"""shard_evenly(evaluation=True): every element once, in equally many equal-sized batches."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from even_shards import SOURCES, even_shards


def gathered(per_process):
    """Return the rows of all processes' batches, in the order of gather_exact."""
    values, masks = zip(*per_process, strict=True)
    mask = np.stack(masks, 1).reshape(-1)
    return np.stack(values, 1).reshape(-1)[mask].tolist()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_batches_of_all_processes_have_every_element_once_in_order(source, count):
    for n in (0, 1, 2, 7, 12):
        ds = SOURCES[source](n)
        processes = [
            list(ds.shard_evenly(count, i, evaluation=True).batch(2)) for i in range(count)
        ]
        shapes = [[mask.shape for _, mask in batches] for batches in processes]
        assert shapes == shapes[:1] * count
        found = [x for step in zip(*processes, strict=True) for x in gathered(step)]
        assert found == list(range(n))


def test_what_stands_for_no_element_is_masked():
    ds = ps.Dataset.range(5)
    shards = [
        [(int(x), bool(m)) for x, m in ds.shard_evenly(3, i, evaluation=True)] for i in range(3)
    ]
    assert shards == even_shards(range(5), 3, "pad")
    named = ps.Dataset.from_tensor_slices({"s": ["a", "b", "c"]})
    wanted = [{"s": "b", "real": True}, {"s": "", "real": False}]
    assert_same(list(named.shard_evenly(2, 1, evaluation=True, mask_key="real")), wanted)


def test_rows_of_many_batches_put_one_after_the_other_are_in_order_too():
    ds = ps.Dataset.range(11).filter(lambda x: x != 4)
    processes = []
    for i in range(3):
        batches = list(ds.shard_evenly(3, i, evaluation=True).batch(2))
        processes.append(tuple(np.concatenate(leaf) for leaf in zip(*batches, strict=True)))
    assert gathered(processes) == [x for x in range(11) if x != 4]


def test_files_are_shared_so_that_every_record_comes_once(tmp_path):
    names = []
    for i, count in enumerate([3, 0, 1]):
        names.append(str(tmp_path / f"{i}.tfrecord"))
        with ps.io.TFRecordWriter(names[-1]) as writer:
            for j in range(count):
                writer.write(f"{i}.{j}".encode())
    shards = [
        list(ps.TFRecordDataset(names).shard_evenly(2, i, by="files", evaluation=True))
        for i in range(2)
    ]
    assert [len(shard) for shard in shards] == [4, 4]
    real = [record for shard in shards for record, mask in shard if mask]
    assert sorted(real) == [b"0.0", b"0.1", b"0.2", b"2.0"]


@pytest.mark.parametrize("consumed", range(4))
def test_a_state_goes_on_after_the_batches_that_were_taken(consumed):
    ds = ps.Dataset.range(20).filter(lambda x: x % 3 != 0)  # 13 elements

    def batches(index):
        return iter(ds.shard_evenly(3, index, evaluation=True).batch(2).prefetch(1))

    it = batches(0)
    whole = [list(batches(i)) for i in range(3)]
    for _ in range(consumed):
        next(it, None)
    for i in range(3):  # the state of one process serves all
        resumed = batches(i)
        resumed.set_state(it.get_state())
        assert_same(list(resumed), whole[i][consumed:])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda ds: ds.repeat().shard_evenly(2, 0, evaluation=True), "a dataset that ends"),
        (lambda ds: ds.batch(2).shard_evenly(2, 0, evaluation=True), "batches of one size"),
        (
            lambda ds: ds.batch(2).prefetch(1).shard_for_torch(evaluation=True),
            "batches of one size",
        ),
        (lambda ds: ds.shard_evenly(2, 0, "drop", evaluation=True), "must be 'pad', got 'drop'"),
        (lambda ds: ds.shard_for_torch("repeat", evaluation=True), "must be 'pad', got 'repeat'"),
    ],
)
def test_what_would_lose_elements_or_come_out_uneven_is_refused(make, words):
    with pytest.raises(ValueError, match=f"shard_evenly: evaluation=True.*{words}"):
        make(ps.Dataset.range(3))


def test_batches_of_one_size_can_be_shared():
    ds = ps.Dataset.range(6).batch(2)
    shards = [list(ds.shard_evenly(2, i, evaluation=True)) for i in range(2)]
    assert_same(shards[0], [(np.array([0, 1]), True), (np.array([4, 5]), True)])
    assert_same(shards[1], [(np.array([2, 3]), True), (np.array([0, 0]), False)])
