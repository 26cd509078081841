"""Samples of tar archives in WebDataset format: TarDataset."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked
from penstock.arguments.checks import is_symbol
from penstock.dataset import AUTOTUNE, Dataset
from penstock.errors import DataError, TraceError
from penstock.on_error import MAX_ERRORS, OnError
from penstock.ops.call import call
from penstock.ops.features import encoded
from penstock.ops.image import decode_image
from penstock.ops.native import NativeFunction, native
from penstock.ops.strings import to_number
from penstock.paths import Names
from penstock.sources.braces import expanded
from penstock.sources.files import file_args, read_files
from penstock.sources.named import Named
from penstock.sources.source import Source
from penstock.stages.map import map_for
from penstock.structure import TensorSpec

__all__ = ["TarDataset"]

_KEY, _URL = "__key__", "__url__"
_BYTES, _TEXT, _NUMBER = range(3)  # output formats of io.tar_fields


class TarDataset(Source):
    """Read samples from tar archives; files with the same key form a sample, as in WebDataset.

    The key of a file is its path up to the first dot in the base name. The rest is the name of its
    field, in lower case: ``train/01.jpg`` and ``train/01.cls`` are the fields ``"jpg"`` and
    ``"cls"`` of the sample ``"train/01"``. Files with the same key must be adjacent in the archive.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The archives. A str may be a brace pattern: ``"shard-{000..099}.tar"``,
        ``"{train,val}.tar"``; a path, and names in a `Dataset`, are taken literally.
    fields : str, or nested tuples and dicts of str, optional
        The fields of an element, with its nesting. For example, ``("jpg", "cls")`` yields pairs,
        and ``{"image": "jpg;png"}`` yields dicts with the first of these fields that a sample has.
        ``"__key__"`` and ``"__url__"`` are the key and the name of the archive. None yields a dict
        of all fields of a sample, including both of these.
    decode : bool or mapping
        False yields contents as `bytes`. True decodes by extension (the part after the last dot);
        see below. A mapping contains, for each extension (``"jpg"``, or ``"seg.png"`` for the end
        of longer fields), a function of the contents, or True for the default decoder; others
        remain `bytes`.
    compression_type : str, optional
        "GZIP", "ZLIB", "ZSTD", or "" for none; None chooses by name: ``.tar.gz``, ``.tgz``,
        ``.tar.zst``.
    buffer_size, num_parallel_reads, name, on_error, max_errors
        As in `TFRecordDataset`. Decoding errors count too.
    max_record_bytes : int, optional
        Maximum size of a sample in bytes, with headers; otherwise as in `TFRecordDataset`.
    indexed : bool, str or path
        As in `TFRecordDataset`: samples are read by position, with the indexes written by `index`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Warns
    -----
    RuntimeWarning
        While iterating, at the end of an archive without the terminating zeros: it may be truncated
        between two samples. (Programs that never close their writer also omit the zeros.) Also if
        the zeros are followed by bytes that are not another archive; these are not read.

    Raises
    ------
    OSError
        While iterating, at the position of an archive that cannot be read; the next one follows.
    DataError
        While iterating. If a sample lacks a requested field, has two files for a field or contains
        sparse files, the next sample follows. If a header is damaged, or an archive ends within a
        sample, the next archive follows.
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    With `fields`, `element_spec` is known without reading. Reading and decoding run without the
    GIL, except when decoding JSON or NumPy files or calling your own functions that are not
    `native`. Without `fields`, each sample is built in Python, samples may have different fields,
    and `element_spec` describes the first one.

    ===================================  ==========================================================
    extension                            with ``decode=True``
    ===================================  ==========================================================
    jpg, jpeg, png, gif, bmp, webp       uint8 array, shape ``(height, width, 3)`` (the first
                                         frame); the content determines the format
    cls, cls2, index, inx, id            int64
    txt, text, transcript                str
    json, jsn                            the Python object; a list becomes an array
    npy                                  array; object arrays are rejected
    npz                                  dict of arrays
    ===================================  ==========================================================

    ustar, pax and GNU archives are read, including all archives in a file that concatenates several
    (``cat a.tar b.tar``, with or without compression). A sample ends with its archive. The checksum
    of a compressed archive is verified after its last sample. Folders, links, hidden files, files
    without a dot, and files whose path begins with a name such as ``__meta__`` are skipped. Images
    are decoded in parallel, in order. `shuffle` buffers positions for archives with
    ``indexed=True``, and elements for others. To buffer `bytes` rather than pixels, omit `decode`
    and use `map` after the shuffle. A saved state holds the byte position of the next sample.

    Examples
    --------
    >>> import io, tarfile
    >>> pets = {"0.txt": b"Tom", "0.cls": b"3", "1.txt": b"Ida", "1.cls": b"7"}
    >>> with tarfile.open("pets.tar", "w") as archive:
    ...     for name, data in pets.items():
    ...         info = tarfile.TarInfo(name)
    ...         info.size = len(data)
    ...         archive.addfile(info, io.BytesIO(data))
    >>> list(ps.TarDataset("pets.tar", ("txt", "cls"), decode=True))
    [('Tom', np.int64(3)), ('Ida', np.int64(7))]
    >>> ps.TarDataset("pets.tar").first()
    {'__key__': '0', '__url__': 'pets.tar', 'txt': b'Tom', 'cls': b'3'}
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        fields: Any = None,
        *,
        decode: bool | Mapping[str, Any] = False,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        max_record_bytes: int | None = None,
        indexed: bool | Names = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if is_symbol(filenames):
            raise TraceError(
                "TarDataset: a native function cannot open archives; give their names as a "
                "Dataset, or drop @ps.native"
            )
        decoders = _Decoders(decode)
        wanted = None if fields is None else _Wanted(fields, decoders)
        args = file_args("TarDataset", compression_type, buffer_size, max_record_bytes)
        if compression_type is None:
            del args["compression_type"]
        if wanted is None or _URL in wanted.fields.names:
            args["with_filename"] = True
        records = read_files(
            "tar_sample", _all(filenames), args, num_parallel_reads, name=name, indexed=indexed
        )
        made = _everything(records, decoders, name) if wanted is None else wanted.of(records, name)
        self._become(made._without_errors("TarDataset", on_error, max_errors))


