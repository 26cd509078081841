"""Tables that export their columns through the Arrow C data interface, without an Arrow library."""

import ctypes
import itertools

import numpy as np

import penstock as ps


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", RELEASE_SCHEMA),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]

# Exported and not yet released arrays, by number; ignored in the identity of functions.
HELD = ps.ignored({})
NUMBERS = ps.ignored(itertools.count(1))


def release(pointer):
    HELD.value.pop(pointer.contents.private_data, None)
    pointer.contents.release = type(pointer.contents.release)()


release_schema = RELEASE_SCHEMA(release)
release_array = RELEASE_ARRAY(release)

FORMATS = {"i8": b"l", "f4": b"f", "u1": b"C"}


class Column:
    """A format, its buffers, and the columns inside."""

    def __init__(self, kind, length, buffers, children=()):
        self.kind = kind
        self.length = length
        self.buffers = buffers
        self.children = children


def column(values):
    """Return an array, a list of str or a list of arrays as a column."""
    if isinstance(values, np.ndarray):
        return Column(FORMATS[values.dtype.str[1:]], len(values), [None, values])
    if values and isinstance(values[0], str):
        texts = [text.encode() for text in values]
        ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
        joined = np.frombuffer(b"".join(texts) + b"\0", np.uint8)
        return Column(b"u", len(values), [None, ends, joined])
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32)
    return Column(b"+l", len(values), [None, ends], [("item", column(np.concatenate(values)))])


class Table:
    """Columns by name: arrays, lists of str, lists of arrays."""

    def __init__(self, columns):
        self.columns = columns

    def __repr__(self):
        return f"Table({', '.join(self.columns)})"

    def __arrow_c_array__(self, requested_schema=None):
        inside = [(name, column(values)) for name, values in self.columns.items()]
        whole = Column(b"+s", inside[0][1].length, [None], inside)
        schema, array = exported("", whole)
        for struct in (schema, array):
            struct.private_data = next(NUMBERS.value)
            HELD.value[struct.private_data] = struct, array.kept, schema.kept
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return (
            new(ctypes.addressof(schema), b"arrow_schema", None),
            new(ctypes.addressof(array), b"arrow_array", None),
        )


def exported(name, made):
    """Return the structs of a column."""
    inside = [exported(*each) for each in made.children]
    pointers = [0 if b is None else b.ctypes.data for b in made.buffers]
    buffers = (ctypes.c_void_p * len(pointers))(*pointers)
    schemas = pointers_to(Schema, [schema for schema, _ in inside])
    arrays = pointers_to(Array, [array for _, array in inside])
    schema = Schema(made.kind, name.encode(), None, 0, len(inside), schemas, None, release_schema)
    array = Array(
        *(made.length, 0, 0, len(pointers), len(inside), buffers, arrays, None, release_array)
    )
    schema.kept = schemas
    array.kept = buffers, arrays, made, inside
    return schema, array


def pointers_to(kind, structs):
    """Return an array of at least one pointer."""
    return (ctypes.POINTER(kind) * max(len(structs), 1))(*map(ctypes.pointer, structs))
