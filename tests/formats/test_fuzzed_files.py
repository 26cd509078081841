"""Readers of randomly damaged files: each yields the written data, or a documented error.

The formats of each library run in a child process, with limits on memory and on the time per try.
PENSTOCK_FUZZ_TRIES sets the number of tries, and PENSTOCK_SEED selects others. As a program,
`python tests/formats/test_fuzzed_files.py FORMAT,... FOLDER SEED TRIES [TRY]` lists the failures.
"""

import contextlib
import faulthandler
import gzip
import io
import json
import os
import random
import re
import resource
import sqlite3
import subprocess
import sys
import tarfile
import traceback
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.compat.errors import InvalidArgumentError

TRIES = int(os.environ.get("PENSTOCK_FUZZ_TRIES", "10"))
SEED = int(os.environ.get("PENSTOCK_SEED", "1"))
SECONDS = 20  # per try
MEMORY = 1 << 30  # maximum bytes that a reader may allocate for a file of a few kilobytes
# The allowed classes of errors. OSError, DataError and their subclasses are also allowed.
CLASSES = (ValueError, TypeError, ps.StateError, InvalidArgumentError)
NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]
TEXTS = [b"-1", b"0", b"2147483647", b"9223372036854775808", b"1e400", b"9" * 40]
ROWS = 12


class Form(NamedTuple):
    """A format: how a file is written and read, and the public names that may begin its errors."""

    write: object  # takes a path
    read: object  # takes the path, returns a dataset
    names: str  # separated by |
    checked: bool = False  # a checksum covers all data, so damaged data is never yielded
    needs: str = ""  # the library that must be installed


# --- changes ---


