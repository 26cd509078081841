"""Write signatures.json, the parameters of TensorFlow's functions; run where it is installed.

The functions are those that docs/reference/tensorflow_names.md says are there.
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


def named(module, name):
    """Return what a dotted name stands for, or None."""
    for step in name.split("."):
        module = getattr(module, step, None)
    return module


if __name__ == "__main__":
    import tensorflow

    made = {}
    for name in names():
        function = named(tensorflow, name)
        if callable(function) and (found := parameters(function)) is not None:
            made[name] = found
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(made[name])}" for name in made)
    (HERE / "signatures.json").write_text(f"{{\n{lines}\n}}\n")
