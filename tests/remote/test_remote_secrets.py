"""User names and passwords in URLs reach only the server."""

import base64
import copy
import logging
import pickle
import traceback

import pytest
from range_server import RangeServer

import penstock as ps
from penstock import storage_options
from penstock.printable import shown
from penstock.storage_options import with_user, without_user

pytest.importorskip("obstore")

USER, PASSWORD = "reader", "s3cret%21"
BASIC = "Basic " + base64.b64encode(b"reader:s3cret!").decode()


def secret(url):
    return url.replace("http://", f"http://{USER}:{PASSWORD}@")


def shows(text):
    return PASSWORD in text or "s3cret" in text


@pytest.fixture(autouse=True)
def no_users(monkeypatch):
    monkeypatch.setattr(storage_options, "_users", {})


@pytest.fixture
def lines(server):
    """Return the URL of a file with two lines."""
    server.files = {"folder/lines.txt": b"one\ntwo\n"}
    return server.urls()[0]


def test_a_password_in_a_url_reaches_the_server(server, lines):
    assert list(ps.TextLineDataset(secret(lines))) == [b"one", b"two"]
    assert {asked.headers["authorization"] for asked in server.asked} == {BASIC}
    assert ps.io.read_file(secret(lines)) == b"one\ntwo\n"


def test_a_plan_a_pickle_and_a_state_have_no_password(lines):
    ds = ps.TextLineDataset(secret(lines)).batch(1)
    it = iter(ds)
    next(it)
    state = it.get_state()
    pickled = pickle.dumps(ds)
    for text in (repr(ds), str(ds), repr(it), repr(it.stats()), ps.describe_state(state)):
        assert not shows(text)
    assert not shows(pickled.decode("latin-1"))
    assert not shows(state.decode("latin-1"))
    again = pickle.loads(pickled)  # this process knows the password
    assert [x.tolist() for x in again] == [x.tolist() for x in copy.deepcopy(ds)]


def test_errors_have_no_password(server, lines):
    server.first = {"folder/lines.txt": "forbidden"}
    with pytest.raises(OSError, match=r"folder/lines\.txt") as error:
        list(ps.TextLineDataset(secret(lines)))
    assert not shows(str(error.value) + repr(error.value) + repr(error.value.filename))
    assert not shows("".join(getattr(error.value, "__notes__", [])))
    with pytest.raises(OSError, match="gone"):
        ps.io.read_file(secret(f"{server.url}/gone"))


@pytest.mark.parametrize(
    "read",
    [
        lambda urls: urls.flat_map(ps.TextLineDataset),
        lambda urls: urls.interleave(ps.native(ps.TextLineDataset)),
        lambda urls: ps.TextLineDataset(urls),
        lambda urls: urls.map(ps.io.read_file),
    ],
)
def test_passwords_in_elements_are_not_shown(server, lines, read, caplog):
    """URLs in data are unchanged; errors, states and logs hide their secrets."""
    caplog.set_level(logging.DEBUG)
    url = secret(f"{server.url}/folder/gone.txt?X-Amz-Signature=s3cret")
    ds = read(ps.Dataset.from_tensor_slices([url]))
    it = iter(ds)
    with pytest.raises(OSError, match="gone") as error:
        next(it)
    assert list(ds.ignore_errors(log_warning=True)) == []
    assert "gone" in caplog.text
    state = it.get_state()
    texts = [str(error.value), repr(error.value.filename), caplog.text, repr(ds)]
    texts += getattr(error.value, "__notes__", [])
    texts += ["".join(traceback.format_exception_only(error.value)), repr(it), repr(it.stats())]
    for text in (*texts, state.decode("latin-1"), ps.describe_state(state)):
        assert not shows(text)
    lines = read(ps.Dataset.from_tensor_slices([secret(lines)]))
    assert b"".join(lines).startswith(b"one")


def test_a_password_applies_to_its_folder_only(server, lines):
    list(ps.TextLineDataset(secret(lines)))
    server.files["other/x"] = b"x\n"
    server.files["folder/y"] = b"y\n"
    server.asked.clear()
    list(ps.TextLineDataset(f"{server.url}/other/x"))
    assert all("authorization" not in asked.headers for asked in server.asked)
    server.asked.clear()
    list(ps.TextLineDataset(f"{server.url}/folder/y"))
    assert all(asked.headers["authorization"] == BASIC for asked in server.asked)


def test_a_password_in_the_prefix_of_configure(server, lines):
    ps.remote.configure(secret(f"{server.url}/"), storage_options={"max_attempts": 2})
    assert list(ps.TextLineDataset(lines)) == [b"one", b"two"]
    assert server.asked[-1].headers["authorization"] == BASIC


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://user:pw@host/x", "https://host/x"),
        ("https://token@host:80/x", "https://host:80/x"),
        ("ftp://user:p@ss@host/x", "ftp://host/x"),
        ("sftp://user:pw@host", "sftp://host"),
        ("https://host/a@b:c/x", "https://host/a@b:c/x"),
        ("https://host?mail=a:b@c", "https://host?mail=a:b@c"),
        ("abfs://container@account.dfs.core.windows.net/x",) * 2,
        ("github://org:repo@main/x",) * 2,
        ("hf://datasets/user/name@main/x",) * 2,
        ("s3://bucket/x",) * 2,
    ],
)
def test_passwords_are_found_in_urls(url, bare):
    assert without_user(url) == bare
    assert storage_options.note_url(url) == bare
    assert with_user(bare) == url


KEY = {"X-Api-Key": "s3cret", "Authorization": "Bearer s3cret"}


