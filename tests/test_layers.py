"""The #include and import lines follow the layers of the design."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import penstock as ps

ROOT = Path(__file__).resolve().parent.parent
CPP = ROOT / "cpp"
PYTHON = ROOT / "python" / "penstock"
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
ANONYMOUS = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
CLASS = re.compile(r"^(?:class|struct|union) (?:alignas\(\w+\) )?([\w:]+)[^;]*?\{", re.MULTILINE)

CPP_LAYERS = [
    {"runtime"},
    {"data"},
    {"storage"},
    {"compute"},
    {"workers"},
    {"engine"},
    {"stages"},
    {"python"},
]
PYTHON_LAYERS = [
    {"_core", "printable"},
    {"storage_options", "executors"},
    {"paths", "traits"},
    {"arguments"},
    {
        *(
            "contents",
            "counters",
            "nested_columns",
            "columns",
            "crops",
            "open_files",
            "arrays",
            "errors",
            "structure",
            "foreign",
            "functions",
            "iterator",
            "log",
            "meter",
            "metrics",
            "libraries",
            "locks",
            "optional",
            "on_error",
        ),
        *("labels", "arity", "code_names", "exclusions", "closing", "debugging"),
        *("coroutines", "waiting", "torch_arrays", "stream_states"),
        *("option_set", "unused_options", "options", "plain_tables"),
    },
    {"remote"},
    {"ops"},
    {"workers"},
    {"writers"},
    {"stage"},
    {"random", "probing"},
    {"describe", "encode", "hints", "preview"},
    {"digest"},
    {"fingerprint"},
    {"account"},
    {"plan", "loader_states"},
    {"stages"},
    {"forms"},
    {"dataset"},
    {"loaders"},
    {"pickling", "adapters", "sources", "program", "states"},
    {"distribution"},
    {"experimental", "lint", "profiling"},
    {"data_loader", "compat"},
    {
        "__init__",
        "cli",
        "doctor",
        "demo",
        "inspecting",
        "comparison",
        "__main__",
    },  # based on the public package
]


def level(layers, name):
    found = [i for i, layer in enumerate(layers) if name in layer]
    assert found, f"{name} is in no layer: say in tests/test_layers.py where it belongs"
    return found[0]


def cpp_files():
    return sorted(p for p in CPP.rglob("*") if p.suffix in {".h", ".cc"})


def wrong_include(file, kind, name):
    """Return why a C++ file must not include a header, or None."""
    own, folder = file.relative_to(CPP).parts[0], name.split("/")[0]
    if kind == "<":
        python = own != "python" and re.match(r"Python\.h|pybind11|numpy", name)
        return "belongs to the python folder" if python else None
    if "/" not in name:
        return "write the folder too"
    if not (CPP / name).exists():
        return "does not exist"
    if folder != own and level(CPP_LAYERS, folder) >= level(CPP_LAYERS, own):
        return "belongs to a higher layer"
    return None


def test_cpp_files_include_only_lower_layers_and_their_own_folder():
    assert [
        f"{file.relative_to(CPP)} includes {name}: {reason}"
        for file in cpp_files()
        for kind, name in INCLUDE.findall(file.read_text())
        if (reason := wrong_include(file, kind, name))
    ] == []


def test_no_two_classes_of_the_engine_have_one_name():
    """The linker would silently use one definition for both."""
    found = {}
    for file in cpp_files():
        text = ANONYMOUS.sub("", file.read_text())
        for name in set(CLASS.findall(text)):  # twice in one file: with and without a library
            found.setdefault(name, []).append(str(file.relative_to(CPP)))
    assert len(found) > 50
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_layers_name_what_exists():
    for name in set().union(*CPP_LAYERS):
        assert (CPP / name).is_dir(), name
    for name in set().union(*PYTHON_LAYERS):
        places = [PYTHON / name, *(PYTHON / f"{name}{suffix}" for suffix in (".py", ".pyi"))]
        assert any(place.exists() for place in places), name


def test_every_folder_is_in_a_layer():
    for folder in CPP.iterdir():
        if folder.is_dir():
            level(CPP_LAYERS, folder.name)
    for path in PYTHON.iterdir():
        if path.suffix == ".py" or next(path.glob("**/*.py"), None):  # git leaves cache folders
            level(PYTHON_LAYERS, path.stem)


# Dataset methods implemented by modules on top of it, which they import when called.
DOOR = "forms"


class Import(NamedTuple):
    """A penstock module that another one names."""

    name: str
    at_once: bool  # at import time: not in a function, and not only for types


def imports(tree, at_once=True):
    """Yield the imports of a module, including those in functions and those for types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            # `from penstock import x` imports penstock.x if that module exists.
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".removeprefix("penstock.").replace(".", "/")
                path = PYTHON / inner
                is_module = path.is_dir() or path.with_suffix(".py").exists()
                is_core = node.module == "penstock" and alias.name == "_core"
                name = f"{node.module}.{alias.name}" if is_module or is_core else node.module
                yield Import(name, at_once)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for part, when in ((node.body, False), (node.orelse, at_once)):
                yield from imports(ast.Module(part, []), when)
        else:
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from imports(node, at_once and not function)


