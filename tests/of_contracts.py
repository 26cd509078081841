"""Access to each kind's contract, for tests that cover all kinds of datasets."""

import functools
import importlib.util
import inspect
from pathlib import Path

import penstock as ps
from contract import DatasetContract, Variant

TESTS = Path(__file__).resolve().parent


@functools.cache
def module_of(file):
    """Return a test file imported as a separate module."""
    spec = importlib.util.spec_from_file_location(f"of_contracts_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contract_of(kind):
    """Return the first class in test_<kind>.py that defines a contract for a dataset."""
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
    """Return the dataset with which the contract of a kind is tested."""
    return contract_of(kind).make(Variant(calls))


def call_of(kind):
    """Return the arguments, by name, of the method of a kind; `on` is the dataset."""
    contract, found = contract_of(kind), {}
    method = getattr(ps.Dataset, kind)

    class Recording:
        """A dataset that records calls of the method."""

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
    """Return the values that test files define under a name, by the kind that they test."""
    return {
        file.stem.removeprefix("test_"): getattr(module_of(file), name)
        for file in sorted(TESTS.glob("*/test_*.py"))
        if f"\n{name} = " in file.read_text()
    }
