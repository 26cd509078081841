"""Sets of named options, which are unset at first."""

from __future__ import annotations

import difflib
import inspect
import math
import operator
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np

from penstock.arguments.checked import checked

_MOST = 2**63 - 1
_T = TypeVar("_T")
_G = TypeVar("_G", bound="OptionSet")


class Option(Generic[_T]):
    """One option of an `OptionSet`: a value of one type, or None to unset it."""

    def __init__(
        self,
        kind: type[_T],
        default: _T | None = None,
        *,
        at_least: int | None = None,
        at_most: int = 2**63 - 1,
        one_of: tuple[_T, ...] = (),
    ) -> None:
        self.kind = kind
        self.default = default
        self.at_least = at_least
        self.at_most = at_most
        self.one_of = one_of

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.owner = owner.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> Option[_T]: ...
    @overload
    def __get__(self, instance: OptionSet, owner: type) -> _T | None: ...
    def __get__(self, instance: OptionSet | None, owner: type) -> Any:
        return self if instance is None else instance._values.get(self.name, self.default)

    def __set__(self, instance: OptionSet, value: _T | None) -> None:
        if value is None:
            instance._values.pop(self.name, None)
        else:
            instance._values[self.name] = self._checked(value)

    def _checked(self, value: Any) -> Any:
        number = self.kind is int and not isinstance(value, bool)
        place = f"{self.owner}.{self.name}"
        if number and hasattr(value, "__index__"):
            with suppress(TypeError):  # arrays with several items also have __index__
                value = operator.index(value)
        if self.kind is float:
            value = _finite(place, value)
        if not isinstance(value, self.kind) or (self.kind is int and not number):
            raise TypeError(f"{place}: {self.kind.__name__} was expected, got {value!r}")
        if number and not -_MOST - 1 <= value <= _MOST:  # type: ignore[operator]
            raise ValueError(f"{place}: an int of 64 bits was expected, got {value}")
        least: Any = self.at_least
        if least is not None and value < least:
            raise ValueError(f"{place} must be >= {least}, got {value}")
        most: Any = self.at_most
        if (number or self.kind is float) and value > most:
            raise ValueError(f"{place} must be <= {most}, got {value}")
        if self.one_of and value not in self.one_of:
            raise ValueError(f"{place} must be one of {self.one_of}, got {value!r}")
        return value


def _finite(place: str, value: Any) -> float:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not real and not isinstance(value, (np.floating, np.integer)):
        raise TypeError(f"{place}: a number was expected, got {value!r:.80}")
    if not math.isfinite(value):
        raise ValueError(f"{place}: a finite number was expected, got {value!r}")
    return float(value)


class Group(Generic[_G]):
    """A set of options inside another one."""

    def __init__(self, kind: type[_G]) -> None:
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.owner = owner.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> Group[_G]: ...
    @overload
    def __get__(self, instance: OptionSet, owner: type) -> _G: ...
    def __get__(self, instance: OptionSet | None, owner: type) -> Any:
        if instance is None:
            return self
        if self.name not in instance._values:
            instance._values[self.name] = self.kind()
        return instance._values[self.name]

    def __set__(self, instance: OptionSet, value: _G) -> None:
        if not isinstance(value, self.kind):
            raise TypeError(
                f"{self.owner}.{self.name}: {self.kind.__name__} was expected, got {value!r}"
            )
        instance._values[self.name] = value


class Alias:
    """An alias of another option."""

    name = ""

    def __init__(self, *path: str) -> None:
        self.path = path

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"{owner.__name__}.{name}"

    def __get__(self, instance: OptionSet | None, owner: type) -> Any:
        return self if instance is None else operator.attrgetter(".".join(self.path))(instance)

    def __set__(self, instance: OptionSet, value: Any) -> None:
        for name in self.path[:-1]:
            instance = getattr(instance, name)
        try:
            setattr(instance, self.path[-1], value)
        except (TypeError, ValueError) as error:
            if not self.name:
                raise
            of = f"{type(instance).__name__}.{self.path[-1]}"
            raise type(error)(str(error).replace(of, self.name, 1)) from None


class OptionSet:
    """Base class of all options."""

    __slots__ = ("_values",)

    __signature__ = inspect.Signature()  # for help(): arguments are rejected

    _values: dict[str, Any]

    def __init__(self, *args: Any, **values: Any) -> None:
        if args or values:
            name = next(iter(values), "name")
            raise TypeError(
                f"{type(self).__name__}: no arguments were expected, got "
                f"{', '.join([*map(repr, args), *values])}; set options one by one: "
                f"options = {type(self).__name__}(); options.{name} = ..."
            )
        object.__setattr__(self, "_values", {})

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(vars(type(self)).get(name), (Option, Group, Alias)):
            raise self._unknown(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:  # called only for missing attributes
        raise AttributeError(name) if name.startswith("_") else self._unknown(name)

    def _unknown(self, name: str) -> AttributeError:
        kinds = (Option, Group, Alias)
        names = [n for n, v in vars(type(self)).items() if isinstance(v, kinds)]
        near = difflib.get_close_matches(name, names, 1)
        if not near:  # search the groups
            groups = [n for n in names if isinstance(getattr(type(self), n), Group)]
            for group in groups:
                inner = vars(getattr(type(self), group).kind)
                inner = [n for n, v in inner.items() if isinstance(v, kinds)]
                near += [f"{group}.{n}" for n in difflib.get_close_matches(name, inner, 1, 0.8)]
        return AttributeError(
            f"{type(self).__name__}: there is no option {name!r}; perhaps "
            f"{', '.join(near or names)}"
        )

    def set_values(self) -> dict[str, Any]:
        """Return the values that are set, by name; ``group.option`` inside a group."""
        found: dict[str, Any] = {}
        for name, option in vars(type(self)).items():
            value = self._values.get(name)
            if isinstance(option, Option) and value is not None:
                found[name] = value
            elif isinstance(option, Group) and value is not None:
                found.update({f"{name}.{n}": v for n, v in value.set_values().items()})
        return found

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Self:
        """Return options with these values, whose names are as in `set_values`."""
        options = cls()
        for name, value in values.items():
            Alias(*name.split(".")).__set__(options, value)
        return options

    @checked
    def merge(self, options: Self) -> Self:
        """Return these options, overridden by the values that `options` sets.

        Parameters
        ----------
        options : the same class
            Values that are None here keep the value of these options.

        Returns
        -------
        the same class
            A new object.

        Raises
        ------
        TypeError
            If `options` is of another class.
        """
        self._check_same("merge", options)
        return self._of(self.set_values() | options.set_values())

    def _check_same(self, method: str, options: Any) -> None:
        if type(options) is not type(self):
            raise TypeError(
                f"{method}: options must be {type(self).__name__}, got {options!r:.200}"
            )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.set_values() == other.set_values()

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self.set_values(),)

    def __repr__(self) -> str:
        parts = (f"{name}={value!r}" for name, value in self.set_values().items())
        return f"{type(self).__name__}({', '.join(parts)})"
