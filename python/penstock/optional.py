"""An element that may be missing, as returned by `Iterator.get_next_as_optional`."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock.arguments.checked import checked
from penstock.arrays import as_tensors
from penstock.structure import TensorSpec

_MISSING = object()


class Optional:
    """An element, or nothing if the data has ended.

    Examples
    --------
    >>> it = iter(ps.Dataset.range(1))
    >>> optional = it.get_next_as_optional()
    >>> optional.has_value(), optional.get_value()
    (True, np.int64(0))
    >>> it.get_next_as_optional().has_value()
    False
    """

    __slots__ = ("_spec", "_value")

    @checked
    def __init__(self, value: Any = _MISSING, element_spec: Any = None) -> None:
        self._value = value
        self._spec = element_spec

    @staticmethod
    @checked
    def from_value(value: Any) -> Optional:
        """Return an optional that has a value.

        Parameters
        ----------
        value : nested arrays
            The value, which `get_value` returns unchanged.

        Returns
        -------
        Optional
            ``has_value()`` is True.

        Examples
        --------
        >>> ps.experimental.Optional.from_value(3).element_spec
        TensorSpec(shape=(), dtype=int64)
        """
        return Optional(value)

    @staticmethod
    @checked
    def empty(element_spec: Any) -> Optional:
        """Return an optional without a value.

        Parameters
        ----------
        element_spec : nested TensorSpec
            Types and shapes of the missing value.

        Returns
        -------
        Optional
            ``has_value()`` is False.

        Examples
        --------
        >>> ps.experimental.Optional.empty(ps.TensorSpec((), np.int32)).has_value()
        False
        """
        return Optional(element_spec=element_spec)

    def has_value(self, name: str | None = None) -> bool:
        """Return whether there is a value.

        Parameters
        ----------
        name : str, optional
            Ignored; accepted for compatibility with TensorFlow.
        """
        return self._value is not _MISSING

    def get_value(self, name: str | None = None) -> Any:
        """Return the value.

        Parameters
        ----------
        name : str, optional
            Ignored; accepted for compatibility with TensorFlow.

        Raises
        ------
        ValueError
            If there is no value.
        """
        if self._value is _MISSING:
            raise ValueError("get_value: the optional has no value; ask has_value() first")
        return self._value

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the value, or of the missing value."""
        if self._spec is None and self.has_value():
            value = _core.Value(as_tensors("from_tensors", self._value), True)
            self._spec = _core.make("from_tensors", [], {"tensors": value}).spec(TensorSpec)
        return self._spec

    def __repr__(self) -> str:
        return f"Optional({self._value!r})" if self.has_value() else "Optional.empty()"
