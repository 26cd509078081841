"""Fingerprints of pipelines: equal fingerprints mean equal elements, with known exceptions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from penstock.digest import Hasher, Identity, identity_of
from penstock.encode import Reader
from penstock.paths import names_in
from penstock.stage import ELEMENTS, Stage
from penstock.traits import main_form, traits_of


def fingerprint(dataset: Stage) -> str:
    """Return a digest of everything that determines a pipeline's elements.

    Parameters
    ----------
    dataset : Dataset
        The pipeline.

    Returns
    -------
    str
        32 hexadecimal digits, equal in other processes with the same minor version of Python.

    Notes
    -----
    See docs/guides/caching.md for what a fingerprint covers.
    """
    return _of_pipeline(dataset, {}).hex()


def _of_pipeline(dataset: Stage, digests: dict[int, bytes]) -> bytes:
    """Return the digest of a dataset; `digests` caches digests of stages by id."""
    stack = [dataset]  # no recursion, because chains are long
    while stack:
        node = stack[-1]
        waiting = [d for d in node._inputs if id(d) not in digests]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        inputs = [digests[id(d)] for d in node._inputs]
        digests[id(node)] = _node(node, inputs, digests)
    return digests[id(dataset)]


def _node(node: Stage, inputs: list[bytes], digests: dict[int, bytes]) -> bytes:
    traits = traits_of(node._kind)
    if traits.timing:
        return inputs[0]
    out = Hasher()
    out.text(main_form(node._kind))
    left_out = traits.timing_arguments | traits.keeping
    given = {name for name, value in node._args.items() if value is not None}
    for name in sorted(given - left_out):
        out.text(name)
        out.bytes(_value(node._args[name], digests, node._identities.get(name)))
    for name in _files_of(node):
        _file(out, name)
    if node._kind == ELEMENTS:
        for element in node:
            out.bytes(_value(element, {}))  # no cache: another element may get its id later
    out.bytes(b"".join(inputs))
    return out.digest()


def _value(value: Any, digests: dict[int, bytes], known: Identity | None = None) -> bytes:
    """Return the digest of an argument; for a function, as of build time if that is exact."""
    identity = known if known is not None and known.exact else identity_of(value, exact=True)
    inside = [_of_pipeline(dataset, digests) for dataset in identity.datasets]
    return identity.digest + b"".join(inside)


def _files_of(node: Stage) -> Iterable[Any]:
    """Yield the names of the files that a node reads, if they are known."""
    if read := traits_of(node._kind).reads:
        for name in names_in(node._args[read]):
            path = Path(os.fsdecode(name))
            yield from sorted(path.glob("*")) if path.is_dir() else [name]
    elif any(isinstance(value, Reader) for value in node._args.values()):
        open_ = list(node._inputs)
        while open_:
            source = open_.pop()
            open_ += source._inputs
            names = source._args.get("tensors")
            if isinstance(names, np.ndarray) and names.dtype == object:
                yield from (n for n in names.ravel() if isinstance(n, (str, bytes)))


def _file(out: Hasher, name: Any) -> None:
    """Add the size and modification time of a file."""
    out.bytes(os.fsencode(name))
    try:
        stat = os.stat(name)  # noqa: PTH116
        out.text(f"{stat.st_size} {stat.st_mtime_ns}")
    except OSError:
        out.text("missing")