def _all(filenames: Any) -> Any:
    if isinstance(filenames, str):
        names = expanded("TarDataset", filenames)
        return names if len(names) > 1 else names[0]
    if isinstance(filenames, (list, tuple)):
        each = (expanded("TarDataset", n) if isinstance(n, str) else [n] for n in filenames)
        return [name for names in each for name in names]
    return filenames


class _Decoder(NamedTuple):
    """The conversion of a field's contents to its value."""

    function: Callable[[Any], Any]
    native: bool = False  # whether it can be traced
    spec: TensorSpec | None = None  # spec of the result, if known
    form: int = _BYTES  # output format of the engine; if not bytes, it is already the value
    slow: bool = True  # whether it is worth a separate thread
    own: bool = False  # whether it is a user's function


def _image(contents: Any) -> Any:
    return decode_image(contents, channels=3, expand_animations=False)


def _object(contents: bytes) -> Any:
    # A zero-dimensional array, so that a dict is a value and not the nesting of an element.
    value = np.empty((), object)
    value[()] = json.loads(contents)
    return value


def _array(contents: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(contents), allow_pickle=False)


def _arrays(contents: bytes) -> dict[str, Any]:
    if not zipfile.is_zipfile(io.BytesIO(contents)):
        raise ValueError("this is no npz file, or it is cut off")
    with zipfile.ZipFile(io.BytesIO(contents)) as file:
        # Overlapping members decompress to many times the size of the file.
        if sum(info.compress_size for info in file.infolist()) > len(contents):
            raise ValueError("its arrays overlap")
    with np.load(io.BytesIO(contents), allow_pickle=False) as arrays:
        return dict(arrays)


_IMAGE = _Decoder(_image, native=True, spec=TensorSpec((None, None, 3), np.uint8))
_LABEL = _Decoder(
    functools.partial(to_number, out_type=np.int64),
    native=True,
    spec=TensorSpec((), np.int64),
    form=_NUMBER,
    slow=False,
)
_WORDS = _Decoder(bytes.decode, native=True, spec=TensorSpec((), str), form=_TEXT, slow=False)
_OBJECT = _Decoder(_object, spec=TensorSpec(None, object), slow=False)
_USUAL = {
    **dict.fromkeys(("jpg", "jpeg", "png", "gif", "bmp", "webp"), _IMAGE),
    **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), _LABEL),
    **dict.fromkeys(("txt", "text", "transcript"), _WORDS),
    **dict.fromkeys(("json", "jsn"), _OBJECT),
    "npy": _Decoder(_array, slow=False),
    "npz": _Decoder(_arrays, slow=False),
}


class _Decoders:
    """The decoders selected by `decode`, by extension."""

    def __init__(self, decode: Any) -> None:
        if isinstance(decode, (bool, np.bool_)):
            self._known = dict(_USUAL) if decode else {}
            return
        if not isinstance(decode, Mapping):
            raise TypeError(
                "TarDataset: decode must be True, False or a mapping from extensions to functions, "
                f"got {decode!r:.200}"
            )
        self._known = dict(_own(*item) for item in decode.items())

    def __bool__(self) -> bool:
        return bool(self._known)

    def of(self, field: str) -> _Decoder | None:
        """Return the decoder of a field: of ``"seg.png"`` if it exists, otherwise of ``"png"``."""
        while True:
            if field in self._known:
                return self._known[field]
            _, dot, field = field.partition(".")
            if not dot:
                return None


def _own(extension: Any, function: Any) -> tuple[str, _Decoder]:
    if not isinstance(extension, str):
        raise TypeError(f"TarDataset: decode: an extension must be a str, got {extension!r}")
    key = extension.lower().lstrip(".")
    if function is True:
        if key not in _USUAL:
            raise ValueError(
                f"TarDataset: decode: True was given for {extension!r}, and there is no usual "
                f"decoder of it; there is one of {', '.join(_USUAL)}"
            )
        return key, _USUAL[key]
    if isinstance(function, NativeFunction):
        return key, _Decoder(function.__wrapped__, native=True, own=True)
    if not callable(function):
        raise TypeError(
            f"TarDataset: decode[{extension!r}] must be a function or True, got {function!r}"
        )
    return key, _Decoder(function, own=True)