@pytest.mark.parametrize("copies", [False, True])
def test_headers_do_not_follow_a_redirect_to_another_host(server, tmp_path, copies):
    many = bytes(range(256)) * (9 << 12)
    with RangeServer(files={"many": many}) as other:
        server.elsewhere = other.url
        server.files = {"many": b""}
        server.faults = {"elsewhere": 1.0}
        folder = {"cache_dir": tmp_path / "copies"} if copies else {}
        ps.remote.configure(f"{server.url}/", storage_options={"headers": KEY}, **folder)
        assert b"".join(ps.FixedLengthRecordDataset(f"{server.url}/many", 1 << 16)) == many
        assert ps.io.read_file(f"{server.url}/many") == many
        assert server.asked
        assert other.asked
        for asked in server.asked:
            assert (asked.headers["x-api-key"], asked.headers["authorization"]) == (
                "s3cret",
                "Bearer s3cret",
            )
        for asked in other.asked:
            assert not shows(str(asked.headers))


def test_headers_follow_a_redirect_on_the_same_host(server):
    server.files = {"ab": b"", "ab.moved": b"line\n"}
    server.first = {"ab": "redirect " * 9}
    ps.remote.configure(f"{server.url}/", storage_options={"headers": KEY})
    assert list(ps.TextLineDataset(f"{server.url}/ab")) == [b"line"]
    assert {asked.headers["x-api-key"] for asked in server.asked} == {"s3cret"}


def test_a_file_without_redirects_has_its_headers(server):
    server.files = {"folder/x y": b"line\n"}
    ps.remote.configure(f"{server.url}/", storage_options={"headers": KEY})
    assert list(ps.TextLineDataset(f"{server.url}/folder/x y")) == [b"line"]
    assert {asked.headers["x-api-key"] for asked in server.asked} == {"s3cret"}
    with pytest.raises(FileNotFoundError, match="gone"):
        ps.io.read_file(f"{server.url}/gone")


SIGNED = "?X-Amz-Credential=s3cret&X-Amz-Signature=s3cret"


@pytest.mark.parametrize(
    "read",
    [
        lambda url: list(ps.TextLineDataset(f"{url}/gone{SIGNED}")),
        lambda url: ps.io.read_file(f"{url}/gone{SIGNED}"),
        lambda url: list(ps.TFRecordDataset(f"{url}/folder/lines.txt{SIGNED}")),
        lambda url: list(ps.FixedLengthRecordDataset(f"{url}/folder/lines.txt{SIGNED}", 3)),
        lambda url: list(ps.experimental.CsvDataset(f"{url}/folder/lines.txt{SIGNED}", [1])),
        lambda url: list(ps.TextLineDataset(f"{url}/folder/lines.txt{SIGNED}", "GZIP")),
        lambda url: ps.Dataset.list_files(f"{url}/gone{SIGNED}"),
        lambda url: list(ps.TextLineDataset(f"http://127.0.0.1:1/x{SIGNED}")),
        lambda url: list(ps.HDF5Dataset(f"{url}/folder/lines.txt{SIGNED}", "x")),
    ],
)
def test_errors_have_no_signature(server, lines, read):
    ps.remote.configure(storage_options={"max_attempts": 1})
    with pytest.raises((OSError, ps.DataError, ValueError)) as caught:
        read(server.url)
    error = caught.value
    trace = "".join(traceback.format_exception(error))  # includes the errors that caused it
    trace = "\n".join(line for line in trace.splitlines() if not line.startswith("    "))
    for text in (str(error), repr(error), trace, *getattr(error, "__notes__", [])):
        assert not shows(text)
    for name in ("file", "filename"):
        assert not shows(str(getattr(error, name, "")))


def test_error_handlers_and_index_files_have_no_signature(server, lines, tmp_path):
    infos = []

    def keep(error, info):
        infos.append((error, info))

    url = f"{server.url}/gone{SIGNED}"
    assert list(ps.TextLineDataset(url, on_error=keep)) == []
    assert infos
    assert not shows(repr(infos))
    ps.index(f"{lines}{SIGNED}", tmp_path, format="text")
    assert [path.name for path in tmp_path.iterdir()] == ["lines.txt.psindex"]
    assert ps.TextLineDataset(f"{lines}?X-Amz-Signature=other", indexed=tmp_path)[1] == b"two"


SHOWN = pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://host/a?sig=1", "https://host/a?..."),
        ("https://host/a?sig=1: no file", "https://host/a?...: no file"),
        ("(file https://host/a?sig=1, byte 7)", "(file https://host/a?..., byte 7)"),
        ("'http://u:p@host/a?b' and http://c/d?e", "'http://host/a?...' and http://c/d?..."),
        ("sftp://u:p@host/a?b", "sftp://host/a?b"),
        ("s3://bucket/a?b", "s3://bucket/a?b"),
        ("what? https://host/a", "what? https://host/a"),
        ("HTTPS://u@host/a?b, HTTP://p/http://u:p@h/c", "HTTPS://host/a?..., HTTP://p/http://h/c"),
        ("ftp://u:p@s@host/a@b and abfs://c@host/x", "ftp://host/a@b and abfs://c@host/x"),
        ("github://org:repo@main/x git://o:r@m/x", "github://org:repo@main/x git://o:r@m/x"),
        ("http://", "http://"),
        ("://?x@y http://host?a@b", "://?x@y http://host?..."),
    ],
)


@SHOWN
def test_urls_are_shown_without_secrets(text, expected):
    assert shown(text) == expected


@SHOWN
def test_the_engine_shows_urls_without_secrets(text, expected):
    def fail(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as caught:
        list(ps.Dataset.range(1).map(fail, name=text))
    (note,) = [note for note in caught.value.__notes__ if "://" in note]
    assert expected in note
    assert text == expected or text not in note
