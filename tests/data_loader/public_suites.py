"""Run torchdata's tests of StatefulDataLoader with penstock's DataLoader instead.

``python tests/data_loader/public_suites.py LOADER PATH/test_dataloader.py [pytest arguments]``,
where LOADER is torchdata, thread or process. The test file is from a checkout of pytorch/data at
the installed version of torchdata.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import torchdata.stateful_dataloader as public
import torchdata.stateful_dataloader.stateful_dataloader as home

import penstock as ps

_VARIABLE = "PENSTOCK_PUBLIC_SUITES"  # the kind of loader, passed on to child processes


def _replace_loader(workers: str) -> None:
    """Replace torchdata's loader with penstock's, with threads or processes as workers."""

    class StatefulDataLoader(ps.DataLoader):
        def __init__(
            self, dataset: Any, *args: Any, snapshot_every_n_steps: int = 1, **kwargs: Any
        ) -> None:
            if workers == "process":
                kwargs.setdefault("worker_method", "process")
            super().__init__(dataset, *args, **kwargs)

    public.StatefulDataLoader = home.StatefulDataLoader = StatefulDataLoader


if __name__ == "__main__":
    os.environ[_VARIABLE] = sys.argv.pop(1)
# Child processes of the tests import this module as their main program, so it replaces the loader
# there too.
if os.environ.get(_VARIABLE) in ("thread", "process"):
    _replace_loader(os.environ[_VARIABLE])
if __name__ == "__main__":
    import pytest

    # PyTorch's TestCase would import it in the first test, which might exceed its timeout.
    importlib.import_module("torch._dynamo")
    sys.exit(pytest.main(sys.argv[1:]))