def changed(content, draw):
    """Return the content with one to three changes."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        content = _changed(content, draw)
    return content


def _changed(content, draw):
    at = draw.randrange(len(content) + 1)
    size = 1 << draw.randrange(13 if draw.random() < 0.25 else 5)
    kind = draw.randrange(9)
    if kind <= 1:
        return _put(content, at, bytes([draw.randrange(256)]))
    if kind == 2:
        return _put(
            content, at, bytes([content[at] ^ 1 << draw.randrange(8)] if at < len(content) else [])
        )
    if kind == 3:
        return content[:at]
    if kind == 4:
        return content[:at] + content[at + size :]
    if kind == 5:
        other = draw.randrange(len(content) + 1)
        return content[:at] + content[other : other + size] + content[at:]
    if kind == 6:
        return _put(content, at, bytes(size))
    if kind == 7 and (digits := list(re.finditer(rb"[0-9]+", content))):
        found = draw.choice(digits)
        return content[: found.start()] + draw.choice(TEXTS) + content[found.end() :]
    number = draw.choice(NUMBERS)
    width = draw.choice((1, 2, 4, 8))
    order = draw.choice(("little", "big"))
    return _put(content, at, (number & (1 << 8 * width) - 1).to_bytes(width, order))


def _put(content, at, new):
    return content[:at] + new + content[at + len(new) :]


# --- formats ---


def put(content, pack=bytes):
    return lambda path: path.write_bytes(pack(content))


LINES = b"".join(b"line%02d\n" % i for i in range(ROWS))
JSON = b"".join(
    json.dumps({"a": i, "b": [i / 2] * (i % 3), "c": "x" * i, "d": {"e": True}}).encode() + b"\n"
    for i in range(ROWS)
)
SIGNATURE = {
    "a": ps.TensorSpec((), np.int32),
    "b": ps.TensorSpec((None,), np.float32),
    "c": ps.TensorSpec((), str),
    "d": {"e": ps.TensorSpec((), bool)},
}
CSV = b"a,b,c\n" + b"".join(b'%d,%d.5,"t, %d"\n' % (i, i, i) for i in range(ROWS))


def records(path):
    with ps.io.TFRecordWriter(str(path)) as writer:
        for i in range(ROWS):
            writer.write(b"record %d" % i + bytes(i))


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(i):
    """Return a tf.train.Example."""
    made = b""
    for name, kind, values in (
        (b"x", 3, field(1, varint(i))),
        (b"y", 2, field(1, np.float32([i, i]).tobytes())),
        (b"z", 1, field(1, b"text %d" % i)),
    ):
        made += field(1, field(1, name) + field(2, field(kind, values)))
    return field(1, made)


def examples(path):
    with ps.io.TFRecordWriter(str(path)) as writer:
        for i in range(ROWS):
            writer.write(example(i))


FEATURES = {
    "x": ps.io.FixedLenFeature((), np.int64),
    "y": ps.io.FixedLenFeature((2,), np.float32),
    "z": ps.io.FixedLenFeature((), bytes),
}


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(save, path):
    with path.open("wb") as file:
        save(file, x=np.arange(3 * ROWS).reshape(ROWS, 3), y=np.linspace(0, 1, ROWS))


PIXELS = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)


def png():
    return bytes(ps.image.encode_png(PIXELS))


def picture(kind):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, kind)
    return file.getvalue()


def archive(path, pack=bytes):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as made:
        for i in range(4):
            arrays = io.BytesIO()
            np.savez_compressed(arrays, u=np.arange(5))
            parts = {
                "txt": b"text %d" % i,
                "cls": b"%d" % i,
                "json": b'{"i": %d}' % i,
                "npy": npy(np.arange(4)),
                "npz": arrays.getvalue(),
                "png": png(),
            }
            for extension, content in parts.items():
                info = tarfile.TarInfo(f"{i}{'n' * 120 if i == 2 else ''}.{extension}")
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
    path.write_bytes(pack(file.getvalue()))


def image(make):
    def write(path):
        (path.parent / "a").mkdir(parents=True)
        path.write_bytes(make())

    return write


def database(path):
    with contextlib.closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE t (i INTEGER, s TEXT, x REAL)")
        made.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i, "x" * i, i / 2) for i in range(40)])


def saved(compression=None):
    return lambda path: _elements().save(path, compression=compression)


def _elements():
    return ps.Dataset.range(ROWS).map(
        lambda i: {"i": i, "s": "text" * int(i), "x": np.full(int(i) % 4, i)}
    )


def plain_saved(path):
    ps.Dataset.from_tensor_slices(np.arange(3.0 * ROWS).reshape(ROWS, 3)).save(path)


def cached(path):
    list(_elements().cache(path))


def snapshotted(path):
    list(ps.Dataset.range(ROWS).snapshot(path))


def indexed(write, form):
    def both(path):
        path.mkdir()
        write(path / "data")
        ps.index(path / "data", format=form, progress=False)

    return both


def table(path):
    import pyarrow as pa

    made = pa.table(
        {
            "i": list(range(ROWS)),
            "s": ["x" * i for i in range(ROWS)],
            "l": [[i] * (i % 3) for i in range(ROWS)],
            "n": [None if i % 4 else i / 2 for i in range(ROWS)],
            "t": [{"u": i, "v": [b"b"]} for i in range(ROWS)],
            "f": pa.FixedSizeListArray.from_arrays(pa.array(range(2 * ROWS)), 2),
        }
    )
    return made.append_column("d", made["s"].dictionary_encode())


def parquet(path, **options):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table(path).drop(["t"]), path, row_group_size=5, **options)


def arrow(new, path, **options):
    import pyarrow as pa

    made = table(path)
    with (
        pa.OSFile(str(path), "wb") as file,
        getattr(pa.ipc, new)(
            file, made.schema, options=pa.ipc.IpcWriteOptions(**options)
        ) as writer,
    ):
        writer.write_table(made, 5)


def feather(path):
    import pyarrow.feather

    pyarrow.feather.write_feather(table(path), str(path))


def hdf5(path):
    import h5py

    # No text and no fletcher32: if they are damaged, the library itself loops or crashes.
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "x", data=np.arange(3 * ROWS).reshape(ROWS, 3), chunks=(4, 3), compression=1
        )
        file.create_dataset("c", data=np.arange(ROWS), chunks=(4,))
        file["g/y"] = np.arange(ROWS)


def zarr(driver):
    def write(path):
        import tensorstore

        for name, array in (
            ("x", np.arange(3 * ROWS).reshape(ROWS, 3)),
            ("y", np.arange(ROWS * 1.0)),
        ):
            store = {"driver": "file", "path": f"{path / name}/"}
            tensorstore.open(
                {"driver": driver, "kvstore": store},
                create=True,
                dtype=array.dtype.name,
                shape=array.shape,
            ).result()[...] = array

    return write


def array_record(path):
    from array_record.python.array_record_module import ArrayRecordWriter

    writer = ArrayRecordWriter(str(path), "group_size:2")
    for i in range(ROWS):
        writer.write(b"record %d" % i)
    writer.close()


def sound(path):
    from penstock.compat.tf import audio

    (path.parent).mkdir(exist_ok=True)
    path.write_bytes(bytes(audio.encode_wav(np.linspace(-1, 1, 40).reshape(20, 2), 8000).numpy()))


def zlib_saved(path):
    saved("ZLIB")(path)


def images(path, **arguments):
    return ps.Dataset.from_image_folder(path, labels=None, shuffle=False, **arguments)


FORMS = {
    "text": Form(put(LINES), ps.TextLineDataset, "TextLineDataset"),
    "text gzip": Form(
        put(LINES, gzip.compress), lambda p: ps.TextLineDataset(p, "GZIP"), "TextLineDataset"
    ),
    "text indexed": Form(
        indexed(put(LINES), "text"),
        lambda p: ps.TextLineDataset(p / "data", indexed=True),
        "TextLineDataset",
    ),
    "records": Form(records, ps.TFRecordDataset, "TFRecordDataset", True),
    "records zlib": Form(
        lambda p: (records(p), p.write_bytes(zlib.compress(p.read_bytes()))),
        lambda p: ps.TFRecordDataset(p, "ZLIB"),
        "TFRecordDataset",
        True,
    ),
    "records indexed": Form(
        indexed(records, "tfrecord"),
        lambda p: ps.TFRecordDataset(p / "data", indexed=True),
        "TFRecordDataset",
        True,
    ),
    "examples": Form(
        examples,
        lambda p: ps.experimental.make_batched_features_dataset(
            str(p), 1, FEATURES, num_epochs=1, shuffle=False
        ),
        "TFRecordDataset",  # the default of the argument `reader`
        True,
    ),
    "fixed": Form(
        put(LINES), lambda p: ps.FixedLengthRecordDataset(p, 7), "FixedLengthRecordDataset"
    ),
    "csv": Form(
        put(CSV),
        lambda p: ps.experimental.CsvDataset(p, [np.int32, np.float32, str], header=True),
        "CsvDataset",
    ),
    "make_csv": Form(
        put(CSV),
        lambda p: ps.experimental.make_csv_dataset(str(p), 2, num_epochs=1, shuffle=False),
        "make_csv_dataset",
    ),
    "json": Form(put(JSON), ps.JSONLinesDataset, "JSONLinesDataset"),
    "json signature": Form(
        put(JSON), lambda p: ps.JSONLinesDataset(p, SIGNATURE), "JSONLinesDataset"
    ),
    "json indexed": Form(
        indexed(put(JSON), "json_lines"),
        lambda p: ps.JSONLinesDataset(p / "data", SIGNATURE, indexed=True),
        "JSONLinesDataset",
    ),
    "tar": Form(archive, ps.TarDataset, "TarDataset"),
    "tar decoded": Form(archive, lambda p: ps.TarDataset(p, decode=True), "TarDataset"),
    "tar fields": Form(
        archive,
        lambda p: ps.TarDataset(p, ("txt", "cls", "json", "npy", "png"), decode=True),
        "TarDataset",
    ),
    "tar gzip": Form(
        lambda p: archive(p, gzip.compress),
        lambda p: ps.TarDataset(p, compression_type="GZIP"),
        "TarDataset",
    ),
    "tar indexed": Form(
        indexed(archive, "tar"),
        lambda p: ps.TarDataset(p / "data", "txt", indexed=True, decode=True),
        "TarDataset",
    ),
    "npy": Form(put(npy(np.arange(3.0 * ROWS).reshape(ROWS, 3))), ps.NumpyDataset, "NumpyDataset"),
    "npz": Form(lambda p: npz(np.savez, p), ps.NumpyDataset, "NumpyDataset"),
    "npz packed": Form(lambda p: npz(np.savez_compressed, p), ps.NumpyDataset, "NumpyDataset"),
    "sqlite": Form(
        database,
        lambda p: ps.experimental.SqlDataset(
            "sqlite", str(p), "SELECT i, s, x FROM t", (np.int64, str, np.float64)
        ),
        "SqlDataset",
    ),
    "saved": Form(saved(), ps.Dataset.load, "load", True),
    "saved plain": Form(plain_saved, ps.Dataset.load, "load", True),
    "saved zlib": Form(zlib_saved, ps.Dataset.load, "load", True),
    "cache": Form(cached, lambda p: _elements().cache(p), "cache", True),
    "snapshot": Form(snapshotted, lambda p: ps.Dataset.range(ROWS).snapshot(p), "snapshot", True),
    "png": Form(
        lambda p: (p.mkdir(), (p / "a.png").write_bytes(png())), images, "from_image_folder"
    ),
    "jpeg": Form(
        lambda p: (p.mkdir(), (p / "a.jpg").write_bytes(bytes(ps.image.encode_jpeg(PIXELS)))),
        images,
        "from_image_folder",
    ),
    **{
        kind: Form(
            lambda p, kind=kind: (p.mkdir(), (p / f"a.{kind}").write_bytes(picture(kind))),
            images,
            "from_image_folder",
            needs="PIL",
        )
        for kind in ("gif", "bmp", "webp")
    },
    "wav": Form(
        lambda p: (p.mkdir(), sound(p / "a.wav")),
        lambda p: _tf().keras.utils.audio_dataset_from_directory(
            str(p), labels=None, batch_size=None, shuffle=False
        ),
        "decode_wav",
    ),
    "text folder": Form(
        lambda p: (p.mkdir(), (p / "a.txt").write_bytes(LINES)),
        lambda p: _tf().keras.utils.text_dataset_from_directory(
            str(p), labels=None, batch_size=None, shuffle=False
        ),
        "text_dataset_from_directory",
    ),
    "parquet": Form(parquet, ps.ParquetDataset, "ParquetDataset", needs="pyarrow"),
    "parquet zstd": Form(
        lambda p: parquet(p, compression="zstd", write_page_checksum=True, data_page_version="2.0"),
        ps.ParquetDataset,
        "ParquetDataset",
        needs="pyarrow",
    ),
    "parquet filtered": Form(
        parquet,
        lambda p: ps.ParquetDataset(p, filters=[("i", ">", 4)]),
        "ParquetDataset",
        needs="pyarrow",
    ),
    "arrow": Form(lambda p: arrow("new_file", p), ps.ArrowDataset, "ArrowDataset", needs="pyarrow"),
    "arrow stream": Form(
        lambda p: arrow("new_stream", p), ps.ArrowDataset, "ArrowDataset", needs="pyarrow"
    ),
    "feather": Form(feather, ps.ArrowDataset, "ArrowDataset", needs="pyarrow"),
    "hdf5": Form(hdf5, lambda p: ps.HDF5Dataset(p, ["x", "c", "g/y"]), "HDF5Dataset", needs="h5py"),
    "hdf5 all": Form(hdf5, ps.HDF5Dataset, "HDF5Dataset", needs="h5py"),
    "zarr": Form(zarr("zarr"), ps.Dataset.from_zarr, "from_zarr", needs="tensorstore"),
    "zarr3": Form(zarr("zarr3"), ps.Dataset.from_zarr, "from_zarr", needs="tensorstore"),
    "array_record": Form(
        array_record, ps.ArrayRecordDataset, "ArrayRecordDataset", True, needs="array_record"
    ),
}


def _tf():
    import penstock.compat.tf as tf

    return tf


# --- the child ---


def steps(build, limit):
    """Return the elements, the errors, and whether the iterator ended within the limit."""
    elements, errors = [], []
    try:
        it = iter(build())
    except Exception as error:
        return elements, [error], True
    for _ in range(limit):
        try:
            elements.append(next(it))
        except StopIteration:
            return elements, errors, True
        except Exception as error:
            errors.append(error)
    return elements, errors, False


def frozen(value):
    """Return a hashable key of an element."""
    if isinstance(value, dict):
        return tuple((key, frozen(part)) for key, part in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(map(frozen, value))
    array = np.asarray(value)
    if array.dtype.hasobject:
        return repr(value)
    return array.dtype.str, array.shape, array.tobytes()


def wrong(form, path, error):
    """Return a description of an undocumented error, or None."""
    huge = isinstance(error, MemoryError) and "malloc of size" in str(error)  # LZ4 and zstd buffers
    if not (type(error) in CLASSES or isinstance(error, (OSError, ps.DataError)) or huge):
        return f"class {type(error).__name__}"
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    begins = re.match(rf"(\[Errno \d+\] )?({form.names})\b", text)
    # An error of an operation inside a stage begins with the name of the operation.
    if not begins and not re.search(rf"(?m)^penstock: (in stage )?({form.names})\b", text):
        return f"{form.names} is not named"
    named = [text, str(getattr(error, "filename", None)), str(getattr(error, "file", None))]
    if not any(str(path) in each for each in named):
        return "no file"
    return None


def replace(file, content, time):
    """Write a new file with the same time: HDF5 caches the metadata of open files."""
    file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    os.utime(file, ns=(time, time))


def limit_memory():
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))


def tried(name, folder, seed, numbers):
    """Try the changed files of a format; return the failures, the first of each kind."""
    form = FORMS[name]
    path = Path(folder) / name / "a"
    path.parent.mkdir(parents=True)
    form.write(path)
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    whole = {file: file.read_bytes() for file in files}
    times = {file: file.stat().st_mtime_ns for file in files}
    elements, errors, _ = steps(lambda: form.read(path), 1000)
    assert elements, errors
    assert not errors, errors
    known = set(map(frozen, elements))
    limit_memory()
    found = {}
    counts = [0, 0, 0]
    for number in numbers:
        draw = random.Random(f"{name} {seed} {number}")
        for other, content in whole.items():
            if not other.exists() or other.read_bytes() != content:
                replace(other, content, times[other])
        file = draw.choice(files)
        replace(file, changed(whole[file], draw), times[file])
        print(f"{name}, try {number}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        elements, errors, ended = steps(lambda: form.read(path), 2000)
        faulthandler.cancel_dump_traceback_later()
        counts[bool(errors)] += 1
        if not ended:
            found.setdefault("infinite", (number, f"{len(elements)} elements, {errors[-1:]}"))
        if form.checked and (bad := [e for e in elements if frozen(e) not in known]):
            found.setdefault("wrong data", (number, repr(bad)[:1000]))
        for error in errors:
            if problem := wrong(form, path, error):
                key = problem, re.sub(r"[0-9]+|'.*?'", "N", str(error))[:60]
                text = "".join(traceback.format_exception(error))
                found.setdefault(key, (number, text))
    print(f"{name}: {counts[0]} read, {counts[1]} with errors", file=sys.stderr, flush=True)
    return [
        f"--- {name}, seed {seed}, try {at}: {kind}\n{text}" for kind, (at, text) in found.items()
    ]


def main(names, folder, seed, tries, only=None):
    """Print the failures of the formats."""
    warnings.simplefilter("ignore")
    faulthandler.enable()
    numbers = range(int(tries)) if only is None else [int(only)]
    found = [each for name in names.split(",") for each in tried(name, folder, int(seed), numbers)]
    print("\n".join(found))
    return 1 if found else 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
@pytest.mark.parametrize("library", sorted({form.needs for form in FORMS.values()}))
def test_damage_is_an_error_or_harmless(tmp_path, library):
    if library:
        pytest.importorskip(library)
    names = ",".join(name for name, form in FORMS.items() if form.needs == library)
    command = [sys.executable, __file__, names, str(tmp_path / "files"), str(SEED), str(TRIES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
