"""PyTorch's DataLoader with threads or worker processes: the same arguments, no import of torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.data_loader.collate import default_collate
    from penstock.data_loader.loader import DataLoader
    from penstock.data_loader.worker_info import get_worker_info

__all__ = ["DataLoader", "default_collate", "get_worker_info"]

# Lazy imports: a worker process needs the code that makes batches, but not the DataLoader.
_HOMES = {"DataLoader": "loader", "default_collate": "collate", "get_worker_info": "worker_info"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
