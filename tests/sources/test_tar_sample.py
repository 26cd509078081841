"""TarDataset: samples from archives written by tarfile, grouped by WebDataset's rules."""

import io
import itertools
import json
import pickle
import re
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_fits, assert_same
from contract import DatasetContract, steps
from penstock.sources.braces import expanded
from records import COMPRESS, COMPRESSIONS, PLAIN_AND_COMPRESSED, in_turn, needs_zstd

IMAGE = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)
FORMS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def tar(files, form="pax", **attributes):
    """Return an archive of (name, contents) pairs; contents of None make a folder."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=FORMS[form], **attributes) as archive:
        for name, contents in files:
            info = tarfile.TarInfo(name)
            if contents is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(contents, str):
                info.type, info.linkname = tarfile.SYMTYPE, contents
            else:
                info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents) if isinstance(contents, bytes) else None)
    return made.getvalue()


def groups_of(data):
    """Return keys with their (field, contents) pairs, read with Python's tarfile."""
    found = []
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            named = re.fullmatch(r"((?:.*/|)[^./]+)[.]([^/]*)", member.name)
            if not member.isreg() or not named or re.match(r"__[^/]*__($|/)", member.name):
                continue
            key, field = named.groups()
            if not found or found[-1][0] != key:
                found.append((key, []))
            found[-1][1].append((field.lower(), archive.extractfile(member).read()))
    return found


def samples_of(data, url):
    """Return WebDataset's samples of an archive."""
    return [{"__key__": key, "__url__": url, **dict(files)} for key, files in groups_of(data)]


SHARDS = [
    [("a/0.txt", b"zero"), ("a/0.cls", b"0"), ("a/1.txt", b""), ("a/1.cls", b"1\n")],
    [],
    [("b/2.txt", b"x" * 5000), ("b/2.cls", b"2")],
    [(f"c/{i}.{field}", b"%d" % i) for i in range(3, 9) for field in ("txt", "cls", "npy")],
]
ROWS = [
    [(f"{k}", t, int(c)) for k, t, c in rows]
    for rows in (
        [("a/0", b"zero", 0), ("a/1", b"", 1)],
        [],
        [("b/2", b"x" * 5000, 2)],
        [(f"c/{i}", b"%d" % i, i) for i in range(3, 9)],
    )
]
SUFFIX = {None: "", "GZIP": ".gz", "ZLIB": ".zlib", "ZSTD": ".zst"}


def write(folder, shards, compression=None):
    paths = []
    for i, files in enumerate(shards):
        path = folder / f"{i}.tar{SUFFIX[compression]}"
        path.write_bytes(COMPRESS[compression](tar(files)))
        paths.append(str(path))
    return paths


@pytest.fixture(scope="module", params=PLAIN_AND_COMPRESSED)
def shards(request, tmp_path_factory):
    return write(tmp_path_factory.mktemp("shards"), SHARDS, request.param)


class OfFiles(DatasetContract):
    """The contract for plain and compressed archives written by a fixture."""

    @pytest.fixture(autouse=True)
    def _files(self, shards):
        type(self).files = shards


class TestOneArchive(OfFiles):
    @classmethod
    def build(cls):
        return ps.TarDataset(cls.files[3], "txt")

    expected = [text for _, text, _ in ROWS[3]]


class TestManyArchives(OfFiles):
    @classmethod
    def build(cls):
        fields = {"key": "__key__", "pair": ("txt", "cls")}
        return ps.TarDataset(cls.files, fields, decode={"cls": True}, buffer_size=1)

    expected = [
        {"key": key, "pair": (text, np.int64(number))}
        for key, text, number in itertools.chain(*ROWS)
    ]


class TestParallelReads(OfFiles):
    @classmethod
    def build(cls):
        return ps.TarDataset(cls.files, ("__key__", "txt"), num_parallel_reads=3)

    expected = [(key, text) for key, text, _ in in_turn(ROWS, 3)]


class TestWholeSamples(OfFiles):
    @classmethod
    def build(cls):
        return ps.TarDataset(cls.files[:3])

    @classmethod
    def expected(cls):
        return [
            sample
            for path, files in zip(cls.files, SHARDS[:3], strict=False)
            for sample in samples_of(tar(files), path)
        ]

    def test_element_spec_accepts_every_element(self):
        """The spec is inferred from the first sample; later ones may have other fields."""
        ds = self.build()
        assert_fits(ds.element_spec, next(iter(ds)))


