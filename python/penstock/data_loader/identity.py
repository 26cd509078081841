"""The part of a dataset that identifies its data: everything except the progress of reading."""

from __future__ import annotations

import dis
from typing import Any

from penstock.stage import Stage

# The methods that an epoch calls. Other methods may change the data itself.
_READING = ("__iter__", "__next__", "__getitem__", "__getitems__", "load_state_dict")


def without_progress(dataset: Any) -> Any:
    """Return a copy of a dataset without the attributes that reading assigns.

    Such an attribute (a position, a counter, an open iterator) differs between a dataset that was
    read and one that was not.
    """
    values = getattr(dataset, "__dict__", None)
    if isinstance(dataset, (Stage, type)) or not isinstance(values, dict):
        return dataset
    progress = values.keys() & _assigned(type(dataset))
    if not progress:
        return dataset
    try:
        bare = object.__new__(type(dataset))
        bare.__dict__.update({k: v for k, v in values.items() if k not in progress})
    except (AttributeError, TypeError):  # the class cannot be created without its constructor
        return dataset
    return bare


def _assigned(kind: type) -> set[str]:
    """Return the attributes of `self` that the reading methods assign."""
    codes = (getattr(getattr(kind, name, None), "__code__", None) for name in _READING)
    names: set[str] = set()
    for code in codes:
        if code is None or not code.co_argcount:
            continue
        before = None
        for each in dis.get_instructions(code):
            if each.opname == "STORE_ATTR" and before is not None:
                # Some Python versions load two variables in one instruction.
                pair = isinstance(before.argval, tuple)
                owner = before.argval[-1] if pair else before.argval
                if owner == code.co_varnames[0] or before.opname == "SWAP":  # SWAP: self.x += 1
                    names.add(each.argval)
            before = each
    return names
