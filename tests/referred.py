"""Values that functions refer to: pairs that produce different elements."""

import argparse
import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import re
import textwrap
import types
import uuid

import numpy as np

import penstock as ps


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


# Functions that read these attributes of an object: the attributes belong to the pipeline.
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

# Values by their parts.
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
    "mask": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "default": (collections.defaultdict(int), collections.defaultdict(float)),
}

TABLES = {
    "frame": lambda pandas, last: pandas.DataFrame({"a": [1, last], "b": ["x", "y"]}),
    "series": lambda pandas, last: pandas.Series([1, last]),
    "labels": lambda pandas, last: pandas.Series([1, 2], index=[0, last]),
}


def generator_and_numbers():
    return np.random.default_rng(1), np.random.RandomState(1), iter([1, 2])


# --- functions that differ because of two classes, or two objects ---


def from_text(text, k):
    """Run the text of a module with `k` in it, like an edited module; return its function."""
    scope = {"__name__": "a_program", "functools": functools, "ps": ps}
    exec(textwrap.dedent(text).replace("K", str(k)), scope)
    return scope["function"]


TEXTS = {
    "class attribute": """
        class Aug:
            scale = K
            def __call__(self, x): return x * self.scale
        function = Aug()
        """,
    "class attribute that is a list": """
        class Aug:
            scales = [K]
            def __call__(self, x): return x * self.scales[0]
        function = Aug()
        """,
    "inherited attribute": """
        class Base:
            scale = K
        class Aug(Base):
            def __call__(self, x): return x * self.scale
        function = Aug()
        """,
    "attribute by the class of self": """
        class Aug:
            scale = K
            def __call__(self, x): return x * type(self).scale
        function = Aug()
        """,
    "bound method": """
        class Meth:
            scale = K
            def m(self, x): return x * self.scale
        function = Meth().m
        """,
    "method of a metaclass": """
        class Meta(type):
            def scaled(cls, x):
                return x * K
        class C(metaclass=Meta):
            pass
        def function(x):
            return C.scaled(x)
        """,
    "class method": """
        class Meth:
            scale = K
            @classmethod
            def c(cls, x): return x * cls.scale
        function = Meth.c
        """,
    "class method of a made class": """
        Meth = type("Meth", (), {"scale": K, "c": classmethod(lambda cls, x: x * cls.scale)})
        function = Meth.c
        """,
    "made class": """
        function = (lambda C: lambda x: C.scale * x)(type("Q", (), {"scale": K}))
        """,
    "property": """
        class Aug:
            @property
            def scale(self): return K
            def __call__(self, x): return x * self.scale
        function = Aug()
        """,
    "class method that self calls": """
        class Aug:
            @classmethod
            def scale(cls): return K
            def __call__(self, x): return x * self.scale()
        function = Aug()
        """,
    "static method": """
        class Config:
            @staticmethod
            def scale(): return K
        function = lambda x: x * Config.scale()
        """,
    "object that a global names": """
        class Aug:
            scale = K
            def __call__(self, x): return x * self.scale
        AUG = Aug()
        function = lambda x: AUG(x)
        """,
    "native object": """
        class Aug:
            scale = K
            def __call__(self, x): return x * self.scale
        function = ps.native(Aug())
        """,
    "objects in a list": """
        class Aug:
            scale = K
            def apply(self, x): return x * self.scale
        def all_of(augs):
            return lambda x: [aug.apply(x) for aug in augs][0]
        function = all_of([Aug()])
        """,
    "attribute of a function": """
        def function(x): return x * function.scale
        function.scale = K
        """,
    "cached method": """
        class Aug:
            scale = K
            @functools.lru_cache
            def get(self): return self.scale
            def __call__(self, x): return x * self.get()
        function = Aug()
        """,
    "subclass of dict": """
        class Table(dict):
            def get_it(self): return self["a"] * K
        TABLE = Table(a=1)
        function = lambda x: x * TABLE.get_it()
        """,
}


def scaled_by(settings, x):
    return x * settings.scale


class ReadByItself:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * vars(self)["scale"]

    def __hash__(self):
        return self.scale


class Holder:
    def __init__(self, inner):
        self.inner = inner


def calling_one(function):
    return lambda x: function(x)


def one(function):
    return lambda k: calling_one(function(lambda x: x * k))


# For objects that a function passes on, and for wrapped functions, everything counts.
HANDED_ON = {
    "to another function": lambda k: (lambda s: lambda x: scaled_by(s, x))(Settings(k)),
    "as a default": lambda k: (lambda s: lambda x, by=s: scaled_by(by, x))(Settings(k)),
    "an attribute": lambda k: (lambda s: lambda x: scaled_by(s.inner, x))(Holder(Settings(k))),
    "asdict": lambda k: (lambda s: lambda x: x * dataclasses.asdict(s)["scale"])(Settings(k)),
    "str": lambda k: (lambda s: lambda x: x + len(str(s)))(Settings(k)),
    "f-string": lambda k: (lambda s: lambda x: x + len(f"{s}"))(Settings(k)),
    "hash": lambda k: (lambda s: lambda x: x + hash(s))(FrozenSettings(k)),
    "getattr": lambda k: (lambda s: lambda x: x * getattr(s, "sca" + "le"))(Settings(k)),
    "dict of self": ReadByItself,
    "partial": lambda k: functools.partial(scaled_by, Settings(k)),
    "lru_cache": one(functools.lru_cache),
    "cache": one(functools.cache),
    "lru_cache itself": lambda k: functools.lru_cache(lambda x: x * k),
    "singledispatch": one(functools.singledispatch),
    "vectorize": one(np.vectorize),
    "get of a dict": lambda k: {i: i * k for i in range(40)}.get,
    "get of a dict in a closure": lambda k: calling_one({i: i * k for i in range(40)}.get),
    "item of a list": lambda k: [i * k for i in range(40)].__getitem__,
    "item of a tuple": lambda k: tuple(i * k for i in range(40)).__getitem__,
}

# Long containers of plain values, of which one differs.
LONG = {
    **{
        f"list of {n}": lambda k, n=n: (lambda r: lambda x: x * r[20])(
            [0] * 20 + [k] + [0] * (n - 21)
        )
        for n in (1_000, 5_000, 99_000)
    },
    "tuple": lambda k: (lambda r: lambda x: x * r[20])((0,) * 20 + (k,) + (0,) * 4979),
    "dict": lambda k: (lambda r: lambda x: x * r[4000])(
        {i: k if i == 4000 else 0 for i in range(5000)}
    ),
    "set": lambda k: (lambda r: lambda x: x * len(r))({*range(2000), -k}),
    "partial": lambda k: functools.partial(lambda r, x: x * r[20], [0] * 20 + [k] + [0] * 979),
    "pairs": lambda k: (lambda r: lambda x: x * r[20][1])(
        [(i, k if i == 20 else 0) for i in range(5000)]
    ),
    "strings": lambda k: (lambda r: lambda x: r[700])(
        [f"{i * k if i == 700 else i}" for i in range(1000)]
    ),
}

CHANGED = {
    **{name: functools.partial(from_text, text) for name, text in TEXTS.items()},
    **{f"handed on: {name}": make for name, make in HANDED_ON.items()},
    **{f"long: {name}": make for name, make in LONG.items()},
}
