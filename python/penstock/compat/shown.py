"""The repr of datasets: with the types and shapes of elements, if these are quickly available."""

from __future__ import annotations

from typing import Any

from penstock.compat.composite import may_hold_composites
from penstock.compat.values import specs_of
from penstock.describe import chain
from penstock.ops.noticed import unnoticed
from penstock.traits import main_form

# Stages whose first element needs no time and no files, except for their functions.
_QUICK = frozenset(
    {"batch", "enumerate", "from_tensor_slices", "from_tensors", "map", "prefetch", "range"}
    | {"repeat", "skip", "take", "zip"}
)
_NAMES = {"from_tensor_slices": "TensorSlice", "from_tensors": "Tensor", "tf_record": "TFRecord"}


def shown(dataset: Any) -> str:
    """Return the text of a penstock dataset, without visible calls of functions."""
    kind = main_form(dataset._kind)
    name = _NAMES.get(kind) or "".join(word.capitalize() for word in kind.split("_"))
    known = dataset._node.first_unknown() is None and not may_hold_composites(dataset.element_spec)
    if known or _is_quick(dataset):
        try:
            return f"<_{name}Dataset element_spec={specs_of(dataset)!r}>"
        except Exception:  # raised by its functions, or by composites without elements
            pass
    return f"<_{name}Dataset {chain(dataset)}>"


def _is_quick(dataset: Any) -> bool:
    functions = [value for value in dataset._args.values() if callable(value)]
    return (
        main_form(dataset._kind) in _QUICK
        and all(map(unnoticed, functions))
        and all(map(_is_quick, dataset._inputs))
    )
