"""Conversion of a batch's leaves to jax.Arrays on their devices."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.adapters.frameworks import framework
from penstock.structure import is_nested, map_leaves, parts_of

_ALIGNMENT = 64  # bytes: JAX shares CPU memory that is aligned to this

# A leaf: its path, its value and the user's sharding for it.
_Leaf = tuple[tuple[Any, ...], Any, Any]


def check_sharding(sharding: Any) -> None:
    """Raise TypeError unless all leaves are None, devices or shardings."""
    jax = framework("to_jax", "jax")

    if isinstance(sharding, jax.sharding.PartitionSpec):
        raise TypeError(
            f"to_jax: a sharding was expected, got {sharding!r}; give "
            "jax.sharding.NamedSharding(mesh, spec)"
        )
    if is_nested(sharding):
        for _, part in parts_of(sharding):
            check_sharding(part)
    elif not (sharding is None or isinstance(sharding, (jax.Device, jax.sharding.Sharding))):
        raise TypeError(
            "to_jax: sharding must be None, a jax.Device, a jax.sharding.Sharding, or a dict, "
            f"tuple or dataclass of them, got {sharding!r}"
        )


def processes_of_rows(sharding: Any) -> int:
    """Return the number of processes with their own rows, the maximum over all leaves."""
    jax = framework("to_jax", "jax")
    counts = [1]

    def count(place: Any) -> None:
        if isinstance(place, jax.sharding.Sharding) and not place.is_fully_addressable:
            counts.append(_row_groups(place))

    map_leaves(count, sharding)
    return max(counts)


def _row_groups(sharding: Any) -> int:
    # Use sizes that every sharding can divide: which rows a process has does not depend on them.
    axes = max(1, len(getattr(sharding, "spec", ())))
    rows: dict[int, set[Any]] = {}
    try:
        indices = sharding.devices_indices_map((sharding.num_devices,) * axes)
    except ValueError:  # the sharding needs more axes than its spec shows
        return len({device.process_index for device in sharding.device_set})
    for device, index in indices.items():
        rows.setdefault(device.process_index, set()).add((index[0].start, index[0].stop))
    return len({frozenset(mine) for mine in rows.values()})


class Placement:
    """Convert batches to jax.Arrays with the settings of the thread that created this object.

    Parameters
    ----------
    sharding : nested
        A sharding accepted by `check_sharding`.
    """

    def __init__(self, sharding: Any) -> None:
        import jax

        self._jax = jax
        self._sharding = sharding
        # Both may be set for a single thread, with a context manager.
        self._device = jax.config.jax_default_device
        self._x64 = jax.config.jax_enable_x64
        self._on_cpu = "cpu" in self._platforms()

    @property
    def platform(self) -> str:
        """Platform of the devices: "cpu" only if all devices are CPUs."""
        return min(self._platforms() - {"cpu"}, default="cpu")

    def _platforms(self) -> set[str]:
        found: set[str] = set()

        def add(place: Any) -> None:
            found.update(device.platform for device in self._devices(place))

        if self._sharding is None or is_nested(self._sharding):
            add(None)
        map_leaves(add, self._sharding)
        return found

    def _devices(self, place: Any) -> set[Any]:
        if place is None:
            place = self._device
        if place is None or isinstance(place, str):
            return {self._jax.local_devices(backend=place)[0]}
        if isinstance(place, self._jax.sharding.Sharding):
            return set(place.device_set)
        return {place}

    def __call__(self, batch: Any) -> Any:
        """Return the batch with its numeric arrays converted to jax.Arrays."""
        leaves = [leaf for leaf in _leaves(batch, self._sharding, ()) if self._is_array(leaf)]
        with self._settings():
            arrays = iter(self._put(leaves))
        return map_leaves(lambda leaf: next(arrays) if _is_number(leaf) else leaf, batch)

    def rows_here(self, rows: int, batch: Any) -> int:
        """Return the number of rows of a global batch that belong to this process."""
        leaves = [leaf for leaf in _leaves(batch, self._sharding, ()) if _has_rows(leaf[1])]
        # A leaf that is whole in every process has as many rows as the sharded ones.
        return min((self._share(rows, *leaf) for leaf in leaves), default=rows)

    def _share(self, rows: int, path: tuple[Any, ...], value: Any, sharding: Any) -> int:
        if not self._is_global(sharding):
            return rows
        # This process may have a part of other axes. They do not affect the rows, so use sizes that
        # every sharding can divide.
        whole = (rows, *[sharding.num_devices] * (value.ndim - 1))
        _check_shape(path, (rows, *value.shape[1:]), sharding, whole)
        indices = sharding.addressable_devices_indices_map(whole)
        mine = {index[0].indices(rows)[:2] for index in indices.values()}
        return sum(stop - start for start, stop in mine)

    def _settings(self) -> contextlib.AbstractContextManager[object]:
        jax, stack = self._jax, contextlib.ExitStack()
        if jax.config.jax_default_device != self._device:
            stack.enter_context(jax.default_device(self._device))
        if jax.config.jax_enable_x64 != self._x64:
            stack.enter_context(jax.enable_x64(self._x64))
        return stack

    def _is_global(self, sharding: Any) -> bool:
        is_sharding = isinstance(sharding, self._jax.sharding.Sharding)
        return is_sharding and not sharding.is_fully_addressable

    def _is_array(self, leaf: _Leaf) -> bool:
        path, value, _ = leaf
        if not _is_number(value):
            return False
        if not _holds(value.dtype):
            raise TypeError(
                f"to_jax: {_name(path)}: a dtype of JAX was expected, got {value.dtype}; "
                "convert it in map, or leave the leaf out"
            )
        return True

    def _put(self, leaves: list[_Leaf]) -> list[Any]:
        values = [_unshared(value) if self._on_cpu else value for _, value, _ in leaves]
        shardings = [sharding for _, _, sharding in leaves]
        one = all(sharding is shardings[0] for sharding in shardings)
        try:
            if values and one and not self._is_global(shardings[0]):
                put: list[Any] = self._jax.device_put(values, shardings[0])
                return put
            return list(map(self._put_one, values, shardings))
        except ValueError:
            for path, value, sharding in leaves:
                is_sharding = isinstance(sharding, self._jax.sharding.Sharding)
                if is_sharding and not self._is_global(sharding):
                    _check_shape(path, np.shape(value), sharding)
            raise

    def _put_one(self, value: Any, sharding: Any) -> Any:
        if self._is_global(sharding):
            return self._jax.make_array_from_process_local_data(sharding, value)
        return self._jax.device_put(value, sharding)


def _check_shape(
    path: tuple[Any, ...],
    shape: tuple[int, ...],
    sharding: Any,
    whole: tuple[int, ...] | None = None,
) -> None:
    """Raise an error that names the leaf if its shape cannot be divided as the sharding requires.

    If `shape` is the shape of one process's part, `whole` is the shape to divide.
    """
    leaf = f"to_jax: {_name(path)}: shape {shape}"
    spec = getattr(sharding, "spec", ())
    if len(spec) > len(shape):
        raise ValueError(
            f"{leaf} has fewer axes than its sharding, {spec}; give a nesting of shardings, with "
            "one of its own for this leaf"
        )
    whole = shape if whole is None else whole
    if _divides(sharding, whole):
        return
    devices = f"{len(sharding.device_set)} devices as {spec or sharding} says"
    if _divides(sharding, (0, *whole[1:])):
        raise ValueError(
            f"{leaf}: a size of the first axis that can be divided among {devices} was expected, "
            f"got {shape[0]}; use batch(drop_remainder=True), to_jax(pad=True), or another size "
            "of batches"
        )
    raise ValueError(
        f"{leaf} cannot be divided among {devices}; give a nesting of shardings, with one of its "
        "own for this leaf"
    )


def _divides(sharding: Any, shape: tuple[int, ...]) -> bool:
    try:
        sharding.shard_shape(shape)
    except ValueError:
        return False
    return True


def _leaves(value: Any, sharding: Any, path: tuple[Any, ...]) -> Iterator[_Leaf]:
    """Yield the leaves in the order of `map_leaves`, each with its path and sharding."""
    if value is None:
        return
    if not is_nested(value):
        if is_nested(sharding):
            raise TypeError(
                f"to_jax: sharding: one for {_name(path)} was expected, which is a leaf, got "
                f"{sharding!r}"
            )
        yield path, value, sharding
        return
    places = dict(parts_of(sharding)) if is_nested(sharding) else None
    parts = parts_of(value)
    if places is not None and places.keys() != {key for key, _ in parts}:
        raise TypeError(
            f"to_jax: sharding: keys {[key for key, _ in parts]} were expected in {_name(path)}, "
            f"got {list(places)}"
        )
    for key, part in parts:
        yield from _leaves(part, sharding if places is None else places[key], (*path, key))


def _name(path: tuple[Any, ...]) -> str:
    return "batch" + "".join(f"[{key!r}]" for key in path)


def _is_number(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "OSUT"


def _has_rows(value: Any) -> bool:
    return bool(getattr(value, "shape", ()))


@functools.cache
def _holds(dtype: np.dtype[Any]) -> bool:
    """Return whether JAX supports the dtype, possibly with fewer bits."""
    if dtype.type.__module__ == "ml_dtypes":  # bfloat16 and similar types, which JAX uses itself
        return True
    return dtype.kind in "biufc" and dtype.char not in "gG"  # long doubles


def _unshared(value: Any) -> Any:
    """Return the leaf, or a copy if another owner may write to its memory.

    The engine passes arrays as writeable if nothing else refers to them. It never modifies arrays
    that it passes several times (from a cache).
    """
    if not isinstance(value, np.ndarray) or value.flags.writeable or value.nbytes == 0:
        return value
    if getattr(value.base, "foreign", True) is False:  # a base of the engine
        return value
    memory = np.empty(value.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    copy = memory[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
    np.copyto(copy, value)
    return copy
