"""Arguments of stages in the form that the engine takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import _core
from penstock.structure import TensorSpec


class Reader:
    """A native function that opens each file name as records of one format."""

    def __init__(self, kind: str, args: Mapping[str, Any]) -> None:
        self.kind = kind
        self.args = dict(args)

    def __repr__(self) -> str:
        return self.kind


_ENCODERS = {
    # Arrays are shared, not copied: they must not change while the dataset is used.
    "tensors": lambda value: _core.Value(value, True),
    "nesting": lambda value: _core.Value(value, False),
    "output_signature": lambda value: None if value is None else _core.Spec(value),
    "element_spec": lambda value: None if value is None else _core.Spec(value),
    "output_type": lambda value: _core.Spec(TensorSpec((), value)),
    "generator": _core.Opaque,
    "args": _core.Opaque,
}


def encode(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return `args` as the engine takes them, by the names of the arguments."""
    encoded: dict[str, Any] = {}
    for name, value in args.items():
        if isinstance(value, Reader):
            encoded[name] = _core.Reader(value.kind, encode(value.args))
        else:
            encoded[name] = _ENCODERS[name](value) if name in _ENCODERS else value
    return encoded
