"""Writes to object stores: objects appear when they are complete, or not at all."""

import gc
import io
import tempfile
import uuid
import warnings

import numpy as np
import pytest

import penstock as ps

pytest.importorskip("obstore")
fsspec = pytest.importorskip("fsspec")


@pytest.fixture(params=["s3", "memory"])
def folder(request):
    """Return the URL of a folder, and a function that returns its contents by name."""
    if request.param == "s3":
        url, made = request.getfixturevalue("bucket")
        return f"{url}/deep/er", lambda: {
            each.key.removeprefix("deep/er/"): each.get()["Body"].read()
            for each in made.objects.all()
        }
    url = f"memory://{uuid.uuid4().hex[:8]}/deep"
    system = fsspec.filesystem("memory")
    return url, lambda: {
        name.partition("/deep/")[2]: system.cat_file(name) for name in system.find(url)
    }


def fails_at(number):
    def function(x):
        if x == number:
            raise KeyError(number)
        return x

    return function


def test_write_file_and_record_writers(folder):
    url, contents = folder
    ps.io.write_file(f"{url}/a.txt", "one\n")
    ps.io.write_file(f"{url}/a.txt", b"two\n")
    with ps.io.TFRecordWriter(f"{url}/b", "GZIP") as writer:
        writer.write(b"three")
        assert "b" not in contents()
    assert contents()["a.txt"] == b"two\n"
    assert list(ps.TFRecordDataset(f"{url}/b", "GZIP")) == [b"three"]
    with pytest.raises(KeyError), ps.io.TFRecordWriter(f"{url}/c"):
        raise KeyError("c")
    assert sorted(contents()) == ["a.txt", "b"]


def test_a_dataset_is_saved_and_loaded(folder):
    url, contents = folder
    rows = ps.Dataset.from_tensor_slices(
        {"x": np.arange(5000), "y": np.arange(10000.0).reshape(-1, 2)}
    )
    rows.save(f"{url}/saved", shard_func=lambda row: row["x"] % 3)
    assert len(contents()) == 4
    loaded = ps.Dataset.load(f"{url}/saved")
    assert sorted(int(row["x"]) for row in loaded) == list(range(5000))
    assert loaded.cardinality() == 5000
    shuffled = [int(row["x"]) for row in loaded.shuffle(5000, seed=1).take(50)]
    assert len(set(shuffled)) == 50
    each = ps.Dataset.load(f"{url}/saved", reader_func=lambda files: files.interleave(lambda f: f))
    assert sorted(int(row["x"]) for row in each) == list(range(5000))


def test_a_save_replaces_the_one_before_and_nothing_else(folder):
    url, contents = folder
    ps.Dataset.range(10).save(f"{url}/saved", shard_func=lambda x: x % 2)
    ps.Dataset.range(3).save(f"{url}/saved", compression="ZLIB")
    assert len(contents()) == 2
    assert [int(x) for x in ps.Dataset.load(f"{url}/saved")] == [0, 1, 2]
    ps.io.write_file(f"{url}/saved/notes.txt", "mine")
    with pytest.raises(FileExistsError, match="is no saved dataset, or has other files in it"):
        ps.Dataset.range(3).save(f"{url}/saved")
    assert "saved/notes.txt" in contents()


def test_a_save_that_fails_leaves_nothing(folder):
    url, contents = folder
    with pytest.raises(KeyError):
        ps.Dataset.range(10).map(fails_at(7)).save(f"{url}/saved")
    assert contents() == {}
    with pytest.raises(FileNotFoundError):
        ps.Dataset.load(f"{url}/saved")


def test_a_cache_is_filled_once(folder):
    url, contents = folder
    calls = []
    ds = ps.Dataset.range(100).map(lambda x: calls.append(1) or x).cache(f"{url}/a.cache")
    it = iter(ds)
    next(it)
    it.close()
    assert contents() == {}
    for _ in range(3):
        assert [int(x) for x in ds] == list(range(100))
    assert list(contents()) == ["a.cache"]
    assert len(calls) <= 102 + 100


