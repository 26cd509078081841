"""Programs that run over TensorFlow and over penstock: the table that both sides go through.

A case is a function of `tf`, the module tensorflow or what stands in for it, that returns a
dataset; one with a parameter `folder` may write files there. Dtypes are given, because Python's own
numbers are int64 and float64 here.
"""

import importlib
import inspect

MODULES = [
    *("sources", "files", "csv_files", "mapping", "ordering", "batching", "combining", "errors"),
    *("grouping", "csv_batches", "databases", "random_access"),
]


class Case:
    """One program, and what is known of the ways in which penstock differs."""

    def __init__(self, function, differs="", ordered=True, spec=True, most=12):
        self.name = function.__name__
        self.function = function
        self.differs = differs  # words of docs/guides/migrating.md that explain it
        self.ordered = ordered  # False: the order is random
        self.spec = spec  # False: the first element may fail, so that there is none
        self.most = most  # steps that are looked at

    def build(self, tf, folder):
        wants = "folder" in inspect.signature(self.function).parameters
        return self.function(tf, folder) if wants else self.function(tf)


def case(**known):
    """Make a case of a function."""

    def decorate(function):
        function.case = Case(function, **known)
        return function

    return decorate


def cases(module):
    """List the cases of one module of programs."""
    found = vars(importlib.import_module(f"programs.{module}")).items()
    return [thing.case for name, thing in found if hasattr(thing, "case") and name[0] != "_"]
