"""Programs that run on both TensorFlow and penstock, in one table.

A case is a function that takes `tf`, the module tensorflow or its stand-in, and returns a dataset.
If it has a parameter `folder`, it may write files there. Dtypes are explicit, because penstock
converts Python numbers to int64 and float64.
"""

import importlib
import inspect

MODULES = [
    *("sources", "files", "csv_files", "mapping", "ordering", "batching", "combining", "errors"),
    *("grouping", "csv_batches", "databases", "random_access"),
]


class Case:
    """One program, and the known differences of penstock."""

    def __init__(self, function, differs="", ordered=True, spec=True, most=12):
        self.name = function.__name__
        self.function = function
        self.differs = differs  # words of docs/guides/migrating.md that explain it
        self.ordered = ordered  # False: the order is random
        self.spec = spec  # False: the first element may fail, so there is no spec
        self.most = most  # maximum number of compared steps

    def build(self, tf, folder):
        wants = "folder" in inspect.signature(self.function).parameters
        return self.function(tf, folder) if wants else self.function(tf)


def case(**known):
    """Return a decorator that makes a case of a function."""

    def decorate(function):
        function.case = Case(function, **known)
        return function

    return decorate


def cases(module):
    """Return the cases of one module of programs."""
    found = vars(importlib.import_module(f"programs.{module}")).items()
    return [thing.case for name, thing in found if hasattr(thing, "case") and name[0] != "_"]