class _Wanted:
    """The fields of elements that all have the same fields."""

    def __init__(self, fields: Any, decoders: _Decoders) -> None:
        self.fields = Named("TarDataset", "fields", fields)
        self._decoders = [self._decoder(name, decoders) for name in self.fields.names]

    @staticmethod
    def _decoder(name: str, decoders: _Decoders) -> _Decoder | None:
        if name in (_KEY, _URL):
            return None
        found = {decoders.of(each.lower()) for each in name.split(";")}
        if len(found) > 1:
            raise ValueError(
                f"TarDataset: the fields {name!r} stand for one another, and must be decoded in "
                "the same way; give decode one function for all of them"
            )
        return found.pop()

    def of(self, records: Dataset, name: str | None) -> Dataset:
        """Return the elements built from samples."""
        known = [each for each in self._decoders if each is not None]
        later = any(not each.native for each in known)
        calls = AUTOTUNE if any(each.slow for each in known) else None
        first = native(_Contents(self.fields, self._decoders, not later))
        now = calls if any(each.native for each in known) else None
        dataset = map_for("TarDataset", records, first, now, name=name)
        if later:
            values = _Values(self.fields, self._decoders)
            dataset = map_for("TarDataset", dataset, values, calls, name=name)
        specs = [self._spec(*each) for each in zip(self.fields.names, self._decoders, strict=True)]
        if all(spec is not None for spec in specs):
            dataset._node.set_spec(_core.Spec(self.fields.nest(specs)))
        return dataset

    @staticmethod
    def _spec(name: str, decoder: _Decoder | None) -> TensorSpec | None:
        if decoder is not None:
            return decoder.spec
        return TensorSpec((), str if name in (_KEY, _URL) else bytes)


class _Contents:
    """Extract the contents of fields from a record natively, and run native decoders.

    If other decoders follow, return the values as a flat tuple, with the key of the sample last.
    """

    def __init__(self, fields: Named, decoders: list[_Decoder | None], nested: bool) -> None:
        self.fields = fields
        self.decoders = decoders
        self.nested = nested

    def __call__(self, *element: Any) -> Any:
        """Take a record, preceded by its file name if requested."""
        names = self.fields.names
        inside = [i for i, name in enumerate(names) if name != _URL]
        values: list[Any] = [element[0]] * len(names)
        asked = [names[i] for i in inside]
        forms = [self._form(i) for i in inside]
        if not asked or not self.nested:
            asked, forms = [*asked, _KEY], [*forms, _BYTES]
        found = call(
            "io.tar_fields",
            [element[-1]],
            {"fields": _core.Value((encoded(asked),), False), "forms": forms},
        )
        found = found if len(asked) > 1 else (found,)
        for i, value in zip(inside, found, strict=False):
            decoder = self.decoders[i]
            now = decoder is not None and decoder.native and decoder.form == _BYTES
            values[i] = decoder.function(value) if decoder is not None and now else value
        return self.fields.nest(values) if self.nested else (*values, found[-1])

    def _form(self, number: int) -> int:
        decoder = self.decoders[number]
        return _BYTES if decoder is None else decoder.form


class _Values:
    """Run the decoders that are not native."""

    def __init__(self, fields: Named, decoders: list[_Decoder | None]) -> None:
        self.fields = fields
        self.decoders = decoders

    def __call__(self, *contents: Any) -> Any:
        """Take the output of `_Contents`."""
        *values, key = contents
        for i, decoder in enumerate(self.decoders):
            if decoder is not None and not decoder.native:
                values[i] = _decoded(key, self.fields.names[i], decoder, values[i])
        return self.fields.nest(values)


class _Everything:
    """Convert a record to a dict of all its fields."""

    def __init__(self, decoders: _Decoders) -> None:
        self.decoders = decoders

    def __call__(self, url: str, record: bytes) -> dict[str, Any]:
        """Take a record, preceded by its file name."""
        key, fields, contents = call("io.tar_members", [record])
        sample = {_KEY: key, _URL: url}
        for field, value in zip(fields, contents, strict=True):
            decoder = self.decoders.of(field)
            sample[field] = value if decoder is None else _decoded(key, field, decoder, value)
        return sample


def _everything(records: Dataset, decoders: _Decoders, name: str | None) -> Dataset:
    calls = AUTOTUNE if decoders else None
    return map_for("TarDataset", records, _Everything(decoders), calls, name=name)


def _decoded(key: str, field: str, decoder: _Decoder, contents: bytes) -> Any:
    try:
        return decoder.function(contents)
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        if decoder.own:
            error.add_note(f"TarDataset: while the field {field!r} of {str(key)!r} was decoded")
            raise
        raise DataError(
            f"TarDataset: sample {str(key)!r}: the field {field!r} cannot be decoded: {error}"
        ) from None
