"""tf.config.experimental: more settings, stored without effect."""

from __future__ import annotations

from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf.config import devices, settings
from penstock.compat.tf.config.devices import (
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_visible_devices,
)

VirtualDeviceConfiguration = devices.LogicalDeviceConfiguration
get_virtual_device_configuration = devices.get_logical_device_configuration
set_virtual_device_configuration = devices.set_logical_device_configuration
get_device_policy = settings.getter("get_device_policy", "device_policy", "silent")
set_device_policy = settings.setter(
    "experimental.set_device_policy", "device_policy", "device_policy"
)
get_synchronous_execution = settings.getter("get_synchronous_execution", "synchronous", True)
set_synchronous_execution = settings.setter(
    "experimental.set_synchronous_execution", "synchronous", "enable"
)
tensor_float_32_execution_enabled = settings.getter(
    "tensor_float_32_execution_enabled", "tensor_float_32", True
)
enable_tensor_float_32_execution = settings.setter(
    "experimental.enable_tensor_float_32_execution", "tensor_float_32"
)


def enable_op_determinism() -> None:
    """Do nothing: results never depend on thread timing."""


def get_device_details(device: devices.PhysicalDevice) -> dict[str, Any]:
    """Return {}: there are no details about the CPU."""
    return {}


def set_memory_growth(device: devices.PhysicalDevice, enable: bool) -> None:
    """Do nothing: memory is always allocated on demand."""
    settings.say_no_effect("experimental.set_memory_growth")


def get_memory_growth(device: devices.PhysicalDevice) -> bool:
    """Return True: memory is always allocated on demand."""
    return True


def get_memory_info(device: str) -> dict[str, int]:
    """Return zeros: memory use is not tracked.

    Raises
    ------
    ValueError
        If the device does not exist.
    """
    if "CPU" not in device.upper():
        raise ValueError(f"No matching devices found for {device!r}")
    return {"current": 0, "peak": 0}


def get_memory_usage(device: str) -> int:
    """Return 0: memory use is not tracked."""
    return get_memory_info(device)["current"]


def reset_memory_stats(device: str) -> None:
    """Do nothing: memory use is not tracked."""
    get_memory_info(device)


def enable_mlir_bridge() -> None:
    """Do nothing: there are no graphs."""


disable_mlir_bridge = enable_mlir_bridge

__all__ = [
    "VirtualDeviceConfiguration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_visible_devices",
]

__dir__ = listing(globals())
