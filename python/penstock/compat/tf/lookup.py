"""tf.lookup: tables from keys to values."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.dispatch import over_values
from penstock.compat.dtypes import DType, as_dtype
from penstock.compat.errors import FailedPreconditionError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import lookup_experimental as experimental
from penstock.compat.tf import text_table
from penstock.compat.tf.text_table import TextFileIndex
from penstock.ops import strings as _strings


class KeyValueTensorInitializer:
    """The contents of a table.

    Parameters
    ----------
    keys, values : array_like, shape ``(n,)``
        The keys, and the value of each key.
    key_dtype, value_dtype : dtype-like, optional
        The types of keys and values.
    name : str, optional
        A label without effect.
    """

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self.keys = array(keys, key_dtype)
        self.values = array(values, value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return as_dtype(self.keys.dtype)

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return as_dtype(self.values.dtype)


class TextFileInitializer(KeyValueTensorInitializer):
    r"""The contents of a table, read from the lines of a file.

    Parameters
    ----------
    filename : str or path
        The file.
    key_dtype, value_dtype : dtype-like
        The types of keys and values.
    key_index, value_index : int
        The number of the column, or a `TextFileIndex`.
    vocab_size : int, optional
        Number of lines to read; all by default.
    delimiter : str
        The column separator.
    name : str, optional
        A label without effect.
    value_index_offset : int
        An offset added to values that are line numbers.

    Raises
    ------
    NotFoundError
        If the file does not exist.
    InvalidArgumentError
        If a line lacks a column, or a column is not a number.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.io.write_file("words.txt", "the\ncat\n")
    >>> words, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    >>> lines = tf.lookup.TextFileInitializer("words.txt", tf.string, words, tf.int64, number)
    >>> tf.lookup.StaticHashTable(lines, -1).lookup(tf.constant(["cat", "dog"])).numpy()
    array([ 1, -1])
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: Any,
        value_dtype: Any,
        value_index: Any,
        vocab_size: Any = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        wanted = [(key_index, key_dtype), (value_index, value_dtype)]
        keys, values = text_table.columns_of(filename, wanted, vocab_size, delimiter)
        if value_index == TextFileIndex.LINE_NUMBER:
            values = values + int(value_index_offset)
        super().__init__(keys, values, key_dtype, value_dtype)


class StaticHashTable:
    """An immutable table.

    Parameters
    ----------
    initializer : KeyValueTensorInitializer
        The contents of the table.
    default_value : scalar
        The value for all other keys.
    name : str, optional
        Name of the table.
    experimental_is_anonymous : bool
        Ignored.

    Raises
    ------
    FailedPreconditionError
        If a key occurs twice with different values.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> contents = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1])
    >>> tf.lookup.StaticHashTable(contents, -1).lookup(tf.constant(["b", "z"])).numpy()
    array([ 1, -1], dtype=int32)
    """

    def __init__(
        self,
        initializer: KeyValueTensorInitializer,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.name = name
        self.key_dtype = initializer.key_dtype
        self.value_dtype = initializer.value_dtype
        self.default_value = tensor(default_value, self.value_dtype)
        self._dtype = initializer.values.dtype
        self._default = self.default_value.item()
        keys, values = initializer.keys.ravel().tolist(), initializer.values.ravel().tolist()
        self._entries = dict(zip(keys, values, strict=True))
        if len(self._entries) < len(keys):
            self._check_repeated(keys, values)

    def _check_repeated(self, keys: list[Any], values: list[Any]) -> None:
        for key, value in zip(keys, values, strict=True):
            if self._entries[key] != value:
                raise FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {key!r} has {value} and "
                    f"{self._entries[key]}",
                )

    @over_values
    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value of each key in a tensor or ragged tensor."""
        keys = self._checked(keys)
        return self._found(keys, [self._default] * np.size(keys))

    def _checked(self, keys: Any) -> Any:
        keys = array(keys)
        if as_dtype(keys.dtype) != self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self.key_dtype!r}, received: {keys.dtype.name}"
            )
        return keys

    def _found(self, keys: Any, otherwise: list[Any]) -> Any:
        found = map(self._entries.get, keys.ravel().tolist(), otherwise)
        return tensor(np.array(list(found), self._dtype).reshape(keys.shape))

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys."""
        return tensor(len(self._entries), np.int64)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and all values."""
        keys = tensor(np.array([*self._entries], self.key_dtype.dtype))
        return keys, tensor(np.array([*self._entries.values()], self._dtype))

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


class StaticVocabularyTable(StaticHashTable):
    """A table that maps unknown keys to numbers by hashing.

    Parameters
    ----------
    initializer : KeyValueTensorInitializer or None
        The contents of the table: strings or integers, and their numbers; None for no contents.
    num_oov_buckets : int
        How many numbers the unknown keys share.
    lookup_key_dtype : dtype-like, optional
        The type of the keys of `lookup`; int32 keys match int64 ones.
    name : str, optional
        Name of the table.
    experimental_is_anonymous : bool
        Ignored.
    """

    def __init__(
        self,
        initializer: KeyValueTensorInitializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if initializer is None:
            initializer = KeyValueTensorInitializer([], [], lookup_key_dtype or "string", np.int64)
        super().__init__(initializer, 0, name)
        if lookup_key_dtype is not None:
            self.key_dtype = as_dtype(lookup_key_dtype)
        self._buckets = int(num_oov_buckets)

    @over_values
    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the number of each key."""
        keys = self._checked(keys)
        texts = keys.ravel() if keys.dtype.kind == "O" else _texts(keys)
        buckets = _strings.to_hash_bucket_fast(texts, self._buckets) if keys.size else []
        return self._found(keys, [len(self._entries) + int(bucket) for bucket in buckets])

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys, plus the number of hash buckets."""
        return tensor(len(self._entries) + self._buckets, np.int64)


def _texts(numbers: Any) -> Any:
    texts = np.empty(numbers.size, object)
    texts[:] = [str(number).encode() for number in numbers.ravel().tolist()]
    return texts


__all__ = ["TextFileIndex", "experimental"]

__dir__ = listing(globals())
