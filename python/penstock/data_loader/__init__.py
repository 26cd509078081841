"""PyTorch's DataLoader with threads of the engine: the same arguments, no import of torch."""

from penstock.data_loader.collate import default_collate
from penstock.data_loader.loader import DataLoader

__all__ = ["DataLoader", "default_collate"]
