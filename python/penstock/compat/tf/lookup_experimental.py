"""tf.lookup.experimental: mutable tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import tensor_proto, wire


class MutableHashTable:
    """A mutable table.

    Parameters
    ----------
    key_dtype, value_dtype : dtype-like
        The types of keys and values.
    default_value : array_like
        The value for unknown keys; all values have its shape.
    name : str
        Name of the table.
    checkpoint, experimental_is_anonymous : bool
        Ignored.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
    >>> table.insert(["a"], [7])
    >>> table.lookup(["a", "b"]).numpy()
    array([ 7, -1])
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.name = name
        self.key_dtype = as_dtype(key_dtype)
        self.value_dtype = as_dtype(value_dtype)
        self._default = array(default_value, self.value_dtype)
        self._entries: dict[Any, Any] = {}

    def _keys(self, keys: Any) -> Any:
        return array(keys, None if hasattr(keys, "__tf_tensor__") else self.key_dtype)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Set the values of keys."""
        keys = self._keys(keys)
        rows = array(values, self.value_dtype).reshape(keys.size, *self._default.shape)
        self._entries.update(zip(keys.ravel().tolist(), rows, strict=True))

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Remove keys; unknown keys are ignored."""
        for key in self._keys(keys).ravel().tolist():
            self._entries.pop(key, None)

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """Return the value of each key; for unknown keys, the default or a value per key."""
        keys = self._keys(keys)
        shape = (keys.size, *self._default.shape)
        rows = np.broadcast_to(
            self._default
            if dynamic_default_values is None
            else array(dynamic_default_values, self.value_dtype).reshape(-1, *self._default.shape),
            shape,
        )
        made = np.empty(shape, self.value_dtype.dtype)
        for i, key in enumerate(keys.ravel().tolist()):
            made[i] = self._entries.get(key, rows[i])
        return tensor(made.reshape(keys.shape + self._default.shape))

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys."""
        return tensor(len(self._entries), np.int64)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and all values."""
        values = np.array([*self._entries.values()], self.value_dtype.dtype)
        keys = np.array([*self._entries], self.key_dtype.dtype)
        return tensor(keys), tensor(values.reshape(len(keys), *self._default.shape))

    def get_state(self) -> bytes:
        """Return the contents as bytes, for a checkpoint."""
        return b"".join(
            wire.field(number, tensor_proto.serialized(each))
            for number, each in enumerate(self.export(), 1)
        )

    def set_state(self, state: bytes) -> None:
        """Restore the contents returned by `get_state`."""
        keys, values = (
            tensor_proto.parsed(part)
            for _, part in wire.fields(state, self.name)
            if isinstance(part, bytes)
        )
        self._entries.clear()
        self.insert(keys, values)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


class DenseHashTable(MutableHashTable):
    """A mutable table with two reserved keys.

    Parameters
    ----------
    key_dtype, value_dtype : dtype-like
        The types of keys and values.
    default_value : array_like
        The value for unknown keys; all values have its shape.
    empty_key, deleted_key : scalar
        The reserved keys.
    initial_num_buckets : int, optional
        Ignored.
    name : str
        Name of the table.
    checkpoint, experimental_is_anonymous : bool
        Ignored.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)
        self._unused = [array(each, key_dtype).item() for each in (empty_key, deleted_key)]
        if self._unused[0] == self._unused[1]:
            raise InvalidArgumentError(None, None, "Empty and deleted keys must differ")

    def _keys(self, keys: Any) -> Any:
        keys = super()._keys(keys)
        for key, said in zip(self._unused, ("empty_key", "deleted_key"), strict=True):
            if (keys == key).any():
                raise InvalidArgumentError(
                    None, None, f"Using the {said} as a table key is not allowed"
                )
        return keys

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Set the values of keys; see `insert`."""
        self.insert(keys, values)

    def erase(self, keys: Any, name: str | None = None) -> None:
        """Remove keys; see `remove`."""
        self.remove(keys)


__dir__ = listing(globals())
