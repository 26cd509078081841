"""Write names.json: the public names of tf.data with their signatures. Needs TensorFlow."""

import enum
import inspect
import json
from pathlib import Path

import tensorflow as tf

MODULES = {
    "": tf.data,
    "experimental.": tf.data.experimental,
    "experimental.service.": tf.data.experimental.service,
}


def public(thing):
    # Attributes that every TensorFlow object and iterator inherits.
    hidden = {"mro", "register", "abc", "experimental", "service"}
    return [name for name in dir(thing) if not name.startswith("_") and name not in hidden]


def default(parameter):
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "required"
    return value.name if isinstance(value, tf.DType) else repr(value)


def signature(thing):
    """List (name, kind, default) of the parameters; None if it is not callable."""
    if not callable(thing):
        return None
    parameters = inspect.signature(thing).parameters.values()
    return [[p.name, p.kind.name, default(p)] for p in parameters if p.name not in ("self", "cls")]


def names():
    found = {}
    for prefix, module in MODULES.items():
        for name in public(module):
            thing = getattr(module, name)
            found[prefix + name] = signature(thing) if not inspect.isclass(thing) else made(thing)
            if inspect.isclass(thing) and not issubclass(thing, (int, enum.Enum, str)):
                for member in members(thing):
                    static = inspect.getattr_static(thing, member)
                    known = isinstance(static, property) or not callable(getattr(thing, member))
                    found[f"{prefix}{name}.{member}"] = (
                        None if known else signature(getattr(thing, member))
                    )
    return found


def made(thing):
    return None if issubclass(thing, (int, enum.Enum)) else signature(thing.__init__)


def members(thing):
    """List the public members; for a subclass of Dataset, without those that every Dataset has."""
    base = tf.data.Dataset
    own = public(thing)
    if thing is not base and issubclass(thing, base):
        own = [name for name in own if name not in dir(base)]
    return own


if __name__ == "__main__":
    found = {"tensorflow": tf.__version__, "names": dict(sorted(names().items()))}
    lines = [f"{json.dumps(name)}: {json.dumps(found['names'][name])}" for name in found["names"]]
    version = json.dumps(found["tensorflow"])
    text = f'{{"tensorflow": {version}, "names": {{\n' + ",\n".join(lines) + "\n}}"
    Path(__file__).with_name("names.json").write_text(text + "\n")
    print(len(found["names"]))