def written(tmp_path, data, name="a.tar"):
    (tmp_path / name).write_bytes(data)
    return str(tmp_path / name)


names = st.one_of(
    st.text("ab./_é", min_size=1, max_size=9),
    st.builds(
        "{}/{}.{}".format, st.sampled_from("dé"), st.integers(0, 2), st.sampled_from(["A", "b.c"])
    ),
    st.builds(lambda n, e: "long" * n + e, st.integers(20, 70), st.sampled_from([".x", "/y.z"])),
    st.sampled_from(["__info__", "__meta__/a.b", "./a.b", "a.b", "a.c", "d/.hidden"]),
)
contents = st.one_of(
    st.binary(max_size=9), st.integers(500, 1600).map(bytes), st.none(), st.just("a")
)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(names, contents), max_size=8), st.sampled_from([*FORMS]), st.integers(1, 99)
)
def test_samples_are_those_of_webdataset_rules(tmp_path_factory, files, form, buffer_size):
    files = [(name.strip("/") or "x", data) for name, data in files]
    try:
        data = tar(files, form)
    except ValueError:  # a name that is too long for ustar
        return
    path = written(tmp_path_factory.getbasetemp(), data)
    wanted = samples_of(data, path)
    came = steps(iter(ps.TarDataset(path, buffer_size=buffer_size)))
    assert len(came) == len(wanted)
    for sample, right, (_, pairs) in zip(came, wanted, groups_of(data), strict=True):
        if len(dict(pairs)) == len(pairs):
            assert sample == right
        else:
            assert "was expected, got two" in sample.text


def npy(array):
    made = io.BytesIO()
    np.save(made, array)
    return made.getvalue()


def npz(**arrays):
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


