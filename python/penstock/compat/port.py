"""``python -m penstock port``: find the TensorFlow names in programs and what replaces them."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.compat.advice import better, instead

# Libraries that need TensorFlow, and alternatives to them.
_BESIDE = {
    "tensorflow_datasets": "the files that it prepares can be read: TFRecordDataset, parse_example",
    "tensorflow_io": "penstock reads TFRecords, text, CSV, fixed records and SQLite",
    "tensorflow_text": "tf.strings has splitting, n-grams and regular expressions",
    "tensorflow_addons": "write such functions with NumPy in map",
}
_ALIASES = {
    "tensorflow": "",
    "tensorflow.compat.v1": "compat.v1",
    "tensorflow.compat.v2": "",
    "penstock.compat.tf": "",
    "penstock.compat.v1": "compat.v1",
}
_LIMITS = "Names alone are looked at, not methods of values, nor arguments."
_STAR = "import tensorflow as tf: which names come from a star cannot be seen"

# Lines of notebooks that are not Python: commands, help requests, and results of commands.
_COMMAND = re.compile(r"(\s*)(?:[%!?].*|[\w., ]+=\s*[%!].*|[\w.]+\?\??\s*)")
_OF_PYTHON = ("%%capture", "%%prun", "%%time")  # other cell magics contain no Python


@dataclasses.dataclass(frozen=True)
class Use:
    """A TensorFlow name in a program.

    Parameters
    ----------
    file : str
        The file of the program.
    line : int
        Line number, from 1.
    name : str
        The name without the prefix ``tf.``.
    there : bool
        Whether `penstock.compat.tf` has it.
    advice : str or None
        A replacement or a better alternative; None if there is none.
    """

    file: str
    line: int
    name: str
    there: bool
    advice: str | None

    @property
    def missing(self) -> bool:
        """Whether the name does not exist and has no known replacement."""
        return not self.there and self.advice is None


def uses_in(source: str, file: str = "<string>") -> list[Use]:
    """Return the TensorFlow names that a program uses, in line order.

    Parameters
    ----------
    source : str
        The source code of the program.
    file : str
        File name for the results.

    Returns
    -------
    list of Use
        One for each use.

    Raises
    ------
    SyntaxError
        If the source is not valid Python.
    """
    tree = ast.parse(source, file)
    names = _Names()
    names.visit(tree)
    found = sorted({(line, name) for line, name in names.found if name})
    return [_use(file, line, name) for line, name in found]


def _use(file: str, line: int, name: str) -> Use:
    if name in _BESIDE:
        return Use(file, line, name, False, f"needs TensorFlow; {_BESIDE[name]}")
    if name.split(".")[-1] == "*":
        return Use(file, line, name, False, _STAR)
    there = _is_there(name)
    return Use(file, line, name, there, better(name) if there else instead(name))


def _is_there(name: str) -> bool:
    import penstock.compat.tf as tf
    import penstock.compat.v1 as v1

    steps = name.split(".")
    if steps[:2] == ["compat", "v2"]:
        steps = steps[2:]
    thing: Any = tf
    if steps[:2] == ["compat", "v1"]:
        thing, steps = v1, steps[2:]
    for step in steps:
        try:
            thing = getattr(thing, step)
        except AttributeError:
            return False
    return True


class _Names(ast.NodeVisitor):
    """Collect the names that start with a TensorFlow module."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self._roots: dict[str, str] = {}  # variables, and the names that they refer to

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            self._beside(node.lineno, each.name)
            if each.name in _ALIASES:
                variable = each.asname or each.name.split(".")[0]
                self._roots[variable] = _ALIASES[each.name] if each.asname else ""
            elif each.name.startswith("tensorflow."):
                path = each.name.removeprefix("tensorflow.")
                self.found.append((node.lineno, path))
                self._roots[each.asname or "tensorflow"] = path if each.asname else ""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self._beside(node.lineno, module)
        if module not in _ALIASES and not module.startswith("tensorflow."):
            return
        path = _ALIASES.get(module, module.removeprefix("tensorflow."))
        for each in node.names:
            name = f"{path}.{each.name}" if path else each.name
            if module == "tensorflow.compat" and each.name in ("v1", "v2"):
                name = _ALIASES[f"{module}.{each.name}"]
            else:
                self.found.append((node.lineno, name))
            self._roots[each.asname or each.name] = name

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._name(node)
        if name is None:
            if method := self._method(node):
                self.found.append((node.lineno, method))
            self.generic_visit(node)
        elif name not in ("compat.v1", "compat.v2"):
            self.found.append((node.lineno, name))

    def _beside(self, line: int, module: str) -> None:
        library = module.split(".")[0]
        if library in _BESIDE:
            self.found.append((line, library))

    def _name(self, node: ast.expr) -> str | None:
        """Return the name that an attribute expression refers to."""
        steps: list[str] = []
        while isinstance(node, ast.Attribute):
            steps.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._roots:
            return None
        return ".".join([*filter(None, [self._roots[node.id]]), *reversed(steps)])

    def _method(self, node: ast.Attribute) -> str | None:
        """Return the dataset method that is called on the result of another one."""
        value: ast.expr = node.value
        while isinstance(value, ast.Call):
            value = value.func
            name = self._name(value)
            if name is not None:
                sources = ("data.Dataset", "data.TFRecord", "data.TextLine", "data.FixedLength")
                return f"data.Dataset.{node.attr}" if name.startswith(sources) else None
            if isinstance(value, ast.Attribute):
                value = value.value
        return None


