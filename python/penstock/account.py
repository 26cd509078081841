"""Summaries of what determines a pipeline's data, small enough for a checkpoint."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import string
import struct
import sys
import zlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from penstock import _core
from penstock.digest import Hasher, Identity, contents_of, identity_of, name_of
from penstock.encode import Indexable, Reader
from penstock.labels import function_name, is_internal, stage_label
from penstock.paths import names_in
from penstock.printable import shown
from penstock.stage import Stage
from penstock.structure import TensorSpec
from penstock.traits import main_form, traits_of

Account = dict[str, Any]

# Functions and sizes have special rules in comparisons.
_FUNCTION = "function"
_SIZES = {"num_shards", "batch_size", ""}  # "": a digest of all arguments
_LONGEST = 48  # maximum characters of an argument that is stored verbatim
_MOST_PARTS = 12  # maximum variables that the explanation of a change names
_MOST_FILES = 8  # maximum files that are listed by name
_MOST_SIZES = 1000  # maximum files whose sizes are read
_MOST_UNPACKED = 1 << 20  # maximum bytes of a summary from a user's state
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_DIGITS += "!#$%&()*+-;<=>?@^_`{|}~"  # the digits of Base 85
_WINDOW = 12  # binary logarithm of the window in which zlib finds repetitions
_MOST_BYTES = 2000  # maximum packed size; beyond it, details are dropped


def account_of(dataset: Stage) -> bytes:
    """Summarise what determines the data of a pipeline, for `differences` to compare.

    Parameters
    ----------
    dataset : Dataset
        The pipeline.

    Returns
    -------
    bytes
        Hundreds of bytes, and at most 2,000 for all but extremely long pipelines.

    Notes
    -----
    Stages are listed once each, from the sources to the end, without prefetch, as in the engine.
    """
    nodes = _nodes(dataset)
    reading = (n for n in nodes if any(isinstance(v, Reader) for v in n._args.values()))
    read = frozenset(id(source) for node in reading for source in _sources_of_names(node))
    stages = [_stage(node, {}, read) for node in nodes]
    packed = _packed({"versions": _versions(), "stages": stages})
    if len(packed) > _MOST_BYTES:
        for stage in stages:
            args = {arg: _without_parts(said) for arg, said in stage[1].items()}
            stage[1:] = [args, *stage[2:]]
        packed = _packed({"versions": _versions(), "stages": stages})
    if len(packed) > _MOST_BYTES:
        short = [[name, {"": _digest_of_stage(args)[:4]}] for name, args, *_ in stages]
        packed = _packed({"versions": _versions(), "stages": short})
    if len(packed) > _MOST_BYTES:
        packed = _packed({"versions": _versions(), "all": _digest_of_stage(stages)})
    return packed


def versions_of(account: bytes) -> dict[str, str]:
    """Return the versions that saved a summary, by name; none if it is empty."""
    with _opened(account) as found:
        return {name: str(version) for name, version in found.get("versions", {}).items()}


def stages_of(account: bytes) -> list[str]:
    """Describe the stages of a summary; empty if it has only a digest of them.

    Returns
    -------
    list of str
        Such as ``"batch: batch_size 32, drop_remainder False"``, the source first.
    """
    lines = []
    with _opened(account) as found:
        for kind, args, *name in found.get("stages", ()):
            told = ", ".join(f"{arg} {_told(value)}" for arg, value in args.items() if arg)
            label = stage_label(kind, None, *(name or [None]))
            lines.append(f"{label}: {told}" if told else label)
    return lines


@contextlib.contextmanager
def _opened(account: bytes) -> Iterator[Account]:
    """Yield an unpacked summary; raise ValueError for a damaged one, also while it is used."""
    try:
        yield _unpacked(account) if account else {}
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError, zlib.error):
        raise ValueError(
            "describe_state: the state is damaged; use the bytes of get_state unchanged"
        ) from None


def once_only(dataset: Stage) -> str:
    """Return why a source of a pipeline cannot be iterated again, if that can be detected.

    Returns
    -------
    str
        Such as ``"from_generator: ..."``; empty if nothing is found. A generator that draws from an
        existing iterator, such as a captured variable, continues where that iterator is.
    """
    for node in _nodes(dataset):
        generator: Any = node._args.get("generator") if node._kind == "from_generator" else None
        code = getattr(generator, "__code__", None)
        if code is None:
            continue
        cells = zip(code.co_freevars, generator.__closure__ or (), strict=True)
        around = {name: contents_of(cell) for name, cell in cells}
        known = {name: generator.__globals__.get(name) for name in code.co_names}
        for name, value in (known | around).items():
            if isinstance(value, Iterator):
                return (
                    f"from_generator: the generator takes its values from {name}, a "
                    f"{type(value).__name__} that cannot begin again"
                )
    return ""


def account_of_values(owner: str, values: Mapping[str, Any]) -> bytes:
    """Summarise an object that is not a pipeline, by its named parts."""
    parts = {name: _said(value, {}) for name, value in values.items() if value is not None}
    return _packed({"versions": _versions(), "stages": [[owner, parts]]})


def differences(saved: bytes, own: bytes, sized: Collection[int] = ()) -> list[str]:
    """Describe the differences between two summaries of pipelines with the same stages.

    Parameters
    ----------
    saved : bytes
        The summary in the state.
    own : bytes
        The summary of the pipeline that restores it.
    sized : collection of int
        Indices of stages whose number of shards or batch size may differ.

    Returns
    -------
    list of str
        Such as ``"batch: batch_size 32, the state has 64"``; empty if nothing differs.
    """
    if saved == own:
        return []
    try:
        return _differences(_unpacked(saved), _unpacked(own), sized)
    except (
        AttributeError,
        KeyError,
        IndexError,
        RecursionError,
        TypeError,
        ValueError,
        zlib.error,
    ):
        raise ValueError(
            "set_state: the state is damaged; use the bytes of get_state unchanged"
        ) from None


def _differences(theirs: Account, ours: Account, sized: Collection[int]) -> list[str]:
    found = [
        f"{name}: version {ours['versions'][name]}, the state has {theirs['versions'].get(name)}"
        for name in ours["versions"]
        if ours["versions"][name] != theirs["versions"].get(name)
    ]
    another_python = ours["versions"]["python"] != theirs["versions"].get("python")
    if "all" in ours or "all" in theirs:
        same = bool(sized) or ours.get("all") == theirs.get("all")
        return found + ([] if same else ["a stage: its arguments have changed"])
    pairs = zip(ours["stages"], theirs["stages"], strict=True)
    for number, ((kind, args, *name), (before_kind, before, *_)) in enumerate(pairs):
        if kind != before_kind:
            found.append(f"{kind}: the state has {before_kind} there")
            continue
        known = args.keys() | before.keys()
        for arg in sorted(known - _SIZES if number in sized else known):
            now, then = args.get(arg, "None"), before.get(arg, "None")
            if _is_function(now) and _is_function(then):
                if now[1] != then[1] and not another_python:
                    functions = sum(_is_function(other) for other in args.values())
                    label = stage_label(kind, now[2], *(name or [None]))
                    found.append(f"{label}: {_difference_of_functions(arg, now, then, functions)}")
            elif now != then:
                label = stage_label(kind, None, *(name or [None]))
                found.append(f"{label}: {_difference(arg, now, then)}")
    return found


def _difference_of_functions(arg: str, now: Any, then: Any, functions: int) -> str:
    text = "the function has changed" if functions == 1 else f"the function {arg} has changed"
    if now[2] != then[2]:
        return f"{text}, the state has {then[2]}"
    ours, theirs = (each[3] if len(each) > 3 else {} for each in (now, then))
    changed = [part for part in ours if theirs.get(part) != ours[part]]
    changed += [part for part in theirs if part not in ours]
    named = [part for part in changed if part] + ["its code"] * ("" in changed)
    return f"{text} ({', '.join(named)})" if named else text


def _difference(arg: str, now: Any, then: Any) -> str:
    if arg == "":
        return "its arguments have changed"
    if isinstance(now, dict) and isinstance(then, dict):
        return _difference_of_files(now, then)
    ours, theirs = _told(now), _told(then)
    if ours == theirs:
        return f"the values of {arg} have changed"
    return f"{arg} {ours}, the state has {theirs}"


def _difference_of_files(now: dict[str, Any], then: dict[str, Any]) -> str:
    pairs = zip(now["first"], then["first"], strict=False)
    for i, ((ours, size), (theirs, before)) in enumerate(pairs, 1):
        if ours != theirs:
            return f"file {i} is now {ours!r}, the state has {theirs!r}"
        if size != before and min(size, before) < 0:
            missing = "is missing" if size < 0 else "was missing when the state was saved"
            return f"file {i} ({ours!r}) {missing}"
        if size != before:
            return f"file {i} ({ours!r}) has {size} bytes, the state has {before}"
    if now["count"] != then["count"]:
        return f"{now['count']} files, the state has {then['count']}"
    what = "names" if now["names"] != then["names"] else "sizes"
    return f"the {what} of files after number {len(now['first'])} have changed"


def _is_function(said: Any) -> bool:
    return isinstance(said, list) and said[0] == _FUNCTION


def _told(said: Any) -> str:
    if isinstance(said, dict):
        return f"{said['count']} files"
    if _is_function(said):
        return str(said[2])
    return said if isinstance(said, str) else f"<{said[0]}>"


def _unpacked(account: bytes) -> Account:
    found: Account = json.loads(zlib.decompressobj().decompress(account, _MOST_UNPACKED))
    return found


def _packed(account: Account) -> bytes:
    # With little memory: allocating more would take longer than everything else.
    packer = zlib.compressobj(9, zlib.DEFLATED, _WINDOW, memLevel=_WINDOW - 7)
    text = json.dumps(account, separators=(",", ":"))
    return packer.compress(text.encode()) + packer.flush()


def _versions() -> dict[str, str]:
    own = ".".join(_core.build_info()["version"].split(".")[:2])
    return {"penstock": own, "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}


def _nodes(dataset: Stage) -> list[Stage]:
    order: list[Stage] = []
    done: set[int] = set()
    stack = [dataset]  # no recursion, because chains are long
    while stack:
        node = stack[-1]
        waiting = [d for d in reversed(node._inputs) if id(d) not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if id(node) not in done:
            done.add(id(node))
            if not traits_of(node._kind).timing:
                order.append(node)
    return order


def _digest_of(dataset: Stage, known: dict[int, bytes]) -> bytes:
    """Return the digest of a dataset that a function refers to; `known` has others by id."""
    if id(dataset) not in known:
        out = Hasher()
        for node in _nodes(dataset):
            out.text(json.dumps(_stage(node, known)[:2]))
        known[id(dataset)] = out.digest()
    return known[id(dataset)]


def _digest_of_stage(found: Any) -> str:
    out = Hasher()
    out.text(json.dumps(found))
    return _short(out.digest())


def _short(digest: bytes) -> str:
    """Encode eight bytes like `base64.b85encode`, without the table of 7,000 texts it builds."""
    words = struct.unpack(">II", digest[:8])
    return "".join(_DIGITS[word // 85**i % 85] for word in words for i in range(4, -1, -1))


def _stage(node: Stage, known: dict[int, bytes], read: frozenset[int] = frozenset()) -> list[Any]:
    """Return a stage's kind, its arguments in a form for JSON, and its name if it has one.

    `read` has the ids of sources that yield the names of files that another stage reads.
    """
    name = main_form(node._kind)
    found: dict[str, Any] = {}
    traits = traits_of(node._kind)
    aside = traits.timing_arguments | traits.keeping | traits.share_states
    for arg, value in node._args.items():
        if value is None or arg in aside or (arg == "handler" and not node._args.get("decides")):
            continue
        if isinstance(value, Reader):
            name = value.kind
            found.update((key, _said(item, known)) for key, item in value.args.items())
            names = [n for source in _sources_of_names(node) for n in source._args["tensors"].flat]
            if names:
                found["files"] = _files(names)
        elif arg == traits.reads:
            found["files"] = _files([at for name in names_in(value) for at in _files_at(name)])
        elif id(node) not in read:
            found[arg] = _said(value, known, node._identities.get(arg))
    found = {arg: said for arg, said in found.items() if said is not None}
    return [name, found] if node._name is None else [name, found, node._name]


def _sources_of_names(reading: Stage) -> Iterator[Stage]:
    """Yield the sources of file names that a stage with a Reader opens."""
    for node in _nodes(reading)[:-1]:
        names = node._args.get("tensors")
        if isinstance(names, np.ndarray) and names.dtype == object:
            yield node


def _files_at(path: Any) -> list[Any]:
    """Return the files in a folder; a path that is not a folder is returned unchanged."""
    try:
        return sorted(entry.path for entry in os.scandir(path) if entry.is_file())
    except OSError:
        return [path]


def _files(names: list[Any]) -> dict[str, Any]:
    """Return the names and sizes of the first files, and digests of all names and sizes."""
    texts = [os.fsdecode(name) for name in names]
    sizes = [_size(texts[i]) for i in _some(len(texts))]
    out = Hasher()
    for i in _some(len(texts), 10 * _MOST_SIZES):
        out.text(texts[i])
    told = [[_clipped(text), size] for text, size in zip(texts[:_MOST_FILES], sizes, strict=False)]
    found = {"count": len(texts), "first": told, "names": _short(out.digest())}
    return found | {"sizes": _digest_of_stage(sizes)}


def _some(size: int, most: int = _MOST_SIZES) -> list[int]:
    """Return indices below `size`: all, or the first ones and a sample of the others."""
    if size <= most:
        return list(range(size))
    others = (_MOST_FILES + (size - 1 - _MOST_FILES) * i // most for i in range(1, most + 1))
    return [*range(_MOST_FILES), *others]


def _size(name: str) -> int:
    try:
        return os.stat(name).st_size  # noqa: PTH116
    except (OSError, ValueError):
        return -1


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else "..." + text[3 - _LONGEST :]


def _is_storable(text: str) -> bool:
    return len(text) <= _LONGEST and shown(text) == text  # without passwords or signatures


def _said(value: Any, known: dict[int, bytes], identity: Identity | None = None) -> Any:
    """Return a short value as text, and a longer one as its kind and digest."""
    if isinstance(value, type):  # usually a NumPy type, not a callable of the stage
        return np.dtype(value).name if issubclass(value, np.generic) else name_of(value)
    if isinstance(value, (bool, int, float, str, np.dtype, TensorSpec, type(None))):
        text = repr(value)
        if _is_storable(text):
            return text
    elif isinstance(value, (tuple, list)) and len(value) < _LONGEST:
        plain = all(isinstance(item, (bool, int, float, str, type(None))) for item in value)
        if plain and _is_storable(repr(value)):
            return repr(value)
    if identity is None:
        identity = identity_of(value)
    out = Hasher()
    out.bytes(identity.digest)
    for dataset in identity.datasets:
        out.bytes(_digest_of(dataset, known))
    what, digest = _summary(value), _short(out.digest())
    if what != _FUNCTION:
        return [what, digest]
    parts = {_clipped(name): _short(part)[:3] for name, part in identity.parts.items()}
    parts = dict(itertools.islice(parts.items(), _MOST_PARTS))
    name = "<function>" if is_internal(value) else _clipped(function_name(value))
    return [what, digest, name, parts]


def _without_parts(said: Any) -> Any:
    return said[:3] if _is_function(said) else said


def _summary(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name} {value.shape}"
    if isinstance(value, Indexable):
        return f"{type(value.rows).__name__} of {value.size} rows"
    if callable(value):
        return _FUNCTION
    if isinstance(value, (tuple, list, dict)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__