def overlapping(**arrays):
    """Return an npz file whose directory has the offset of the first array for all arrays."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in arrays:
            file.writestr(f"{name}.npy", npy(arrays[name]) if made.tell() == 0 else b"")
            info = file.infolist()[-1]
            first = file.infolist()[0]
            info.header_offset, info.compress_size = first.header_offset, first.compress_size
            info.file_size, info.CRC = first.file_size, first.CRC
    return made.getvalue()


DECODED = {
    "png": (ps.io.encode_png(IMAGE), IMAGE),
    "cls": (b" 12\n", np.int64(12)),
    "txt": ("é".encode(), "é"),
    "json": (json.dumps({"a": [1, {"b": None}]}).encode(), {"a": [1, {"b": None}]}),
    "npy": (npy(np.arange(4.0)), np.arange(4.0)),
    "npz": (npz(x=np.arange(2), y=np.eye(2)), {"x": np.arange(2), "y": np.eye(2)}),
    "bin": (b"\0\xff", b"\0\xff"),
}


@pytest.fixture
def every_kind(tmp_path):
    files = [(f"{i}.{field}", data) for i in range(2) for field, (data, _) in DECODED.items()]
    return written(tmp_path, tar(files))


@pytest.mark.parametrize("field", DECODED)
def test_decoding_goes_by_the_extension(every_kind, field):
    _, wanted = DECODED[field]
    for fields in (field, field.upper()):
        ds = ps.TarDataset(every_kind, fields, decode=True)
        assert_same(list(ds), [wanted, wanted])
    (first, second) = ps.TarDataset(every_kind, decode=True)
    assert_same([first[field], second[field]], [wanted, wanted])


def test_fields_are_nested_as_elements_shall_be(every_kind):
    ds = ps.TarDataset(every_kind, {"x": ("png", "bin"), "y": "cls"}, decode=True)
    assert ds.element_spec == {
        "x": (ps.TensorSpec((None, None, 3), np.uint8), ps.TensorSpec((), bytes)),
        "y": ps.TensorSpec((), np.int64),
    }
    assert_same(ds.first(), {"x": (IMAGE, b"\0\xff"), "y": np.int64(12)})
    mixed = ps.TarDataset(every_kind, ("json", ("png", "__url__")), decode=True)
    assert_same(mixed.first(), (DECODED["json"][1], (IMAGE, every_kind)))
    assert_same(pickle.loads(pickle.dumps(ds)).first(), ds.first())
    assert list(ps.TarDataset(every_kind, ("__key__",))) == [("0",), ("1",)]
    assert list(ps.TarDataset(every_kind, "__url__")) == [every_kind] * 2


def test_own_functions_decode_what_they_are_given_for(every_kind):
    ds = ps.TarDataset(
        every_kind,
        ("bin", "cls", "png", "txt"),
        decode={"bin": len, "CLS": True, ".png": ps.native(ps.image.is_jpeg)},
    )
    assert_same(ds.first(), (np.int64(2), np.int64(12), np.bool_(False), "é".encode()))


def test_the_longest_extension_decides(tmp_path):
    path = written(
        tmp_path, tar([("0.seg.bin", b"12"), ("0.all.seg.bin", b"3"), ("0.bin", b"456")])
    )
    fields = ("seg.bin", "all.seg.bin", "bin")
    ds = ps.TarDataset(path, fields, decode={"seg.bin": len, "bin": bytes.hex})
    assert_same(ds.first(), (np.int64(2), np.int64(1), "343536"))


def test_the_first_field_that_a_sample_has_is_taken(tmp_path):
    path = written(tmp_path, tar([("0.b", b"0b"), ("1.A", b"1a"), ("1.b", b"1b"), ("2.c", b"")]))
    *came, error = steps(iter(ps.TarDataset(path, "a;b")))
    assert came == [b"0b", b"1a"]
    assert "sample '2': a file 'a;b' was expected, got 'c'" in error.text


def test_the_spec_is_known_without_reading():
    ds = ps.TarDataset("nowhere.tar", ("jpg", "cls", "txt"), decode=True)
    assert ds.element_spec == (
        ps.TensorSpec((None, None, 3), np.uint8),
        ps.TensorSpec((), np.int64),
        ps.TensorSpec((), str),
    )
    assert ps.TarDataset(["a.tar"], "jpg").element_spec == ps.TensorSpec((), bytes)


def test_a_long_sample_comes_whole(tmp_path):
    files = [(f"0.{i:03d}", bytes([i]) * 50_000) for i in range(100)]
    path = written(tmp_path, tar([*files, ("1.000", b"next")]))
    for buffer_size in (None, 1):
        long, short = ps.TarDataset(path, buffer_size=buffer_size)
        assert [long[f"{i:03d}"] for i in range(100)] == [data for _, data in files]
        assert short["000"] == b"next"


@pytest.mark.parametrize("ending", [bytes(1024), bytes(512), b"", bytes(1300)], ids=len)
def test_archives_end_with_zeros_or_without(tmp_path, ending):
    data = tar([("0.a", b"x"), ("1.a", b"y" * 512)])[: 512 * 4]
    path = written(tmp_path, data + ending)
    if ending:
        assert list(ps.TarDataset(path, "a")) == [b"x", b"y" * 512]
        return
    with pytest.warns(RuntimeWarning, match=f"TarDataset: {path}: it ends without the zeros"):
        assert list(ps.TarDataset(path, "a", buffer_size=1)) == [b"x", b"y" * 512]
    with pytest.warns(RuntimeWarning, match=f"TarDataset: {path}: it ends without the zeros"):
        ps.index(path)


COMMENT = {"pax_headers": {"comment": "of the archive"}}
JOINED = {
    "joined": [tar([("a.t", b"0")]), tar([("b.t", b"1"), ("c.t", b"2" * 700)])],
    "of one key": [tar([("a.t", b"0")]), tar([("a.t", b"1")]), tar([("a.t", b"2")])],
    "long zeros": [bytes(512), tar([("a.t", b"0")]), bytes(512 * 400), tar([("b.t", b"1")])],
    "folders": [tar([("f", None)]), tar([("f", None), ("a.t", b"0"), ("g", None)]), tar([])],
    "global headers": [tar([("a.t", b"0")], **COMMENT), tar([("b.t", b"1")], **COMMENT)],
    "no zeros": [tar([("a.t", b"0")]), tar([("b.t", b"1")])[:1024]],
}


@pytest.mark.parametrize("parts", JOINED.values(), ids=JOINED)
@pytest.mark.filterwarnings("ignore:.* ends without the zeros:RuntimeWarning")
def test_joined_archives_are_read_as_with_ignore_zeros(tmp_path, parts):
    data = b"".join(parts)
    with tarfile.open(fileobj=io.BytesIO(data), ignore_zeros=True) as archive:
        files = [(m.name[:-2], archive.extractfile(m).read()) for m in archive if m.isreg()]
    path = written(tmp_path, data)
    for size in (None, 1):
        assert list(ps.TarDataset(path, ("__key__", "t"), buffer_size=size)) == files
    ps.index(path)
    indexed = ps.TarDataset(path, ("__key__", "t"), indexed=True)
    assert [indexed[i] for i in range(len(indexed))] == files
    it = iter(ps.TarDataset(path, ("__key__", "t")))
    for n in range(len(files)):
        restored = iter(ps.TarDataset(path, ("__key__", "t")))
        restored.set_state(it.get_state())
        assert list(restored) == files[n:]
        next(it)


@pytest.mark.parametrize("before", [0, 1, 2])
def test_an_archive_with_a_global_header_only_has_no_samples(tmp_path, before):
    path = written(tmp_path, bytes(512 * before) + tar([], **COMMENT))
    assert list(ps.TarDataset(path, "t")) == []
    path = written(tmp_path, bytes(512 * before) + tar([], **COMMENT) + tar([("a.t", b"0")]))
    assert list(ps.TarDataset(path, "t")) == [b"0"]


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_compressed_archives_are_joined_before_or_after_compression(tmp_path, name):
    first, second = tar([("a.t", b"0")]), tar([("b.t", b"1")])
    for data in (
        COMPRESS[name](first + second),
        *([] if name == "ZLIB" else [COMPRESS[name](first) + COMPRESS[name](second)]),
    ):
        path = written(tmp_path, data)
        assert list(ps.TarDataset(path, "t", compression_type=name)) == [b"0", b"1"]


def test_bytes_after_the_end_of_an_archive_warn(tmp_path):
    path = written(tmp_path, tar([("0.a", b"x")]) + b"rest of a download" * 40)
    with pytest.warns(RuntimeWarning, match=f"TarDataset: {path}: bytes .* follow its end"):
        assert list(ps.TarDataset(path, "a")) == [b"x"]
    with pytest.warns(RuntimeWarning, match="follow its end, at byte 10240"):
        ps.index(path)
    assert list(ps.TarDataset(path, "a", indexed=True)) == [b"x"]


def test_a_damaged_header_after_joining_is_an_error(tmp_path):
    second = bytearray(tar([("b.t", b"1")]))
    second[3] ^= 1
    path = written(tmp_path, tar([("a.t", b"0")]) + second)
    came, error = steps(iter(ps.TarDataset(path, "t")))
    assert came == b"0"
    assert error.kind == "DataError"
    assert "its header is damaged" in error.text


@pytest.mark.parametrize("size", [2**61, 2**63, 2**64 - 1536, 2**64 - 512, 2**64 - 1, 10**30])
def test_an_impossible_pax_size_is_an_error(tmp_path, size):
    record = b" size=%d\n" % size
    record = b"%d" % (len(record) + 2) + record
    data = bytearray(tar([("p", record.ljust(512)), ("0.a", b"x")]))
    data[156:157] = b"x"
    data[124:136] = b"%011o\0" % len(record)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    path = written(tmp_path, data)
    (error,) = steps(iter(ps.TarDataset(path, "a")))
    assert error.kind == "DataError"
    assert f"an impossible size of {size} bytes" in error.text
    with pytest.raises(ps.DataError, match="size"):
        ps.index(path)


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_the_checksum_after_a_compressed_archive_is_verified(tmp_path, name):
    packed = COMPRESS[name](tar([("0.a", b"x"), ("1.a", b"y")]))
    other = written(tmp_path, COMPRESS[name](tar([("2.a", b"z")])), "other")
    for data in (packed[:-4] + bytes([packed[-4] ^ 1]) + packed[-3:], packed[:-1]):
        path = written(tmp_path, data)
        *came, error, last = steps(iter(ps.TarDataset([path, other], "a", compression_type=name)))
        assert came == [b"x", b"y"][: len(came)]
        assert error.kind == "DataError"
        assert path in error.text
        assert last == b"z"


def test_a_state_at_the_end_of_an_archive_warns_no_more(tmp_path):
    path = written(tmp_path, tar([("0.a", b"x")])[: 512 * 2])
    it = iter(ps.TarDataset(path, "a"))
    next(it)
    state = it.get_state()
    with pytest.warns(RuntimeWarning, match="it ends without the zeros"):
        assert list(it) == []
    restored = iter(ps.TarDataset(path, "a"))
    restored.set_state(state)
    assert list(restored) == []


@pytest.mark.parametrize("length", [1, 511, 513, 1023, 1024 + 300, 2048 + 700, 4096 + 512])
def test_what_is_cut_off_is_an_error_at_its_place(tmp_path, length):
    data = tar([("0.a", b"x"), ("0.b", b"y" * 700), ("1.a", b"z"), ("1.b", b"z" * 600)])
    cut, other = written(tmp_path, data[:length]), written(tmp_path, tar([("2.a", b"!")]), "b.tar")
    *came, error, last = steps(iter(ps.TarDataset([cut, other], "a")))
    assert came == [b"x"] * (length > 2560 + 512)
    assert error.kind == "DataError"
    assert "was not written to its end" in error.text
    assert cut in error.text
    assert last == b"!"


def test_a_damaged_header_is_an_error_and_the_next_archive_follows(tmp_path):
    data = bytearray(tar([("0.a", b"x"), ("1.a", b"y"), ("2.a", b"z")]))
    data[2 * 512 + 3] ^= 1
    path, other = written(tmp_path, data), written(tmp_path, tar([("3.a", b"!")]), "b.tar")
    error, last = steps(iter(ps.TarDataset([path, other], "a")))
    assert "sample '0': the header of a member is damaged" in error.text
    assert error.text.endswith(f"(file {path}, byte 0)")
    assert last == b"!"
    kept = ps.TarDataset([path, other], "a", on_error="skip")
    assert list(kept) == [b"!"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "got an empty file"),
        (b"no archive" * 99, "the first 512 bytes are no header of one"),
        (COMPRESS["GZIP"](tar([("0.a", b"x")])), 'try compression_type="GZIP"'),
        (b"short", "5 bytes into the header"),
    ],
    ids=["empty", "text", "compressed", "short"],
)
def test_what_is_no_archive_is_one_error(tmp_path, data, words):
    (error,) = steps(iter(ps.TarDataset(written(tmp_path, data), "a")))
    assert error.kind == "DataError"
    assert words in error.text


def test_names_say_how_archives_are_compressed(tmp_path):
    data = COMPRESS["GZIP"](tar([("0.a", b"x")]))
    for name in ("a.tar.gz", "a.tgz"):
        assert list(ps.TarDataset(written(tmp_path, data, name), "a")) == [b"x"]
    assert list(ps.TarDataset(written(tmp_path, data), "a", compression_type="GZIP")) == [b"x"]
    plain = written(tmp_path, tar([("0.a", b"x")]), "plain.tar.gz")
    assert list(ps.TarDataset(plain, "a", compression_type="")) == [b"x"]
    (error,) = steps(iter(ps.TarDataset(plain, "a")))
    assert "a GZIP file was expected" in error.text


@needs_zstd
def test_zstd_is_known_by_its_name(tmp_path):
    path = written(tmp_path, COMPRESS["ZSTD"](tar([("0.a", b"x")])), "a.tar.zst")
    assert list(ps.TarDataset(path, "a")) == [b"x"]


def test_two_files_for_a_field_are_an_error_of_one_sample(tmp_path):
    path = written(tmp_path, tar([("0.a", b"x"), ("0.A", b"y"), ("0.b", b"z"), ("1.a", b"!")]))
    error, last = steps(iter(ps.TarDataset(path, "a")))
    assert "sample '0': one file 'a' was expected, got two" in error.text
    assert last == b"!"
    again, _ = steps(iter(ps.TarDataset(path)))
    assert "sample '0': one file 'a' was expected, got two" in again.text


def sparse(name, data):
    """Return a member as written by GNU tar --sparse, in the old format."""
    info = tarfile.TarInfo(name)
    info.size, info.type = len(data), b"S"
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + bytes(-len(data) % 512)


def test_sparse_files_are_an_error_of_one_sample(tmp_path):
    pax = {"GNU.sparse.major": "1", "GNU.sparse.name": "1.a"}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("GNUSparseFile.0/1.a")
        info.size, info.pax_headers = 3, pax
        archive.addfile(info, io.BytesIO(b"abc"))
    first = tar([("1.b", b"b")])[:1024]
    for data in (sparse("1.a", b"abc"), made.getvalue()[: 512 * 4]):
        path = written(tmp_path, first + data + tar([("2.a", b"!")]))
        error, last = steps(iter(ps.TarDataset(path, "a", on_error="raise")))[-2:]
        assert "is sparse" in error.text or "a file 'a' was expected" in error.text
        assert last == b"!"


def test_a_header_for_all_members_that_names_them_is_refused(tmp_path):
    path = written(tmp_path, tar([("0.a", b"x")], pax_headers={"path": "other.a"}))
    (error,) = steps(iter(ps.TarDataset(path, "a")))
    assert "gives one name or size to all members" in error.text
    path = written(tmp_path, tar([("0.a", b"x")], pax_headers={"comment": "made by hand"}))
    assert list(ps.TarDataset(path, "a")) == [b"x"]


def test_a_sample_longer_than_allowed_is_an_error(tmp_path):
    path = written(tmp_path, tar([("0.a", b"x" * 5000), ("1.a", b"y")]))
    (error,) = steps(iter(ps.TarDataset(path, "a", max_record_bytes=4000)))
    assert "longer than max_record_bytes, which is 4000" in error.text
    assert len(list(ps.TarDataset(path, "a", max_record_bytes=6000))) == 2


@pytest.mark.parametrize("fields", [None, "field"])
@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("json", b"{}", b"{"),
        ("npy", npy(IMAGE), npy(IMAGE)[:-1]),
        ("npz", None, b"pickled"),
        ("npz", npz(x=IMAGE), npz(x=IMAGE).replace(IMAGE.tobytes(), bytes(IMAGE.nbytes))),
        ("npz", npz(x=IMAGE), overlapping(x=IMAGE, y=IMAGE, z=IMAGE)),
        ("cls", b" 7\n", b"seven"),
        ("cls", b"-1", b"9" * 19),
        ("txt", b"word", b"\xff"),
        ("png", ps.io.encode_png(IMAGE), b"no image"),
        ("gif", None, b"no image"),
    ],
)
def test_an_error_of_decoding_names_file_and_byte(tmp_path, field, good, bad, fields):
    files = [(f"{i}.{field}", contents) for i, contents in enumerate((good, bad)) if contents]
    path = written(tmp_path, tar(files))
    with tarfile.open(path) as archive:
        offset = archive.getmembers()[-1].offset
    ds = ps.TarDataset(path, fields and field, decode=True)
    *values, error = steps(iter(ds))
    assert (len(values), error.kind) == (bool(good), "DataError")
    seen = []
    list(ps.TarDataset(path, fields and field, decode=True, on_error=lambda e, _: seen.append(e)))
    assert (seen[0].file, seen[0].offset) == (str(path), offset)
    assert f"(file {path}, byte " in str(seen[0])
    if fields is None or field not in ("png", "gif"):
        assert "sample '1'" in str(seen[0])


def test_an_error_of_a_function_of_the_user_stays_itself(tmp_path):
    path = written(tmp_path, tar([("0.json", b"{}"), ("1.json", b"{")]))
    for fields in ("json", None):
        it = iter(ps.TarDataset(path, fields, decode={"json": json.loads}))
        next(it)
        with pytest.raises(json.JSONDecodeError) as caught:
            next(it)
        notes = "\n".join(caught.value.__notes__)
        assert "while the field 'json' of '1' was decoded" in notes
        assert f"(file {path}, byte 1024)" in notes


def test_indexed_archives_give_the_same_samples_by_their_positions(tmp_path):
    odd = [("folder", None), ("README", b"first"), *SHARDS[0], ("__meta__/x.y", b""), *SHARDS[2]]
    paths = [
        written(tmp_path, tar(files, "gnu"), f"{i}.tar") for i, files in enumerate([odd, *SHARDS])
    ]
    paths.append(written(tmp_path, tar(SHARDS[0])[: 4 * 1024], "cut.tar"))
    assert list(ps.index(paths).values()) == [3, 2, 0, 1, 6, 2]
    for arguments in ({"fields": ("__key__", "txt", "__url__")}, {}, {"fields": "txt"}):
        plain = list(ps.TarDataset(paths, **arguments))
        ds = ps.TarDataset(paths, indexed=True, **arguments)
        assert len(ds) == len(plain) == 14
        assert list(ds) == plain
        assert [ds[i] for i in (13, 3, 2, 0)] == [plain[i] for i in (13, 3, 2, 0)]
        assert sorted(map(str, ds.shuffle(20))) == sorted(map(str, plain))


def test_braces_stand_for_many_archives(tmp_path):
    for i, part in itertools.product(range(8, 11), "ab"):
        written(tmp_path, tar([("0.a", b"%d%b" % (i, part.encode()))]), f"{part}-{i:03d}.tar")
    assert list(ps.TarDataset(f"{tmp_path}/a-{{008..010}}.tar", "a")) == [b"8a", b"9a", b"10a"]
    both = [f"{tmp_path}/b-008.tar", f"{tmp_path}/{{b,a}}-010.tar"]
    assert list(ps.TarDataset(both, "a")) == [b"8b", b"10b", b"10a"]
    odd = tmp_path / "{x,y}.tar"
    odd.write_bytes(tar([("0.a", b"odd")]))
    assert list(ps.TarDataset(odd, "a")) == [b"odd"]


PATTERNS = {
    "plain": ["plain"],
    "{0..2}": ["0", "1", "2"],
    "{00..2}x": ["00x", "01x", "02x"],
    "{2..0}": ["2", "1", "0"],
    "{0..9..4}": ["0", "4", "8"],
    "{-1..1}": ["-1", "0", "1"],
    "{a..e..2}": ["a", "c", "e"],
    "{a,b}{1,2}": ["a1", "a2", "b1", "b2"],
    "{a,b{1..2},}": ["a", "b1", "b2", ""],
    "{a{x,y}b}": ["{axb}", "{ayb}"],
    "{}": ["{}"],
    "{one}": ["{one}"],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_braces_mean_what_they_mean_to_a_shell(pattern):
    assert expanded("test", pattern) == PATTERNS[pattern]


@pytest.mark.parametrize("pattern", ["{", "a}", "{a,{b}", "}{"])
def test_a_brace_without_its_other_is_refused(pattern):
    with pytest.raises(ValueError, match="TarDataset: braces that are opened and closed"):
        ps.TarDataset(pattern)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"fields": ()}, ValueError, "fields must be names.*got no names"),
        ({"fields": ("a", "")}, ValueError, "got an empty one"),
        ({"fields": 3}, TypeError, "fields must be names"),
        ({"fields": "jpg;cls", "decode": True}, ValueError, "must be decoded in the same way"),
        ({"decode": 3}, TypeError, "decode must be True, False or a mapping"),
        ({"decode": {"x": 3}}, TypeError, "must be a function or True, got 3"),
        ({"decode": {"x": True}}, ValueError, "there is no usual decoder"),
        ({"decode": {1: len}}, TypeError, "an extension must be a str"),
        ({"compression_type": "LZ4"}, ValueError, 'got "LZ4"'),
        ({"num_parallel_reads": 0}, ValueError, "must be >= 1, got 0"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    with pytest.raises(error, match=words):
        ps.TarDataset("a.tar", **arguments)


def test_a_native_function_cannot_open_archives():
    names = ps.Dataset.from_tensor_slices(["a.tar"])
    with pytest.raises(ps.TraceError, match="cannot open archives"):
        list(names.flat_map(ps.native(lambda name: ps.TarDataset(name, "a"))))


def test_a_function_opens_archives(tmp_path):
    path = written(tmp_path, tar([("0.a", b"x"), ("1.a", b"y")]))
    names = ps.Dataset.from_tensor_slices([path, path])
    assert list(names.flat_map(lambda name: ps.TarDataset(name, "a"))) == [b"x", b"y"] * 2
