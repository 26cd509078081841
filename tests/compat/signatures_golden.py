"""Write signatures.json and signatures_v1.json; needs TensorFlow.

They contain the parameters of TensorFlow functions, in TensorFlow's order: of the functions listed
in docs/reference/tensorflow_names.md, and of those in penstock.compat.v1.
"""

import inspect
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reference" / "tensorflow_names.md"


def parameters(function):
    """Return the names of a function's parameters, or None if they are unknown."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in found):
        return None
    return [each.name for each in found]


def names():
    """Return the dotted names listed on the page, without ``tf.``, in order."""
    module, found = "", set()
    for heading, name in re.findall(r"^## tf\.?([\w.]*)$|`(\w+)`", PAGE.read_text(), re.MULTILINE):
        if name:
            found.add(f"{module}.{name}" if module else name)
        else:
            module = heading
    return sorted(found)


def names_v1():
    """Return the dotted names of penstock.compat.v1, in order."""
    import penstock.compat.v1 as tf

    def within(module, path):
        for name in dir(module):
            inner = getattr(module, name)
            if inspect.ismodule(inner):
                if inner.__name__.startswith("penstock.compat.") and path.count(".") < 2:
                    yield from within(inner, f"{path}{name}.")
            else:
                yield f"{path}{name}"

    return sorted(set(within(tf, "")))


def named(module, name):
    """Return the object with a dotted name, or None."""
    for step in name.split("."):
        module = getattr(module, step, None)
    return module


def write(file, module, wanted):
    """Write the known parameters of a module's functions."""
    made = {}
    for name in wanted:
        function = named(module, name)
        if callable(function) and (found := parameters(function)) is not None:
            made[name] = found
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(made[name])}" for name in made)
    (HERE / file).write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    import tensorflow

    write("signatures.json", tensorflow, names())
    write("signatures_v1.json", tensorflow.compat.v1, names_v1())
