"""Write reference/tensorflow_names.md: the TensorFlow names that penstock.compat provides."""

from __future__ import annotations

import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import penstock.compat.tf as tf
import penstock.compat.v1 as v1

PAGE = Path(__file__).parent / "reference" / "tensorflow_names.md"
_BEGIN = """\
# Names of TensorFlow

What `import penstock.compat.tf as tf` has, module by module. `python docs/tensorflow_names.py`
writes this page. `python -m penstock port FILE` says which names of a program are not here,
and what to write instead.
"""
_OLD = """
## TensorFlow 1

`import penstock.compat.v1 as tf` has all of these, and besides:
"""


def _modules(module: types.ModuleType, path: str) -> Iterator[tuple[str, types.ModuleType]]:
    """Yield a module of names and its submodules, by path."""
    yield path, module
    for name in dir(module):
        inner = getattr(module, name)
        if isinstance(inner, types.ModuleType) and inner.__name__.startswith("penstock.compat."):
            yield from _modules(inner, f"{path}.{name}")


def _names(module: types.ModuleType) -> list[str]:
    return [name for name in dir(module) if not isinstance(getattr(module, name), types.ModuleType)]


def _listed(names: list[str]) -> str:
    return textwrap.fill(", ".join(f"`{name}`" for name in names), 120) + "\n"


def text() -> str:
    """Return the contents of the page."""
    parts = [_BEGIN]
    known = {path: set(_names(module)) for path, module in _modules(tf, "tf")}
    for path, module in _modules(tf, "tf"):
        parts += [f"\n## {path}\n", _listed(_names(module))]
        if path == "tf.data":
            methods = [name for name in dir(tf.data.Dataset) if not name.startswith("_")]
            parts += ["\n### tf.data.Dataset\n", _listed(methods)]
    parts.append(_OLD)
    for path, module in _modules(v1, "tf"):
        if added := sorted(set(_names(module)) - known.get(path, set())):
            parts += [f"\n### {path} of TensorFlow 1\n", _listed(added)]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text())
