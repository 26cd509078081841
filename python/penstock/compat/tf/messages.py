"""Protocol buffer messages, with the attributes and methods that programs use."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tf import wire
from penstock.compat.values import numpy_values
from penstock.errors import DataError


def _bytes(values: Iterable[Any]) -> list[bytes]:
    made = []
    for value in map(numpy_values, values):
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"{value!r} has type {type(value).__name__}, but bytes were expected")
        made.append(bytes(value))
    return made


def _floats(values: Iterable[Any]) -> list[float]:
    array = np.array(values if isinstance(values, np.ndarray) else list(values))
    if array.size and array.dtype.kind not in "biuf":
        raise TypeError(f"{values!r} are of type {array.dtype.name}, but numbers were expected")
    return list(array.astype(np.float32).ravel().tolist())


def _integers(values: Iterable[Any]) -> list[int]:
    try:
        made = [int(v) if isinstance(v, np.bool_) else operator.index(v) for v in values]
    except TypeError as error:
        raise TypeError(f"integers were expected: {error}") from None
    if made and not (min(made) >= -(1 << 63) and max(made) < 1 << 63):
        raise ValueError(f"Value out of range: {max(made, key=abs)}")
    return made


CONVERT: dict[str, Callable[[Iterable[Any]], list[Any]]] = {
    "bytes": _bytes,
    "float": _floats,
    "int64": _integers,
}


class Repeated(list[Any]):
    """A list of values of the same kind, or of messages of the same class."""

    def __init__(self, kind: str | type[Message], owner: Message | None = None) -> None:
        super().__init__()
        self._kind = kind
        self._owner = owner  # set in its parent when the list is modified, even by adding nothing

    def _converted(self, values: Iterable[Any]) -> list[Any]:
        if isinstance(self._kind, str):
            return CONVERT[self._kind](values)
        made = []
        for value in values:
            made.append(self._kind())
            made[-1].CopyFrom(value)
        return made

    def copied(self) -> Repeated:
        """Return a deep copy."""
        copy = Repeated(self._kind)
        list.extend(copy, self if isinstance(self._kind, str) else [each.copied() for each in self])
        return copy

    def append(self, value: Any) -> None:
        """Append a value."""
        super().extend(self._converted([value]))

    def extend(self, values: Iterable[Any]) -> None:
        """Append values."""
        super().extend(self._converted(values))
        if self._owner is not None:
            self._owner.SetInParent()

    MergeFrom = extend

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Insert a value before the one at `index`."""
        super().insert(index, self._converted([value])[0])

    def __setitem__(self, index: Any, value: Any) -> None:
        many = isinstance(index, slice)
        made = self._converted(value if many else [value])
        super().__setitem__(index, made if many else made[0])

    def __iadd__(self, values: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(values)
        return self

    def add(self, **given: Any) -> Any:
        """Append a message with these fields, and return it."""
        assert not isinstance(self._kind, str)
        super().append(self._kind(**given))
        return self[-1]


class MessageMap(dict[str, Any]):
    """Messages by name; accessing a missing one creates it."""

    def __init__(self, kind: type[Message]) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, key: str | bytes) -> Any:
        name = key.decode() if isinstance(key, bytes) else key
        if not isinstance(name, str):
            raise TypeError(f"a name was expected, got {key!r}")
        if name not in self:
            super().__setitem__(name, self._kind())
        return self[name]

    get_or_create = __missing__

    def __setitem__(self, key: str, value: Any) -> None:
        raise ValueError("a message is not assigned to; use CopyFrom of the one that is there")

    def copied(self) -> MessageMap:
        """Return a deep copy."""
        copy = MessageMap(self._kind)
        copy.update({key: value.copied() for key, value in self.items()})
        return copy

    def MergeFrom(self, other: Mapping[str, Any]) -> None:
        """Merge messages by name."""
        for key, value in other.items():
            self.pop(key, None)
            self[key].CopyFrom(value)