def python_files():
    return sorted(PYTHON.rglob("*.py"))


def names_in(file):
    """Yield the penstock modules that a file names, except those imported through `DOOR`."""
    own = file.relative_to(PYTHON).with_suffix("").as_posix()
    for name, at_once in imports(ast.parse(file.read_text())):
        if name.partition(".")[0] == "penstock" and (at_once or own != DOOR):
            yield name.removeprefix("penstock").removeprefix(".") or "__init__"


def test_modules_import_only_lower_layers_and_their_own():
    for file in python_files():
        own = file.relative_to(PYTHON).parts[0].removesuffix(".py")
        for name in names_in(file):
            other = name.split(".")[0]
            if other == own:
                continue
            below, here = level(PYTHON_LAYERS, other), level(PYTHON_LAYERS, own)
            same = below == here and PYTHON_LAYERS[here] & {"errors", "__init__"}
            assert below < here or same, f"{file.relative_to(PYTHON)} imports {name}"


def test_modules_do_not_import_each_other_in_a_circle():
    """Imports in functions and for types count too: a cycle is one unit in several files."""
    graph = {}
    for file in python_files():
        module = ".".join(file.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__")
        graph[module] = set(names_in(file)) - {module}
    done, open_ = set(), []

    def visit(module):
        assert module not in open_, f"a circle: {[*open_, module]}"
        if module in done or module not in graph:
            return
        open_.append(module)
        for other in graph[module]:
            visit(other)
        done.add(open_.pop())

    for module in graph:
        visit(module)


@pytest.mark.parametrize("file", sorted((PYTHON / "adapters").glob("*.py")), ids=lambda p: p.name)
def test_adapters_use_public_methods_of_datasets_only(file):
    private = {name for name in dir(ps.Dataset) if name.startswith("_") and name[1] != "_"}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in private:
            owner = ast.unparse(node.value)
            assert owner == "self", f"{owner}.{node.attr} in line {node.lineno}"


def test_heavy_modules_are_not_imported_with_the_package():
    allowed = {"numpy"}
    for file in python_files():
        for name, at_once in imports(ast.parse(file.read_text())):
            top = name.split(".")[0] if at_once else "numpy"
            heavy = {"PIL", "matplotlib", "torch", "jax", "tensorflow", "keras"}
            assert top in allowed or top not in heavy, f"{file.name} imports {name}"


def test_a_stage_includes_no_stage_of_another_folder():
    """Code that several of them need belongs in a lower layer."""
    stages = CPP / "stages"
    for file in sorted(stages.rglob("*.cc")):
        for kind, name in INCLUDE.findall(file.read_text()):
            if kind == '"' and name.startswith("stages/"):
                assert file.parent != stages, f"{file.name} includes {name}: give them one folder"
                assert (CPP / name).parent == file.parent, f"{file.name} includes {name}"


def test_every_folder_of_the_engine_says_what_it_is():
    for folder in CPP.iterdir():
        if folder.is_dir():
            text = (folder / "README.md").read_text()
            assert text.startswith(f"# {folder.name}: ")
