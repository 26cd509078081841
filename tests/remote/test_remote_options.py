"""Storage options passed with a path: their scope, and that they are stored nowhere else."""

import contextlib
import datetime
import pickle
import sqlite3

import numpy as np
import pytest

import penstock as ps
from penstock import storage_options
from penstock.remote.settings import settings_of
from records import frame

pytest.importorskip("obstore")

RECORDS = [b"one", b"two", b"three"]
SECRET = "very-secret"


def test_sources_take_them(new_bucket, options):
    url, made = new_bucket
    made.put_object(Key="a/lines.txt", Body=b"one\ntwo\n")
    made.put_object(Key="b/records.tfrecord", Body=b"".join(map(frame, RECORDS)))
    made.put_object(Key="c/fixed", Body=b"onetwo")
    made.put_object(Key="d/table.csv", Body=b"1,a\n2,b\n")
    made.put_object(Key="e/rows.jsonl", Body=b'{"x": 1}\n{"x": 2}\n')
    take = {"storage_options": options}
    assert list(ps.TextLineDataset(f"{url}/a/lines.txt", **take)) == [b"one", b"two"]
    assert list(ps.TFRecordDataset([f"{url}/b/records.tfrecord"], **take)) == RECORDS
    assert list(ps.FixedLengthRecordDataset(f"{url}/c/fixed", 3, **take)) == [b"one", b"two"]
    table = ps.experimental.CsvDataset(f"{url}/d/table.csv", [np.int64(0), ""], **take)
    assert list(table) == [(1, "a"), (2, "b")]
    signature = {"x": ps.TensorSpec((), np.int64)}
    rows = ps.JSONLinesDataset(f"{url}/e/rows.jsonl", signature=signature, **take)
    assert [int(row["x"]) for row in rows] == [1, 2]
    assert ps.io.read_file(f"{url}/a/lines.txt") == b"one\ntwo\n"


def test_folders_of_images_and_files_that_are_fetched_take_them(new_bucket, options, tmp_path):
    url, made = new_bucket
    pixels = np.full((2, 3, 3), 5, np.uint8)
    made.put_object(Key="pets/cat/0.png", Body=ps.io.encode_png(pixels))
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE t AS SELECT 3 AS x")
        database.commit()
    made.put_object(Key="bases/a.db", Body=(tmp_path / "a.db").read_bytes())
    take = {"storage_options": options}
    images = ps.Dataset.from_image_folder(f"{url}/pets", image_size=None, **take)
    (image, label), *_ = images
    assert image.tolist() == pixels.tolist()
    assert label == 0
    query = "sqlite", f"{url}/bases/a.db", "SELECT x FROM t", np.int64
    assert list(ps.experimental.SqlDataset(*query, **take)) == [3]
    module = pytest.importorskip("array_record.python.array_record_module")
    writer = module.ArrayRecordWriter(str(tmp_path / "a"), "group_size:1")
    writer.write(b"one")
    writer.close()
    made.put_object(Key="records/a", Body=(tmp_path / "a").read_bytes())
    assert list(ps.ArrayRecordDataset(f"{url}/records/a", **take)) == [b"one"]


def test_the_older_names_take_them(new_bucket, options):
    url, _ = new_bucket
    take = {"storage_options": options}
    numbers = ps.Dataset.range(3)
    ps.experimental.save(numbers, f"{url}/saved", **take)
    storage_options._by_folder.clear()  # as in a process that has not written it
    assert list(ps.experimental.load(f"{url}/saved", **take)) == [0, 1, 2]
    kept = numbers.apply(ps.experimental.snapshot(f"{url}/kept", **take))
    assert list(kept) == list(kept) == [0, 1, 2]
    name = f"{url}/records/a.tfrecord"
    ps.experimental.TFRecordWriter(name, **take).write(ps.Dataset.from_tensor_slices(RECORDS))
    assert list(ps.TFRecordDataset(name)) == RECORDS


def test_names_that_are_listed_carry_them(new_bucket, options):
    url, made = new_bucket
    for name in ("a.txt", "b.txt", "deep/c.txt"):
        made.put_object(Key=f"in/{name}", Body=name.encode())
    names = ps.Dataset.list_files(f"{url}/in/**/*.txt", shuffle=False, storage_options=options)
    expected = [b"a.txt", b"b.txt", b"deep/c.txt"]
    assert list(ps.TextLineDataset(names)) == expected
    assert list(names.map(ps.io.read_file)) == expected
    found = ps.io.matching_files(f"{url}/in/?.txt", storage_options=options)
    assert list(found) == [f"{url}/in/a.txt", f"{url}/in/b.txt"]


def test_what_is_written_takes_them(new_bucket, options):
    url, _ = new_bucket
    take = {"storage_options": options}
    ps.io.write_file(f"{url}/one/file", b"some", **take)
    assert ps.io.read_file(f"{url}/one/file", **take) == b"some"
    with ps.io.TFRecordWriter(f"{url}/two/records.tfrecord", **take) as writer:
        for record in RECORDS:
            writer.write(record)
    assert ps.index(f"{url}/two/records.tfrecord", **take) == {f"{url}/two/records.tfrecord": 3}
    assert ps.TFRecordDataset(f"{url}/two/records.tfrecord", indexed=True, **take)[1] == b"two"
    ds = ps.Dataset.from_tensor_slices(RECORDS)
    ds.save(f"{url}/three/saved", **take)
    assert list(ps.Dataset.load(f"{url}/three/saved", **take)) == RECORDS
    for _ in range(2):
        assert list(ds.cache(f"{url}/four/cache", **take)) == RECORDS
        assert list(ds.snapshot(f"{url}/five/snapshot", **take)) == RECORDS
    ds.write_tfrecords(f"{url}/six/out.tfrecord", shards=2, progress=False, **take)
    names = ps.Dataset.list_files(f"{url}/six/*", shuffle=False, **take)
    assert sorted(ps.TFRecordDataset(names)) == sorted(RECORDS)