class Message:
    """A message; its class defines the fields.

    Parameters
    ----------
    **given
        Values of fields: lists, mappings or messages.
    """

    # By name: the field's number, form and kind. The forms are "list" (of values or messages),
    # "map" (of messages) and "one" (message).
    FIELDS: ClassVar[dict[str, tuple[int, str, Any]]] = {}
    ONE_OF: ClassVar[str] = ""  # name of a group of which only one field can be set
    _values: dict[str, Any]
    _explicit: bool

    def __init__(self, **given: Any) -> None:
        # _explicit: whether the message is set although it may be empty.
        self.__dict__.update(_values={}, _explicit=False)
        for name, value in given.items():
            if name not in self.FIELDS:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            if value is not None:
                self._take(name, value)

    def _take(self, name: str, value: Any) -> None:
        _, form, kind = self.FIELDS[name]
        if form != "one":
            getattr(self, name).MergeFrom(value)
        elif isinstance(value, Mapping):
            self._values[name] = kind(**value)
            self._values[name]._explicit = True
        else:
            getattr(self, name).CopyFrom(value)

    def __getattr__(self, name: str) -> Any:
        if name not in self.FIELDS:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        _, form, kind = self.FIELDS[name]
        made: Any
        if form == "one":
            made = kind()
        else:
            made = Repeated(kind, self) if form == "list" else MessageMap(kind)
        self._values[name] = made
        self.__dict__[name] = made
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.FIELDS:
            raise AttributeError(
                f"Assignment not allowed to field {name!r}: use CopyFrom, extend or append"
            )
        super().__setattr__(name, value)

    def HasField(self, field_name: str) -> bool:
        """Return whether a message field is set."""
        if field_name not in self.FIELDS or self.FIELDS[field_name][1] != "one":
            raise ValueError(f"{type(self).__name__}: {field_name!r} is no field of a message")
        held = self._values.get(field_name)
        return held is not None and (held._explicit or held._is_filled())

    def _is_filled(self) -> bool:
        return bool(self.ListFields())

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Return the name of the field of a group that is set, or None."""
        if oneof_group != self.ONE_OF:
            raise ValueError(f"{type(self).__name__} has no group {oneof_group!r}")
        return next((name for name in reversed(self._values) if self.HasField(name)), None)

    def ListFields(self) -> list[tuple[str, Any]]:
        """Return the names and values of the fields that are set."""
        held = [(name, self._values[name]) for name in self.FIELDS if name in self._values]
        one = self.WhichOneof(self.ONE_OF) if self.ONE_OF else None
        return [
            (name, value)
            for name, value in held
            if (self.HasField(name) if self.FIELDS[name][1] == "one" else value)
            and one in (None, name)
        ]

    def SetInParent(self) -> None:
        """Mark the message as set, although it is empty."""
        self.__dict__["_explicit"] = True

    def Clear(self) -> None:
        """Remove all fields."""
        for name in list(self._values):
            self.ClearField(name)

    def ClearField(self, field_name: str) -> None:
        """Remove a field."""
        self._values.pop(field_name, None)
        self.__dict__.pop(field_name, None)

    def copied(self) -> Self:
        """Return a copy."""
        copy = type(self)()
        values = {name: value.copied() for name, value in self._values.items()}
        copy.__dict__.update(values, _values=values, _explicit=self._explicit)
        return copy

    def CopyFrom(self, other_msg: Message) -> None:
        """Replace the contents with those of another message."""
        if other_msg is not self:
            self.Clear()
            self.MergeFrom(other_msg)

    def MergeFrom(self, other_msg: Message) -> None:
        """Merge the fields of another message: extend lists, and merge messages."""
        if type(other_msg) is not type(self):
            raise TypeError(f"a {type(self).__name__} was expected, got {other_msg!r}")
        self._explicit = True
        if not self._values:
            values = other_msg.copied()._values
            self.__dict__.update(values, _values=values)
            return
        for name, value in other_msg.ListFields():
            getattr(self, name).MergeFrom(value)

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the bytes of the message."""
        return b"".join(self._serialized(name, value) for name, value in self.ListFields())

    SerializePartialToString = SerializeToString

    def _serialized(self, name: str, value: Any) -> bytes:
        number, form, kind = self.FIELDS[name]
        if form == "one":
            return wire.field(number, value.SerializeToString())
        if form == "map":
            entries = (
                wire.field(1, key.encode()) + wire.field(2, each.SerializeToString())
                for key, each in value.items()
            )
            return b"".join(wire.field(number, entry) for entry in entries)
        if kind == "int64":
            return wire.field(number, wire.packed(value))
        if kind == "float":
            return wire.field(number, wire.floats(value))
        parts = value if kind == "bytes" else [each.SerializeToString() for each in value]
        return b"".join(wire.field(number, each) for each in parts)

    def ByteSize(self) -> int:
        """Return the size of the result of `SerializeToString` in bytes."""
        return len(self.SerializeToString())

    def ParseFromString(self, serialized: bytes) -> int:
        """Replace the contents with a serialised message, and return its size in bytes.

        Raises
        ------
        DataError
            If the bytes are not a valid message.
        """
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Merge the fields of a serialised message, and return its size in bytes."""
        numbers = {number: name for name, (number, _, _) in self.FIELDS.items()}
        for number, payload in wire.fields(bytes(serialized), "Example"):
            if number in numbers:
                self._parse(numbers[number], payload)
        self._explicit = True
        return len(serialized)

    def _parse(self, name: str, payload: bytes | int) -> None:
        _, form, kind = self.FIELDS[name]
        if kind == "int64":
            list.extend(getattr(self, name), wire.integers_of(payload, "Example"))
        elif not isinstance(payload, bytes):
            return  # a field of an unexpected kind counts as unknown
        elif form == "one":
            if self.ONE_OF and self.WhichOneof(self.ONE_OF) not in (None, name):
                self.Clear()
            getattr(self, name).MergeFromString(payload)
        elif form == "map":
            self._parse_entry(getattr(self, name), payload)
        elif kind == "float":
            list.extend(getattr(self, name), wire.numbers_of(payload, "<f4", "Example").tolist())
        elif kind == "bytes":
            list.append(getattr(self, name), payload)
        else:
            getattr(self, name).add().MergeFromString(payload)

    @staticmethod
    def _parse_entry(held: MessageMap, payload: bytes) -> None:
        key, value = b"", b""
        for number, each in wire.fields(payload, "Example"):
            if number == 1 and isinstance(each, bytes):
                key = each
            elif number == 2 and isinstance(each, bytes):
                value += each  # concatenated messages are merged
        try:
            name = key.decode()
        except UnicodeDecodeError:
            raise DataError(f"Example: a name in UTF-8 was expected, got {key!r}") from None
        held.pop(name, None)  # the last one with a name wins
        held[name].MergeFromString(value)

    @classmethod
    def FromString(cls, serialized: bytes) -> Self:
        """Return a message from its serialised form; see `ParseFromString`."""
        message = cls()
        message.ParseFromString(serialized)
        return message

    def IsInitialized(self) -> bool:
        """Return True: no field is required."""
        return True

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.ListFields() == other.ListFields()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return type(self).FromString, (self.SerializeToString(),)

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copied()

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    __str__ = __repr__

    def _lines(self) -> list[str]:
        made: list[str] = []
        for name, value in self.ListFields():
            _, form, kind = self.FIELDS[name]
            if form == "map":
                for key, each in sorted(value.items()):
                    entry = [f"key: {_quoted(key.encode())}", *_block("value", each._lines())]
                    made += _block(name, entry)
            elif form == "one" or not isinstance(kind, str):
                for each in [value] if form == "one" else value:
                    made += _block(name, each._lines())
            else:
                made += [f"{name}: {_shown(kind, each)}" for each in value]
        return made


def _block(name: str, lines: list[str]) -> list[str]:
    return [f"{name} {{", *(f"  {line}" for line in lines), "}"]


def _shown(kind: str, value: Any) -> str:
    if kind == "float":
        few = f"{value:.6g}"
        return few if np.float32(few) == np.float32(value) else f"{value:.9g}"
    return _quoted(value) if kind == "bytes" else str(value)


def _quoted(value: bytes) -> str:
    named = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}
    shown = (named.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in value)
    return f'"{"".join(shown)}"'


__dir__ = listing(globals())
