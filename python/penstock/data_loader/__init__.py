"""PyTorch's DataLoader with threads or worker processes: the same arguments, no import of torch."""

from penstock.data_loader.collate import default_collate
from penstock.data_loader.loader import DataLoader
from penstock.data_loader.worker_info import get_worker_info

__all__ = ["DataLoader", "default_collate", "get_worker_info"]
