"""tf.test: queries about the machine."""

from __future__ import annotations

from typing import Any

from penstock.compat.listing import listing


def gpu_device_name() -> str:
    """Return "": there is no GPU."""
    return ""


def is_gpu_available(cuda_only: Any = False, min_cuda_compute_capability: Any = None) -> bool:
    """Return False: there is no GPU."""
    return False


def is_built_with_cuda() -> bool:
    """Return False: there is no GPU."""
    return False


is_built_with_rocm = is_built_with_gpu_support = is_built_with_xla = is_built_with_cuda


def is_cpu_target_available(target: str) -> bool:
    """Return False: there is no compiler."""
    return False


__dir__ = listing(globals())
