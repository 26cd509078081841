"""One wrong argument to every public callable: an error of the right type that names it."""

import inspect
import operator
import warnings

import pytest

import penstock as ps
from penstock.option_set import Alias, Group, Option
from wrong_argument_kinds import WRONG
from wrong_argument_table import TAKEN
from wrong_arguments import LACKING, call, calls, make_files

# The name of an argument in error texts, where it differs from the parameter's.
ROLES = {
    "expected_cardinality": "elements were expected",
    "offset_height": "image",
    "offset_width": "image",
    "target_height": "image",
    "target_width": "image",
    "options": "compression_type",
    "obj": "element",
    "store": "array",
    "tensors": "array",
    "contents": "bytes",
    "input": "letters",
    "ragged": "input",
    "args": "range zip",
    "select_columns": "column_defaults",
    "column_names": "select_columns",
    "select_cols": "fields",
    "exclude_cols": "fields",
    "output_signature": "an element of shape (2,) was expected",
    "target_dist": "initial_dist",
    "record_defaults": "fields were expected",
    "reader_args": "compression_type",
    "params": "axis",
    "perm": "axis",
    "condition": "cannot be broadcast together",
    "x": "cannot be broadcast together",
    "y": "cannot be broadcast together",
    "image": "mean",
}

# Data, and arguments that are only wrong in combination: the error may name the other one.
TOGETHER = {"tensor", "input", "input_tensor", "inputs", "initial_state", "records", "filenames"}

