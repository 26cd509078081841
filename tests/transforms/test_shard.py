"""shard: every n-th element."""

import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract


class TestShard(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14))
    apply = staticmethod(lambda ds: ds.shard(4, 0))
    expected = [0, 4, 8, 12]

    def expected_around_error(self):
        return [0, 8, 12]


class TestShardWithoutTheFailure(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14))
    apply = staticmethod(lambda ds: ds.shard(4, 1))
    expected = [1, 5, 9, 13]
    errors_upstream = 0  # belongs to another shard

    def expected_around_error(self):
        assert BOOM % 4 != 1
        return self.expected


@pytest.mark.parametrize("n", [0, 1, 5, 6, 7])
def test_shards_make_up_the_whole(n):
    ds = ps.Dataset.range(n)
    shards = [ds.shard(3, i) for i in range(3)]
    assert sorted(int(x) for shard in shards for x in shard) == list(range(n))
    assert sum(len(shard) for shard in shards) == n
    assert_same(list(shards[1]), list(range(1, n, 3)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 0), "num_shards must be >= 1, got 0"),
        ((-1, 0), "num_shards must be >= 1, got -1"),
        ((3, 3), "index must be in"),
        ((3, -1), "index must be in"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, words):
    with pytest.raises(ValueError, match=f"shard: {words}"):
        ps.Dataset.range(3).shard(*arguments)
