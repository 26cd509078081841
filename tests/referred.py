"""Values that functions refer to: pairs that make other elements."""

import argparse
import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import re
import types
import uuid

import numpy as np


@dataclasses.dataclass
class Settings:
    scale: int = 1
    unread: int = 0


@dataclasses.dataclass(frozen=True)
class FrozenSettings:
    scale: int = 1


@dataclasses.dataclass(slots=True)
class SlottedSettings:
    scale: int = 1


class PlainSettings:
    offset = 5

    def __init__(self, scale):
        self.base = scale

    @property
    def scale(self):
        return self.base

    def get(self):
        return self.scale


class Nested:
    def __init__(self, scale):
        self.inner = types.SimpleNamespace(scale=scale, owner=self)


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


def reading(settings):
    return lambda x: x * settings.scale


def calling(settings):
    return lambda x: x * settings.get()


def reading_inside(settings):
    return lambda x: x * settings.inner.scale


def naming(value):
    return lambda x: x + (value is None)


# Functions that read these of an object: the attributes that they read belong to the pipeline.
READ = {
    "namespace": (reading, types.SimpleNamespace),
    "arguments of a program": (reading, argparse.Namespace),
    "data class": (reading, Settings),
    "frozen data class": (reading, FrozenSettings),
    "data class with slots": (reading, SlottedSettings),
    "property": (reading, lambda scale: PlainSettings(scale)),
    "method": (calling, lambda scale: PlainSettings(scale)),
    "object in an object": (reading_inside, lambda scale: Nested(scale)),
}

# Values by what they consist of.
VALUES = {
    "pattern": (re.compile("[01]"), re.compile("[23]")),
    "flags of a pattern": (re.compile("a"), re.compile("a", re.IGNORECASE)),
    "range": (range(3), range(4)),
    "slice": (slice(1), slice(2)),
    "date": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "duration": (datetime.timedelta(1), datetime.timedelta(2)),
    "decimal": (decimal.Decimal("1.5"), decimal.Decimal("1.6")),
    "fraction": (fractions.Fraction(1, 2), fractions.Fraction(1, 3)),
    "uuid": (uuid.UUID(int=1), uuid.UUID(int=2)),
    "deque": (collections.deque([1]), collections.deque([2])),
    "bytearray": (bytearray(b"a"), bytearray(b"b")),
    "memory": (memoryview(b"a"), memoryview(b"b")),
    "array": (array.array("i", [1]), array.array("i", [2])),
    "array of another type": (array.array("i", [1]), array.array("h", [1])),
    "member": (Level.LOW, Level.HIGH),
}

TABLES = {
    "frame": lambda pandas, last: pandas.DataFrame({"a": [1, last], "b": ["x", "y"]}),
    "series": lambda pandas, last: pandas.Series([1, last]),
    "labels": lambda pandas, last: pandas.Series([1, 2], index=[0, last]),
}


def generator_and_numbers():
    return np.random.default_rng(1), np.random.RandomState(1), iter([1, 2])