# Documented errors other than TypeError, ValueError and OSError.
KIN = {
    "index": (IndexError,),
    "keys": (KeyError,),
    "store": (ps.DataError,),
    "records": (ps.DataError,),
    "filenames": (ps.DataError,),
    "file_pattern": (ps.DataError,),
    "exclude_cols": (ps.DataError,),
    "record_defaults": (ps.DataError,),
    "select_cols": (ps.DataError,),
    "data_source_name": (ps.DataError,),
    "dataset": (IndexError, RecursionError),  # raised by the object
    "initial_state": (OverflowError,),  # raised by the function that adds to it
}
OF_THE_FILE = {"filenames", "file_pattern"}  # it exists, with other contents
OF_THE_OBJECT = {
    "dataset",
    "sampler",
    "batch_sampler",
    "initial_state",
    "data_source_name",
    "query",
    "Dataset.from_generator.args",  # two arguments, for a function with one parameter
    "penstock.py_function.inp",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("wrong")
    make_files(made)
    return made


def problem(label, where, name, arguments, parameter, kind):
    """Return the problem with the response to a wrong argument, or None."""
    wrong = WRONG[kind]
    taken = TAKEN.get(f"{label}.{parameter}", TAKEN.get(parameter, "")).split()
    try:
        call(where, name, {**arguments, parameter: wrong})
    except (TypeError, ValueError, OSError, *KIN.get(parameter, ())) as error:
        said = str(error)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    else:
        return None if kind in taken else "accepted"
    names = {parameter, *ROLES.get(parameter, "").split(" " if parameter == "args" else "\n")}
    if parameter in TOGETHER:
        names |= set(arguments)
    named = any(word and word in said for word in names)
    quoted = isinstance(wrong, str) and (wrong in said or parameter in OF_THE_FILE)
    own = not OF_THE_OBJECT.isdisjoint((parameter, f"{label}.{parameter}"))
    return None if named or quoted or own else said


@pytest.mark.slow
def test_every_wrong_argument_is_named(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for label, (where, name, arguments) in calls(folder).items():
            call(where, name, arguments)
            for parameter in arguments:
                for kind in WRONG if parameter != "on" else ():
                    answer = problem(label, where, name, arguments, parameter, kind)
                    if answer is not None:
                        found.append(f"{label}({parameter}={kind}): {answer:.150}")
    assert not found, "\n".join(found)


def options_of(kind, path=""):
    """Yield the path and the description of each option, including those in groups."""
    for name, option in vars(kind).items():
        if isinstance(option, Group):
            yield from options_of(option.kind, f"{path}{name}.")
        elif isinstance(option, (Option, Alias)):
            yield f"{path}{name}", option


def test_every_wrong_option_is_named():
    found = []
    for path, option in options_of(ps.Options):
        name = path.rpartition(".")[2]
        if isinstance(option, Alias):  # of its target
            group, _, last = ".".join(option.path).rpartition(".")
            option = vars(vars(ps.Options)[group].kind if group else ps.Options)[last]
        takes = {
            bool: {"bool"},
            int: {"zero", *(() if getattr(option, "at_least", None) == 0 else ["negative"])},
            str: {"word", "empty"},
            float: {"float", "zero"},
            list: {"cyclic"},
        }.get(getattr(option, "kind", None), set())
        for kind, wrong in WRONG.items():
            options = ps.Options()
            owner = (
                operator.attrgetter(path.rpartition(".")[0])(options) if "." in path else options
            )
            try:
                setattr(owner, name, wrong)
            except (TypeError, ValueError) as error:
                if name not in str(error):
                    found.append(f"{path}={kind}: {error}")
            else:
                if kind != "None" and kind not in takes:
                    found.append(f"{path}={kind}: accepted")
    assert not found, "\n".join(found)


# They need a framework, have no arguments, or are not functions for users to call.
ELSEWHERE = [
    "Dataset.profile",
    "Dataset.shard_for_jax",
    "Dataset.shard_for_torch",
    "Dataset.to_jax",
    "Dataset.to_keras",
    "Dataset.to_torch",
    "Dataset.to_torch_iterable",
    "DataError",
    "ErrorInfo",
    "Iterator",
    "LoopProfile",
    "Profile",
    "profile",
    "OutOfRangeError",
    "StateError",
    "TraceError",
    "WorkerError",
    "cfunction",
    "Dataset.options",
    "ThreadingOptions",
    "Options",
    "AutotuneOptions",
    "DistributeOptions",
    "OptimizationOptions",
    "ServiceOptions",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "ExternalStatePolicy",
    "ResizeMethod",
    "build_info",
    "Dataset",
]


def public():
    """Yield every public callable with arguments: its short name, and the object."""
    for module in (ps, ps.io, ps.image, ps.strings, ps.random, ps.experimental):
        for name in getattr(module, "__all__", None) or vars(module):
            thing = getattr(module, name)
            own = (getattr(thing, "__module__", "") or "").startswith("penstock")
            if callable(thing) and own and not name.startswith("_"):
                yield name, thing
    for name, member in inspect.getmembers(ps.Dataset, inspect.isroutine):
        if not name.startswith("_"):
            yield f"Dataset.{name}", member


def test_every_public_callable_and_parameter_has_a_call(folder):
    known = {}
    for label, (_, name, arguments) in calls(folder).items():
        short = name.split(" ")[0]
        short = f"Dataset.{short}" if label.startswith("Dataset.") else short
        known.setdefault(short.removeprefix("Dataset."), set()).update(arguments)
    missing = []
    for name, thing in public():
        if name in ELSEWHERE or name in LACKING:
            continue
        parameters = {
            parameter.name
            for parameter in inspect.signature(thing).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        } - {"self", "name"}
        have = known.get(name.removeprefix("Dataset."), set())
        missing += [f"{name}({parameter})" for parameter in sorted(parameters - have)]
    advice = "add it to a valid call, of the contract or of tests/wrong_arguments.py: "
    assert not missing, advice + ", ".join(missing)


@pytest.mark.parametrize("name", [1, b"x", object()])
def test_a_name_is_a_str(name):
    for made in (lambda: ps.Dataset.range(3, name=name), lambda: ps.reshape([1], [1], name=name)):
        with pytest.raises(TypeError, match=r"name must be a str, got "):
            made()


def test_numbers_of_threads_beyond_reason_are_refused():
    for name in ("map", "interleave"):
        with pytest.raises(ValueError, match=f"{name}: num_parallel_calls must be <= 16384"):
            getattr(ps.Dataset.range(3), name)(lambda x: x, num_parallel_calls=2**20)
    with pytest.raises(ValueError, match="num_workers must be <= 16384"):
        ps.DataLoader([1], num_workers=2**20)
