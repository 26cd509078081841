"""Creation of plans: each source and each transformation adds a stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from penstock import _core, foreign
from penstock.digest import Identity, identity_of
from penstock.encode import Indexable, encode
from penstock.fingerprint import fingerprint
from penstock.labels import label_args
from penstock.on_error import OnError, leaving_out
from penstock.options import merged
from penstock.stage import Stage
from penstock.structure import TensorSpec
from penstock.traits import main_form, traits_of

_WITH_RETRIES = ("map", "filter")


class Plan(Stage):
    """Base of the classes that add stages to a plan; Dataset inherits from all of them.

    Methods of the mixins annotate `self` and the result with a TypeVar, not with Self. Jedi, which
    completes names in notebooks and editors, resolves Self to the mixin, which lacks other methods.
    """

    __slots__ = ()

    _inputs: tuple[Plan, ...]
    # The class of new plans: Dataset, never a subclass. Programs for tf.data often have subclasses
    # whose __new__ returns another dataset, so they cannot be instantiated here.
    _facade: ClassVar[type[Any]]

    @classmethod
    def _make(
        cls,
        kind: str,
        inputs: tuple[Plan, ...],
        args: dict[str, Any],
        name: str | None = None,
        like: Stage | None = None,
    ) -> Self:
        """Create a stage.

        `like`: the stage that it is a copy of, with other inputs or in another form. A copy keeps
        the identities of its functions and its seed, and takes none from `set_seed`'s sequence.
        """
        plan: Self = object.__new__(cls._facade)
        traced = [each for one in inputs for each in one._traced]
        # Classes stay in Python, where the engine looks them up by their names in files.
        foreign.give(kind, args.get("structures"))
        engine_args = {name: value for name, value in args.items() if name != "structures"}
        encoded = encode(kind, engine_args, inputs, traced)
        if traits_of(kind).keeping:
            # The fingerprint identifies elements on disk. Every process computes it again, because
            # files and functions may have changed.
            encoded["fingerprint"] = fingerprint(inputs[0])
        encoded |= label_args(kind, args, name)
        node = None if like is None else like._node
        plan._node = _core.make(kind, [each._node for each in inputs], encoded, node)
        plan._kind = kind
        plan._inputs = inputs
        plan._args = args
        # Computed now, because calls of the functions may change the values that they refer to.
        plan._identities = _identities(args) if like is None else like._identities
        plan._name = name
        plan._written = None
        plan._options = merged(kind, [each._options for each in inputs])
        plan._traced = tuple(dict.fromkeys(traced))
        return plan

    def _then(self, kind: str, *others: Plan, name: str | None = None, **args: Any) -> Self:
        if kind == "shuffle" and self._made_of_indexed_records():
            records = self._inputs[0]._then(kind, name=name, **args)
            plan = self._make(self._kind, (records,), self._args, self._name, self)
            plan._node.take_spec(self._node)
            plan._options = self._options
            return plan
        of_positions = traits_of(kind).of_positions and traits_of(self._kind).fetches
        # If rows are fetched from an input, that input may differ in each epoch.
        if of_positions and (len(self._inputs) == 1 or kind != "repeat"):
            # Selecting and reordering positions is enough: rows are fetched afterwards.
            positions, *fetched_from = self._inputs
            positions = positions._then(kind, name=name, **args)
            inputs = (positions, *fetched_from)
            plan = self._make(self._kind, inputs, self._args, self._name, self)
            plan._options = self._options
            return plan
        return self._make(kind, (self, *others), args, name)

    def _made_of_indexed_records(self) -> bool:
        """Return whether this stage makes a source's elements from records with positions."""
        plan: Plan = self
        while main_form(plan._kind) == "map" and "part_of" in plan._args:
            plan = plan._inputs[0]
        return plan is not self and plan._kind == "indexed_records"

    def _without_errors(self, stage: str, on_error: OnError, max_errors: int | None) -> Self:
        """Return this plan with the stage that `on_error` requires after it."""
        args = leaving_out(stage, on_error, max_errors)
        if on_error == "retry" and stage not in _WITH_RETRIES:
            raise ValueError(
                f'{stage}: on_error="retry" is for functions of {" and ".join(_WITH_RETRIES)}; use '
                '"skip", "log" or a function of (error, info)'
            )
        kept = on_error in ("raise", "retry")
        return self if kept else self._then("ignore_errors", **args)


def _identities(args: Mapping[str, Any]) -> dict[str, Identity]:
    """Return the identities of arguments that are functions."""
    return {
        name: identity_of(value)
        for name, value in args.items()
        if isinstance(value, Indexable)
        or (callable(value) and not isinstance(value, (type, TensorSpec)))
    }
