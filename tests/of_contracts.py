"""What tests of all kinds of datasets take from the contract in the test file of one kind."""

import functools
import importlib.util
import inspect
from pathlib import Path

import penstock as ps
from contract import DatasetContract, Variant

TESTS = Path(__file__).resolve().parent


@functools.cache
def module_of(file):
    """Return a test file as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"of_contracts_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contract_of(kind):
    """Return the first class in test_<kind>.py that gives the contract a dataset."""
    (file,) = TESTS.glob(f"*/test_{kind}.py")
    classes = vars(module_of(file)).values()
    return next(
        each
        for each in classes
        if isinstance(each, type)
        and issubclass(each, DatasetContract)
        and (each.apply or hasattr(each, "build"))
    )


def dataset_of(kind, calls=None):
    """Return the dataset of a kind that its contract is tested with."""
    return contract_of(kind).make(Variant(calls))


def call_of(kind):
    """Return the arguments, by their names, of the method of a kind; `on` is the dataset."""
    contract, found = contract_of(kind), {}
    method = getattr(ps.Dataset, kind)

    class Recording:
        """A dataset that notes down how the method is called."""

        def __init__(self, dataset):
            self.dataset = dataset

        def __getattr__(self, name):
            member = getattr(self.dataset, name)
            if not callable(member):
                return member

            def called(*args, **kwargs):
                if name == kind:
                    given = inspect.signature(method).bind(self.dataset, *args, **kwargs).arguments
                    found["on"] = given.pop("self")
                    found.update(given)
                return Recording(member(*args, **kwargs))

            return called

    contract.apply(Recording(contract.source()))
    return found


def entries(name):
    """Return what test files have under a name, by the kinds that they test."""
    return {
        file.stem.removeprefix("test_"): getattr(module_of(file), name)
        for file in sorted(TESTS.glob("*/test_*.py"))
        if f"\n{name} = " in file.read_text()
    }
