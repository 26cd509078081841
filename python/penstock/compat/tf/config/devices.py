"""The devices of tf.config: a single CPU."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.compat.listing import listing
from penstock.compat.tf.config import settings


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as seen by a program."""

    name: str
    device_type: str


class LogicalDeviceConfiguration:
    """Configuration of a logical device; without effect.

    Parameters
    ----------
    memory_limit : int, optional
        Memory in megabytes.
    experimental_priority, experimental_device_ordinal : int, optional
        Ignored.
    """

    def __init__(
        self,
        memory_limit: int | None = None,
        experimental_priority: int | None = None,
        experimental_device_ordinal: int | None = None,
    ) -> None:
        self.memory_limit = memory_limit


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of the machine, or those of a given type: a single CPU.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.config.list_physical_devices("GPU")
    []
    """
    return [_CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that a program sees, or those of a given type: a single CPU."""
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices that a program sees: a single CPU."""
    return list_physical_devices(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Do nothing: there are no GPUs to hide, and the CPU stays visible."""
    shown = devices if isinstance(devices, (list, tuple)) else [devices]
    if any(device != _CPU for device in shown):
        raise ValueError(f"Unrecognized device: {devices!r}")


def get_logical_device_configuration(device: PhysicalDevice) -> None:
    """Return None: devices are not divided."""


def set_logical_device_configuration(device: PhysicalDevice, logical_devices: Any) -> None:
    """Do nothing: devices are not divided."""
    settings.say_no_effect("set_logical_device_configuration")


__dir__ = listing(globals())