def test_plans_states_and_what_is_pickled_have_none(server):
    server.files = {"a/lines.txt": b"one\ntwo\n"}
    url = server.urls()[0]
    take = {"storage_options": {"headers": {"authorization": SECRET}}}
    ds = ps.TextLineDataset(url, **take)
    other = ps.TextLineDataset(url)
    it = iter(ds)
    assert next(it) == b"one"
    assert server.asked[-1].headers["authorization"] == SECRET
    state = it.get_state()
    for kept in (repr(ds), pickle.dumps(ds), pickle.dumps(state)):
        assert SECRET not in (kept if isinstance(kept, str) else kept.decode("latin-1"))
    assert ds.fingerprint() == other.fingerprint()
    again = iter(other)
    again.set_state(state)
    assert list(again) == [b"two"]


def test_they_hold_for_the_folder_of_the_url_and_below(server):
    ps.remote.configure(storage_options={"timeout": 7.0, "headers": {"x": "all"}})
    server.files = {f"{name}.txt": b"" for name in ("a/one", "a/two", "a/deep/three", "b", "ab/c")}
    inside = {"headers": {"x": "inside"}}
    ps.TextLineDataset(f"{server.url}/a/one.txt", storage_options=inside)
    for url in server.urls():
        ps.io.read_file(url)
    came = {asked.path: asked.headers["x"] for asked in server.asked}
    of_a = dict.fromkeys(("a/one.txt", "a/two.txt", "a/deep/three.txt"), "inside")
    assert came == {**of_a, "b.txt": "all", "ab/c.txt": "all"}
    # Options of a broader URL prefix apply where no others were given.
    assert settings_of(f"{server.url}/a/one.txt").limits.timeout == 7.0
    assert settings_of(f"{server.url}/a/one.txt") is settings_of(f"{server.url}/a/two.txt")


def test_the_last_that_were_given_count(server):
    server.files = {"a/one.txt": b"one"}
    url = server.urls()[0]
    for value in ("first", "second"):
        ps.io.read_file(url, storage_options={"headers": {"x": value}})
        assert server.asked[-1].headers["x"] == value
    ps.io.read_file(url)
    assert server.asked[-1].headers["x"] == "second"


@pytest.mark.parametrize(
    "call",
    [
        lambda path, take: ps.TextLineDataset(path, **take),
        lambda path, take: ps.TextLineDataset(ps.Dataset.list_files(path), **take),
        lambda path, take: ps.Dataset.list_files(path, **take),
        lambda path, take: ps.io.read_file(path, **take),
        lambda path, take: ps.Dataset.range(3).cache(path.with_name("cache"), **take),
        lambda path, take: ps.experimental.snapshot(path.with_name("kept"), **take),
        lambda path, take: ps.experimental.TFRecordWriter(path, **take),
    ],
)
def test_without_a_url_they_are_an_error(tmp_path, call):
    (tmp_path / "a.txt").write_text("one\n")
    with pytest.raises(ValueError, match="storage_options come with URLs, and none was given"):
        call(tmp_path / "a.txt", {"storage_options": {"anon": True}})


def test_wrong_limits_are_an_error_of_the_call(server):
    with pytest.raises(ValueError, match="TextLineDataset: max_attempts must be an int >= 1"):
        ps.TextLineDataset(f"{server.url}/a.txt", storage_options={"max_attempts": 0})


class Renewing:
    """Credentials, the first few of them expired, and the number of requests for them."""

    def __init__(self, expired, expires):
        self.names = [*["OLD"] * expired, "NEW"]
        self.expires = expires
        self.asked = 0

    def __call__(self):
        name = self.names[min(self.asked, len(self.names) - 1)]
        self.asked += 1
        past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
        return {
            "access_key_id": name,
            "secret_access_key": SECRET,
            "token": None,
            "expires_at": past if self.expires and name == "OLD" else None,
        }


@pytest.mark.parametrize("expires", [True, False], ids=["they say so", "the server says so"])
def test_credentials_that_have_expired_are_renewed(server, expires):
    server.files = {"bucket/a/many": bytes(9 << 20)}
    server.expired = "OLD"
    provider = Renewing(1, expires)
    options = {
        "endpoint_url": server.url,
        "client_kwargs": {"region_name": "us-east-1"},
        "credential_provider": provider,
    }
    url = "s3://bucket/a/many"
    assert len(ps.io.read_file(url, storage_options=options)) == 9 << 20
    assert 2 <= provider.asked <= 3
    assert "Credential=NEW/" in server.asked[-1].headers["authorization"]


def test_credentials_that_stay_expired_are_an_error(server):
    server.files = {"bucket/a/one": b"one"}
    server.expired = "OLD"
    options = {
        "endpoint_url": server.url,
        "client_kwargs": {"region_name": "us-east-1"},
        "credential_provider": Renewing(100, False),
        "max_attempts": 3,
    }
    with pytest.raises(PermissionError, match=r"after 3 requests .*ExpiredToken"):
        ps.io.read_file("s3://bucket/a/one", storage_options=options)
