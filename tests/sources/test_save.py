"""save: replaced files, refused targets, and leftovers after a failure."""

import pytest

import penstock as ps
from compare import assert_same
from contract import Boom


def test_saving_again_replaces_and_nothing_else_is_replaced(tmp_path):
    folder = tmp_path / "saved"
    ps.Dataset.range(5).save(folder)
    ps.Dataset.range(3).save(folder)
    assert_same(list(ps.Dataset.load(folder)), [0, 1, 2])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    for path in (tmp_path / "mine", tmp_path / "mine" / "thesis.txt"):
        with pytest.raises(FileExistsError, match=r"save: .* is no saved dataset"):
            ps.Dataset.range(3).save(path)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "saved"]


def test_a_dataset_can_be_saved_onto_itself(tmp_path):
    folder = tmp_path / "saved"
    ps.Dataset.range(5).save(folder)
    ps.Dataset.load(folder).map(lambda x: x * 2).save(folder)
    assert_same(list(ps.Dataset.load(folder)), [0, 2, 4, 6, 8])


def test_an_error_while_saving_is_raised_and_leaves_what_was_there(tmp_path):
    def fail(x):
        if x == 3:
            raise Boom("three")
        return x

    folder = tmp_path / "saved"
    ps.Dataset.range(2).save(folder)
    with pytest.raises(Boom, match="three"):
        ps.Dataset.range(5).map(fail).save(folder)
    assert_same(list(ps.Dataset.load(folder)), [0, 1])
    assert [p.name for p in tmp_path.iterdir()] == ["saved"]


@pytest.mark.parametrize(
    ("answer", "error"), [(-1, ValueError), (1000, ValueError), (0.5, TypeError), ("a", TypeError)]
)
def test_a_wrong_shard_is_an_error(tmp_path, answer, error):
    with pytest.raises(error, match="save: shard_func"):
        ps.Dataset.range(5).save(tmp_path / "saved", shard_func=lambda x: answer)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_shard_func_is_raised_as_itself(tmp_path):
    def fail(x):
        raise Boom("no shard")

    with pytest.raises(Boom, match="no shard"):
        ps.Dataset.range(5).save(tmp_path / "saved", shard_func=fail)


def test_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"save: compression must be None, .* got 'LZMA'"):
        ps.Dataset.range(5).save(tmp_path / "saved", compression="LZMA")
    with pytest.raises(ValueError, match="checkpoint_args"):
        ps.Dataset.range(5).save(tmp_path / "saved", checkpoint_args={})
