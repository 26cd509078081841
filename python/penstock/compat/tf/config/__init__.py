"""tf.config: the CPU is the only device; settings of threads and memory have no effect."""

from __future__ import annotations

from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf.config import experimental, optimizer, settings, threading
from penstock.compat.tf.config.devices import (
    LogicalDevice,
    LogicalDeviceConfiguration,
    PhysicalDevice,
    get_logical_device_configuration,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_logical_device_configuration,
    set_visible_devices,
)

get_soft_device_placement = settings.getter(
    "get_soft_device_placement", "soft_device_placement", True
)
set_soft_device_placement = settings.setter(
    "set_soft_device_placement", "soft_device_placement", silent=True
)
functions_run_eagerly = settings.getter("functions_run_eagerly", "run_functions_eagerly", False)
run_functions_eagerly = settings.setter(
    "run_functions_eagerly", "run_functions_eagerly", "run_eagerly", silent=True
)
experimental_functions_run_eagerly = functions_run_eagerly
experimental_run_functions_eagerly = run_functions_eagerly


def experimental_connect_to_cluster(*args: Any, **kwargs: Any) -> None:
    """Raise ValueError: there are no other machines."""
    raise ValueError("config: there is no cluster to connect to; see Dataset.shard")


experimental_connect_to_host = experimental_connect_to_cluster

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "get_logical_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "set_logical_device_configuration",
    "set_visible_devices",
    "threading",
]

__dir__ = listing(globals())