def _programs(paths: Iterable[str]) -> Iterator[Path]:
    """Yield each program once: files, notebooks, and those in folders."""
    seen: set[Path] = set()
    for path in map(Path, paths):
        files = [path]
        if path.is_dir():
            found = (file for kind in ("*.py", "*.ipynb") for file in path.rglob(kind))
            files = sorted(file for file in found if file.is_file())
        for file in files:
            if (same := file.resolve()) not in seen:
                seen.add(same)
                yield file


def _text_of(file: Path) -> str:
    """Return the Python source of a program."""
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    return _of_notebook(text) if file.suffix == ".ipynb" else text


def _of_notebook(text: str) -> str:
    notebook = json.loads(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("a notebook has a list of cells; save an old one in version 4 first")
    code = (cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code")
    return "\n".join(_of_cell(cell.get("source") or "") for cell in code)


def _of_cell(source: Any) -> str:
    """Return the Python source of a cell, with the same number of lines."""
    text = source if isinstance(source, str) else "".join(map(str, source))
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        lines = text.split("\n")
    else:
        return text
    if text.startswith("%%") and not text.startswith(_OF_PYTHON):
        return "\n" * (len(lines) - 1)
    # The body of an `if` must not become empty.
    commands = ((_COMMAND.fullmatch(line), line) for line in lines)
    return "\n".join(f"{command[1]}pass" if command else line for command, line in commands)


def main(argv: Sequence[str]) -> int:
    """Print the TensorFlow names that programs use, and which are missing.

    Parameters
    ----------
    argv : sequence of str
        Files, notebooks or folders, and options.

    Returns
    -------
    int
        Exit status: 0 if no name is missing, 1 if one is, 2 if a file cannot be read.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock port",
        description=f"Which names of TensorFlow programs use, and which penstock.compat.tf has. "
        f"{_LIMITS}",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a program, notebook or folder")
    parser.add_argument("--all", action="store_true", help="print the names that are there, too")
    parser.add_argument("--json", action="store_true", help="print all uses as a JSON list")
    arguments = parser.parse_args(argv)
    uses: list[Use] = []
    failed = False
    for file in _programs(arguments.files):
        try:
            uses += uses_in(_text_of(file), str(file))
        except OSError as error:
            reason = error.strerror
        except (SyntaxError, ValueError) as error:
            reason = f"cannot be read as Python: {error}"
        except (RecursionError, MemoryError):  # raised by Python's parser
            reason = "cannot be read as Python: it is nested too deeply"
        else:
            continue
        print(f"{file}: {reason}", file=sys.stderr)
        failed = True
    if arguments.json:
        print(json.dumps([dataclasses.asdict(use) | {"missing": use.missing} for use in uses]))
    else:
        for use, more in _edits(uses):
            _show(use, more, arguments.all)
        print(_summary(uses))
        print(_LIMITS)
    return 2 if failed else int(any(use.missing for use in uses))


def _edits(uses: Iterable[Use]) -> Iterator[tuple[Use, list[int]]]:
    """Yield each edit once: its first use, and the other lines with the same edit.

    If the program imports a module that has a replacement, names of the module are the same edit as
    the module: ``layers.Dense`` after ``from tensorflow.keras import layers``.
    """
    edits: dict[tuple[str, str], tuple[Use, list[int]]] = {}
    for use in uses:
        steps = use.name.split(".")
        modules = [(use.file, ".".join(steps[:end])) for end in range(1, len(steps))]
        replaced = (at for at in modules if at in edits and not edits[at][0].there)
        same = (at for at in replaced if edits[at][0].advice == use.advice)
        first, lines = edits.setdefault(next(same, (use.file, use.name)), (use, []))
        if use.line not in (first.line, *lines):
            lines.append(use.line)
    yield from edits.values()


def _show(use: Use, more: Sequence[int], everything: bool) -> None:
    also = f" (also in lines {', '.join(map(str, more))})" if more else ""
    name = use.name if use.name in _BESIDE else f"tf.{use.name}"
    said = f"{use.file}:{use.line}: {name}: "
    if use.missing:
        print(f"{said}missing{also}")
    elif not use.there:
        print(f"{said}instead: {use.advice}{also}")
    elif use.advice:
        print(f"{said}there; shorter: {use.advice}{also}")
    elif everything:
        print(f"{said}there{also}")


def _summary(uses: Sequence[Use]) -> str:
    there = sum(use.there for use in uses)
    missing = [use for use in uses if use.missing]
    files = {use.file for use in uses}
    whole = len(files - {use.file for use in missing})
    return (
        f"{len(uses)} uses of TensorFlow's names: {there} there, "
        f"{len(uses) - there - len(missing)} better written otherwise, {len(missing)} missing "
        f"({len({use.name for use in missing})} names); nothing missing in {whole} of "
        f"{len(files)} files"
    )
