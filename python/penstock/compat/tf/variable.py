"""tf.Variable: a tensor that can be reassigned and saved."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.compat.dtypes import DType, as_dtype
from penstock.compat.listing import listing
from penstock.compat.shape import TensorShape
from penstock.compat.tensor import DEVICE, OPERATORS, Reference, converted, tensor
from penstock.compat.tf import indexing, tensor_proto
from penstock.compat.values import register_value


class VariableSynchronization(enum.Enum):
    """When to synchronise replicas; there is only one."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How to aggregate the values of replicas; there is only one."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class Variable:
    """A tensor that can be reassigned.

    Parameters
    ----------
    initial_value : array_like or callable
        The initial value, or a function that returns it.
    trainable : bool, optional
        The value of the attribute `trainable`, without other effects.
    validate_shape, caching_device, variable_def, import_scope, constraint : object
        Ignored.
    name : str, optional
        Name of the variable.
    dtype : dtype-like, optional
        The type; by default, the type of the initial value.
    synchronization, aggregation, experimental_enable_variable_lifting : object
        Ignored.
    shape : sequence of int or None, optional
        The shape of all values; by default, the shape of the initial one.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> step = tf.Variable(0)
    >>> step.assign_add(2).numpy(), (step + 1).numpy()
    (np.int32(2), np.int32(3))
    """

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 2.0

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if initial_value is None:
            raise ValueError("The `initial_value` argument must be specified to tf.Variable")
        first = tensor(initial_value() if callable(initial_value) else initial_value, dtype)
        self._value = np.array(first)
        self._shape = TensorShape(first.shape if shape is None else shape)
        self._lock = threading.Lock()
        self.name = f"{name or 'Variable'}:0"
        self.trainable = trainable is not False

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return as_dtype(self._value.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape of the values."""
        return self._shape

    @property
    def device(self) -> str:
        """The device of the value: the CPU."""
        return DEVICE

    def get_shape(self) -> TensorShape:
        """Return `shape`."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Check the shape, and record the sizes that it specifies."""
        self._shape = self._shape.merge_with(shape)

    def value(self) -> Any:
        """Return the current value as a tensor, which later assignments do not change."""
        return tensor(self._value)

    def read_value(self) -> Any:
        """Return the current value as a tensor, which later assignments do not change."""
        return self.value()

    def numpy(self) -> Any:
        """Return a copy of the value in NumPy's form."""
        return self._value.copy()[()]

    def is_initialized(self, name: str | None = None) -> Any:
        """Return True: variables always have a value."""
        return tensor(True)

    def ref(self) -> Reference:
        """Return a hashable reference to the variable, for dict keys."""
        return Reference(self)

    def assign(
        self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> Variable:
        """Assign a value, and return the variable.

        Raises
        ------
        ValueError
            If the value has another shape.
        TypeError
            If the value has another type.
        """
        return self._update(lambda old: converted(value, old.dtype))

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> Variable:
        """Add to the value, and return the variable."""
        return self._update(lambda old: old + converted(delta, old.dtype))

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> Variable:
        """Subtract from the value, and return the variable."""
        return self._update(lambda old: old - converted(delta, old.dtype))

    def _update(self, change: Callable[[Any], Any]) -> Variable:
        with self._lock:
            made = change(tensor(self._value))
            if not self._shape.is_compatible_with(np.shape(made)):
                raise ValueError(
                    f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable "
                    f"shape {self._shape}, and the assigned value shape {np.shape(made)} are "
                    "incompatible."
                )
            # Values that were read before must not change.
            self._value = np.array(made)
        return self

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Add to the values at indices, and return the variable."""
        return self._scatter("add", indices, updates)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Subtract from the values at indices, and return the variable."""
        return self._scatter("sub", indices, updates)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Replace the values at indices, and return the variable."""
        return self._scatter("update", indices, updates)

    def _scatter(self, how: str, indices: Any, updates: Any) -> Variable:
        scattered = vars(indexing)[f"tensor_scatter_nd_{how}"]
        return self._update(lambda old: scattered(old, indices, updates))

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """Return the values at indices; see `tf.gather_nd`."""
        return indexing.gather_nd(self._value, indices)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Return the rows at indices; see `tf.gather`."""
        return tensor(self._value[np.asarray(indices)])

    def get_state(self) -> bytes:
        """Return the value as bytes, for a checkpoint."""
        return tensor_proto.serialized(self._value)

    def set_state(self, state: bytes) -> None:
        """Restore the value returned by `get_state`."""
        self.assign(tensor_proto.parsed(state, self.dtype))

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return tensor(self._value, dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._value, dtype)

    def __getitem__(self, key: Any) -> Any:
        return self.value()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value())

    def __len__(self) -> int:
        return len(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __index__(self) -> int:
        return self._value.__index__()

    def __reduce__(self) -> Any:
        return _variable, (self._value, self._shape, self.name, self.trainable)

    def __deepcopy__(self, memo: Any) -> Variable:
        return _variable(self._value, self._shape, self.name, self.trainable)

    def __repr__(self) -> str:
        value = self.numpy()
        shown = str(value) if isinstance(value, np.generic) else repr(value)
        return (
            f"<tf.Variable {self.name!r} shape={self._shape} dtype={self.dtype.name}, "
            f"numpy={shown}>"
        )


def _variable(value: Any, shape: Any, name: str, trainable: bool) -> Variable:
    return Variable(value, trainable, name=name.removesuffix(":0"), shape=shape)


def _method(name: str) -> Callable[..., Any]:
    def method(self: Variable, *others: Any) -> Any:
        return getattr(self.value(), name)(*map(_read, others))

    method.__name__ = name
    return method


def _read(value: Any) -> Any:
    return value.value() if isinstance(value, Variable) else value


def _in_place(name: str) -> Callable[..., Any]:
    def method(self: Variable, other: Any) -> Any:
        raise RuntimeError(f"Variable {name}= value is not supported: use assign or assign_add")

    return method


for _name in OPERATORS:
    setattr(Variable, _name, _method(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(Variable, f"__i{_name}__", _in_place(_name))

register_value(Variable, Variable.value)

__dir__ = listing(globals())
