"""tf.lookup: tables from keys to values."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.dispatch import over_values
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.ops.strings import to_hash_bucket_fast


class KeyValueTensorInitializer:
    """The contents of a table.

    Parameters
    ----------
    keys, values : array_like, shape ``(n,)``
        Row by row.
    key_dtype, value_dtype : dtype-like, optional
        Their types.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None
    ) -> None:
        self.keys = tensor(keys, key_dtype)
        self.values = tensor(values, value_dtype)


class StaticHashTable:
    """A table that does not change.

    Parameters
    ----------
    initializer : KeyValueTensorInitializer
        Its contents.
    default_value : scalar
        What is found for other keys.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> contents = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1])
    >>> tf.lookup.StaticHashTable(contents, -1).lookup(tf.constant(["b", "z"])).numpy()
    array([ 1, -1], dtype=int32)
    """

    def __init__(
        self, initializer: KeyValueTensorInitializer, default_value: Any, name: str | None = None
    ) -> None:
        self._dtype = initializer.values.dtype
        self._default = default_value
        self._entries = dict(
            zip(initializer.keys.tolist(), initializer.values.tolist(), strict=True)
        )

    @over_values
    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value for each key."""
        return self._found(tensor(keys), [self._default] * np.size(keys))

    def _found(self, keys: Any, otherwise: list[Any]) -> Any:
        found = map(self._entries.get, keys.ravel().tolist(), otherwise)
        return tensor(np.array(list(found), self._dtype).reshape(keys.shape))

    def size(self) -> Any:
        """Return the number of keys."""
        return tensor(len(self._entries), np.int64)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


class StaticVocabularyTable(StaticHashTable):
    """A table in which every other key has a number as well, by its hash.

    Parameters
    ----------
    initializer : KeyValueTensorInitializer
        Its contents: strings, and their numbers.
    num_oov_buckets : int
        How many numbers the other keys share.
    """

    def __init__(
        self, initializer: KeyValueTensorInitializer, num_oov_buckets: int, **ignored: Any
    ) -> None:
        super().__init__(initializer, 0)
        self._buckets = num_oov_buckets

    @over_values
    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the number of each key."""
        keys = tensor(keys)
        buckets = to_hash_bucket_fast(np.asarray(keys).ravel(), self._buckets)
        return self._found(keys, [len(self._entries) + int(bucket) for bucket in buckets])


__dir__ = listing(globals())