def test_a_cache_does_not_replace_what_is_something_else(folder):
    url, contents = folder
    ps.io.write_file(f"{url}/a.cache", "mine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(FileExistsError, match="is no cache"):
            list(ps.Dataset.range(3).cache(f"{url}/a.cache"))
    assert contents()["a.cache"] == b"mine"


def test_a_snapshot_is_made_once(folder):
    url, contents = folder
    calls = []
    ds = ps.Dataset.range(20).map(lambda x: calls.append(1) or x).snapshot(url)
    for _ in range(3):
        assert [int(x) for x in ds] == list(range(20))
    assert len(contents()) == 2
    assert len(calls) <= 42


def test_nothing_is_left_on_this_machine(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    url, _ = folder
    ps.Dataset.range(10).save(f"{url}/saved")
    list(ps.Dataset.range(10).cache(f"{url}/cache"))
    with pytest.raises(KeyError):
        ps.Dataset.range(10).map(fails_at(7)).save(f"{url}/other")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_temporary_folder_that_others_may_use_is_rejected(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    url, contents = folder
    ps.Dataset.range(10).save(f"{url}/saved")
    (staging,) = tmp_path.iterdir()
    assert staging.stat().st_mode & 0o777 == 0o700
    before = contents()
    for mode in (0o777, 0o750, 0o710, 0o701, 0o1777):
        staging.chmod(mode)
        with pytest.raises(PermissionError, match="other users may enter") as caught:
            ps.Dataset.range(10).save(f"{url}/refused")
        assert caught.value.filename == str(staging)
    staging.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    staging.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="folder of another user"):
        ps.Dataset.range(10).save(f"{url}/refused")
    assert contents() == before
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_writer_that_is_dropped_leaves_nothing(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    url, _ = folder
    writer = ps.io.TFRecordWriter(f"{url}/dropped")
    writer.write(b"a")
    assert len(list(tmp_path.iterdir())) == 1
    del writer
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("beside", [True, False])
def test_an_index_is_made_where_the_files_are(folder, beside):
    url, contents = folder
    ps.io.write_file(f"{url}/a.txt", "one\ntwo\nthree\n")
    where = None if beside else f"{url}/indexes"
    for _ in range(2):
        assert ps.index(f"{url}/a.txt", index_dir=where) == {f"{url}/a.txt": 3}
    assert len(contents()) == 2
    lines = ps.TextLineDataset(f"{url}/a.txt", indexed=where or True)
    assert list(lines[[2, 0]]) == [b"three", b"one"]
    ps.io.write_file(f"{url}/b.txt.psindex", "mine")
    ps.io.write_file(f"{url}/b.txt", "one\n")
    with pytest.raises(FileExistsError, match="an index was expected there"):
        ps.index(f"{url}/b.txt")


def test_shards_and_arrays_go_to_a_store_and_back(folder):
    folder = folder[0]
    records = ps.Dataset.from_tensor_slices([b"%d" % i for i in range(5)])
    names = records.write_tfrecords(f"{folder}/a.tfrecord", shards=2)
    assert names == [f"{folder}/a-0000{i}-of-00002.tfrecord" for i in range(2)]
    read = ps.TFRecordDataset(names, num_parallel_reads=2)
    assert list(read) == list(records)
    rows = np.arange(6).reshape(3, 2)
    for name, write in (("a.npy", np.save), ("a.npz", lambda file, x: np.savez(file, x=x))):
        content = io.BytesIO()
        write(content, rows)
        ps.io.write_file(f"{folder}/{name}", content.getvalue())
    assert (ps.NumpyDataset(f"{folder}/a.npy").batch(3).first() == rows).all()
    assert (ps.NumpyDataset(f"{folder}/a.npz").batch(3).first()["x"] == rows).all()
