"""The functions of random pipelines, which accept elements of any structure."""

from typing import NamedTuple

import numpy as np

import oracle
import penstock as ps
from contract import Boom


class Pair(NamedTuple):
    """A structure with a custom class."""

    left: object
    right: object


def number(*args):
    """Return a small number that depends on the whole element."""
    total = 0
    for i, part in enumerate(oracle.leaves(args)):
        if isinstance(part, (str, bytes)):
            n = sum(part if isinstance(part, bytes) else part.encode())
        elif isinstance(part, frozenset):
            n = sum(part)
        elif part.dtype == object:
            n = number(*part.ravel().tolist())
        elif part.dtype.kind in "mM":
            n = int(part.astype(np.int64).sum())
        else:
            n = int(np.real(part).astype(np.int64).sum())
        total += (i + 1) * n + np.size(part)
    return int(total % 97)


def whole(args):
    return args[0] if len(args) == 1 else args


# --- one element to another ---


def same(*args):
    return whole(args)


def pair(*args):
    return whole(args), number(*args)


def one(*args):
    return (whole(args),)


def named(*args):
    return {"x": whole(args), "n": np.float32(number(*args) / 2)}


def named_pair(*args):
    return Pair(number(*args), (None, f"é{number(*args)}"))


def text(*args):
    return "text " * (number(*args) % 3)


def data(*args):
    return b"\0" * (number(*args) % 4), number(*args) % 2 == 0


def row(*args):
    return np.full((2, 3), number(*args), np.int16)


def ragged(*args):
    return np.arange(number(*args) % 4, dtype=np.float32)


def strings(*args):
    return np.array(["a", str(number(*args))], object)


def listed(*args):
    return [number(*args), [number(*args), 1]]


def opaque(*args):
    return frozenset({number(*args)})


def now_and_then(*args):
    if number(*args) % 4 == 1:
        raise Boom(f"map of {number(*args)}")
    return whole(args)


FUNCTIONS = [
    *(number, same, pair, one, named, named_pair, text, data, row, ragged, strings, listed),
    *(opaque, now_and_then),
]


def paddable(*args):
    n = number(*args)
    return {"v": np.arange(n % 4, dtype=np.float32), "t": f"t{n}", "m": np.full((1, n % 3), n)}


def storable(*args):
    """Replace opaque objects, which cannot be stored in files, by numbers."""
    x = whole(args)
    parts = (_storable_leaf(part) for part in oracle.leaves(x))
    return oracle.like(x, parts)


def _storable_leaf(part):
    if isinstance(part, np.ndarray) and part.dtype == object:
        flat = [_storable_leaf(p) for p in part.ravel().tolist()]
        if flat and not isinstance(flat[0], (str, bytes)):
            return np.array(flat, np.int64).reshape(part.shape)
        return part
    return np.int64(sum(part)) if isinstance(part, frozenset) else part


# --- predicates ---


def always(*args):
    return True


def never(*args):
    return False


def even(*args):
    return number(*args) % 2 == 0


def unsure(*args):
    if number(*args) % 5 == 2:
        raise Boom(f"filter of {number(*args)}")
    return np.bool_(number(*args) % 3 > 0)


def no_bool(*args):
    return number(*args) % 2


PREDICATES = [always, never, even, even, unsure, no_bool]


# --- native functions, of numbers ---


class Native(NamedTuple):
    """A traceable function, and its equivalent in NumPy."""

    function: object
    reference: object

    def __repr__(self):
        return self.function.__name__


def affine(x):
    return 3 * x + 1


def affine_rows(x):
    return {"rows": ps.tile(ps.reshape(x, [1]), [3]), "half": ps.cast(x, np.float32) / 2}


def affine_rows_reference(x):
    return {"rows": np.full(3, x), "half": np.float32(x) / np.float32(2)}


def chosen(x):
    return ps.where(x % 2 == 0, x, -x), x > 7


def chosen_reference(x):
    return np.where(x % 2 == 0, x, -x)[()], x > 7


def joined(x):
    return ps.strings.join([ps.strings.as_string(x), b"!"])


def joined_reference(x):
    return f"{x}!".encode()


NATIVE = [
    Native(affine, affine),
    Native(affine_rows, affine_rows_reference),
    Native(chosen, chosen_reference),
    Native(joined, joined_reference),
]


def RANDOM(x):
    """Return a random number that is a property of the element."""
    return x, ps.random.uniform([])
