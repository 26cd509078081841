"""Conversion of the arguments of stages for the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.arity import is_coroutine_function
from penstock.errors import TraceError
from penstock.exclusions import Ignored
from penstock.executors import ExecutedFunction
from penstock.labels import is_internal
from penstock.ops.checked import comparison
from penstock.ops.native import NativeFunction
from penstock.ops.tracing import Traced
from penstock.plain_tables import exported
from penstock.probing import find_spec
from penstock.stage import Stage
from penstock.structure import TensorSpec
from penstock.traits import traits_of


class Reader:
    """A native function that reads each file as records of one format."""

    def __init__(self, kind: str, args: Mapping[str, Any]) -> None:
        self.kind = kind
        self.args = dict(args)

    def __repr__(self) -> str:
        return self.kind


class Indexable:
    """An object whose rows a stage fetches by position."""

    def __init__(self, rows: Any, size: int) -> None:
        self.rows = rows
        self.size = size

    def __repr__(self) -> str:
        return type(self.rows).__name__


class JsonFields:
    """A native function that parses lines of JSON into fields.

    Parameters
    ----------
    signature : nested dict of TensorSpec
        The fields.
    null_values : mapping, optional
        Replacements for missing values, by field name; "a.b" is a field of a nested object.
    """

    def __init__(self, signature: Mapping[str, Any], null_values: Mapping[str, Any] | None) -> None:
        self.signature = signature
        self.null_values = dict(null_values or {})

    def __repr__(self) -> str:
        return "json_fields"

    def encoded(self, stage: str) -> _core.NativeFunction:
        """Return the function for the engine; errors name `stage`."""
        if not isinstance(self.signature, Mapping):
            raise TypeError(
                f"{stage}: signature must be a dict of fields, got {self.signature!r:.200}"
            )
        paths = [path for path, _ in _leaves(self.signature, "")]
        if twice := {path for path in paths if paths.count(path) > 1}:
            raise ValueError(
                f"{stage}: signature must have fields of different names, got two for "
                f"{', '.join(sorted(twice))}: a field with a dot, and one of an object"
            )
        leaves = dict(_leaves(self.signature, ""))
        unknown = sorted(self.null_values.keys() - leaves.keys())
        if unknown:
            raise ValueError(
                f"{stage}: null_values must name fields, got {', '.join(unknown)}; there are "
                f"{', '.join(leaves)}"
            )
        defaults = [
            _core.Value(self._default(stage, name, leaf), False)
            if name in self.null_values
            else None
            for name, leaf in leaves.items()
        ]
        try:
            return _core.json_fields(_core.Spec(self.signature), defaults)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{stage}: {error}") from None

    def _default(self, stage: str, name: str, leaf: TensorSpec) -> Any:
        value = self.null_values[name]
        wanted = object if leaf.dtype in (str, bytes) else leaf.dtype
        try:
            array = np.array(value, wanted)
            cut = array.size and array.dtype.kind in "iu" and np.asarray(value).dtype.kind == "f"
            sizes = zip(leaf.shape or (), array.shape, strict=False)
            fits = (
                not cut
                and array.ndim == len(leaf.shape or ())
                and all(size in (None, own) for size, own in sizes)
            )
        except (TypeError, ValueError, OverflowError):
            fits = False
        texts = wanted is not object or all(isinstance(item, leaf.dtype) for item in array.flat)
        if not fits or not texts:
            raise ValueError(
                f"{stage}: null_values[{name!r}] must be a value of {leaf}, got {value!r:.200}"
            )
        return array if array.ndim else array[()]


def _leaves(signature: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(signature, Mapping):
        yield path, signature
        return
    for name, inside in signature.items():
        yield from _leaves(inside, f"{path}.{name}" if path else name)


# Conversions of arguments, by the form that the stage declares for them.
_FORMS: dict[str, Callable[[Any], Any]] = {
    "value": lambda value: _core.Value(value, False),
    # Arrays are shared, not copied, and must not change while the dataset is in use.
    "shared value": lambda value: _core.Value(value, True),
    "shared values": lambda value: _core.Elements(_core.Value(each, True) for each in value),
    "spec": _core.Spec,
    "dtype": lambda value: _core.Spec(TensorSpec((), value)),
    "object": _core.Opaque,
}
_MAY_BE_NONE = ("value", "spec")  # forms of optional arguments


def encode(
    kind: str,
    args: Mapping[str, Any],
    inputs: Sequence[Stage] = (),
    traced: list[Traced] | None = None,
) -> dict[str, Any]:
    """Convert the arguments of a stage over `inputs` for the engine.

    Native functions among them are added to `traced`.
    """
    encoded: dict[str, Any] = {}
    forms = traits_of(kind).arguments
    for name, value in args.items():
        form = forms[name] if name in forms else None  # noqa: SIM401 - as in traits_of
        value = value.value if isinstance(value, Ignored) else value
        if isinstance(value, Reader):
            encoded[name] = _core.reader(value.kind, encode(value.kind, value.args))
        elif isinstance(value, Indexable):
            encoded["map_func"] = _core.Indexable(value.rows, value.size)
        elif isinstance(value, JsonFields):
            encoded[name] = value.encoded(args.get("part_of", kind))
        elif isinstance(value, ExecutedFunction):
            encoded[name] = value.encoded()
            encoded |= _asides(encoded, name, value.__wrapped__)
        elif isinstance(value, NativeFunction) and form != "function":
            if args.get("output_signature") is not None:
                raise ValueError(
                    f"{kind}: output_signature is for plain functions; a native one returns the "
                    "types that its operations make, cast them there"
                )
            encoded.update(_native(kind, name, value, args, inputs[0], traced))
        elif form == "table":
            stage = args.get("part_of", kind)
            table = exported(stage, value, args.get("null_values"))
            encoded[name] = _core.Rows(table, stage)
        elif form in _FORMS and not (value is None and form in _MAY_BE_NONE):
            try:
                encoded[name] = _FORMS[form](value)
            except (TypeError, ValueError, RecursionError) as error:
                raise _naming(kind, name, error) from error
        else:
            encoded[name] = value
            if callable(value):
                encoded |= _asides(encoded, name, value)
    return encoded


def _asides(encoded: Mapping[str, Any], name: str, function: Any) -> dict[str, Any]:
    """Return the additional arguments that describe a function to the engine."""
    found = {
        "wants_rng": _wants_rng(function),
        "awaits": is_coroutine_function(function),
        "own": is_internal(function),
    }
    return {aside: (*encoded.get(aside, ()), name) for aside, holds in found.items() if holds}


def _native(
    kind: str,
    name: str,
    function: NativeFunction[..., Any],
    args: Mapping[str, Any],
    dataset: Stage,
    traced: list[Traced] | None,
) -> dict[str, Any]:
    """Return the argument for a native function applied to the elements of a dataset."""
    plain = function.__wrapped__
    if is_coroutine_function(plain):
        raise TraceError(f"{kind}: a native function cannot be async def; drop @ps.native")
    if _wants_rng(plain):
        raise TraceError(
            f"{kind}: a native function takes no `rng`; draw with ps.random, or drop @ps.native to "
            "run it as Python"
        )
    if not _is_known(dataset):
        return {name: plain}
    nodes = [dataset._node]
    if "initial_state" in args:  # functions of the state and the element
        state = {"tensors": _core.Value(args["initial_state"], True)}
        nodes.insert(0, _core.make("from_tensors", [], state))
    found = Traced(kind, plain, nodes)
    if traced is not None:
        traced.append(found)
    program = found.program
    if function._check:
        compare = comparison(repr(function))
        program = _core.checked(program, plain, function._check, compare, found.exact)
    return {name: _core.debugged(program, plain)}


def _is_known(dataset: Stage) -> bool:
    """Return whether the types of the elements are known, so that a function can be traced.

    They are not if all elements fail: the errors belong to the run, which may skip them.
    """
    try:
        return find_spec(dataset)
    except TraceError:
        raise
    except Exception:
        return False


def _naming(kind: str, name: str, error: Exception) -> Exception:
    """Return an error of an argument with its name in the message."""
    text = str(error).removeprefix("signature: ")
    wanted = TypeError if isinstance(error, TypeError) else ValueError
    return (
        error if name in text or text.startswith(f"{kind}: ") else wanted(f"{kind}: {name}: {text}")
    )


def _wants_rng(function: Any) -> bool:
    """Return whether a function has a parameter ``rng`` that is not its first positional one."""
    code = getattr(function, "__code__", None)
    if code is not None and "rng" not in code.co_varnames:
        return False
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    keyword = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(
        each.name == "rng" and each.kind in keyword and (i > 0 or each.kind == keyword[0])
        for i, each in enumerate(parameters)
    )
