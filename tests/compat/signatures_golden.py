"""Write signatures.json and signatures_v1.json; run where TensorFlow is installed.

They hold the parameters of TensorFlow's functions, in its order: of those that
docs/reference/tensorflow_names.md lists, and of those that penstock.compat.v1 lists.
"""

import inspect
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reference" / "tensorflow_names.md"


def parameters(function):
    """Return the names of the parameters of a function, or None where they are not known."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in found):
        return None
    return [each.name for each in found]


def names():
    """Return the dotted names of the page, without ``tf.``, in order."""
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
    """Return what a dotted name stands for, or None."""
    for step in name.split("."):
        module = getattr(module, step, None)
    return module


def write(file, module, wanted):
    """Write the parameters of the functions of a module that are known."""
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
