"""The observable behaviour of a dataset as JSON, the same for TensorFlow and penstock."""

import dataclasses

import numpy as np

KINDS = {
    "InvalidArgumentError": "ValueError",
    "NotFoundError": "FileNotFoundError",
    "DataLossError": "DataError",
    "FailedPreconditionError": "ValueError",
    "OutOfRangeError": "ValueError",
    "UnimplementedError": "TypeError",
    "InternalError": "RuntimeError",
    "UnknownError": "RuntimeError",
    "AbortedError": "RuntimeError",
}


# Objects for which TensorFlow has special specs.
SPECS = {"NoneTensorSpec": None, "DatasetSpec": "object []"}


def record(case, tf, folder, as_leaf):
    """Build a case and record all of its observable behaviour."""
    try:
        ds = case.build(tf, folder)
    except Exception as error:
        return {"refused": kind(error)}
    found = {"cardinality": int(ds.cardinality())}
    try:
        found["spec"] = spec(ds.element_spec)
    except Exception as error:
        found["spec"] = {"error": kind(error)}
    found["steps"] = steps(iter(ds), case.most, as_leaf)
    if not case.ordered:
        found["steps"].sort(key=repr)
    return found


def steps(iterator, most, as_leaf):
    """List the elements, errors as {"error": kind}, and "..." if more follow."""
    came = []
    while True:
        try:
            element = next(iterator)
        except StopIteration:
            return came
        except Exception as error:
            came.append({"error": kind(error)})
        else:
            came.append(value(element, as_leaf))
        if len(came) > most:
            return [*came[:most], "..."]


def kind(error):
    return KINDS.get(type(error).__name__, type(error).__name__)


def value(x, as_leaf):
    """Return an element as JSON: structure, dtypes, shapes and values."""
    x = as_leaf(x)
    if x is None:
        return None
    if isinstance(x, dict):
        return {"dict": [[key, value(part, as_leaf)] for key, part in x.items()]}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return {type(x).__name__: [[key, value(getattr(x, key), as_leaf)] for key in x._fields]}
    if isinstance(x, tuple):
        return [value(part, as_leaf) for part in x]
    if dataclasses.is_dataclass(x):
        names = [field.name for field in dataclasses.fields(x)]
        return {type(x).__name__: [[key, value(getattr(x, key), as_leaf)] for key in names]}
    if isinstance(x, (bytes, str)):
        return f"{type(x).__name__} {text(x)}"
    if hasattr(x, "cardinality"):
        return {"dataset": steps(iter(x), 24, as_leaf)}
    array = np.asarray(x)
    if array.dtype == object:
        parts = [text(part) for part in array.ravel()]
        return f"strings {list(array.shape)} {parts}"
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
        return f"complex {array.tolist()}"
    return f"{array.dtype} {list(array.shape)} {array.ravel().tolist()}"


def text(x):
    return (x if isinstance(x, str) else x.decode("latin-1")).encode("unicode_escape").decode()


def spec(x):
    """Return an element_spec as JSON."""
    if x is None:
        return None
    if isinstance(x, dict):
        return {"dict": [[key, spec(part)] for key, part in x.items()]}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return {type(x).__name__: [[key, spec(getattr(x, key))] for key in x._fields]}
    if isinstance(x, tuple):
        return [spec(part) for part in x]
    if type(x).__name__ in SPECS:
        return SPECS[type(x).__name__]
    shape = None if x.shape is None or getattr(x.shape, "rank", 0) is None else list(x.shape)
    dtype = getattr(x.dtype, "name", None) or x.dtype.__name__
    return f"{ {'bytes': 'string', 'str': 'string'}.get(dtype, dtype) } {shape}"
