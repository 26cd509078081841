"""The handle on a plan: every source makes one, and every transformation makes one of others."""

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
    """Base of what adds stages to a plan; Dataset is all of these together.

    Methods of the mixins annotate `self` and the result with a TypeVar, not with Self: Jedi, which
    completes names in notebooks and editors, takes Self for the mixin, which lacks other methods.
    """

    __slots__ = ()

    _inputs: tuple[Plan, ...]
    # What plans are made as: Dataset, and no subclass of it. One may be a function in disguise (its
    # __new__ returns another dataset), as is common in programs written for tf.data.
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
        # Classes stay in Python: the engine asks for them by the names that files have.
        foreign.give(kind, args.get("structures"))
        engine_args = {name: value for name, value in args.items() if name != "structures"}
        encoded = encode(kind, engine_args, inputs, traced)
        if traits_of(kind).keeping:
            # What it keeps on disk is known by this. Every process looks again: files and functions
            # may have changed meanwhile.
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
        # What rows are fetched from may differ from epoch to epoch, where it is an input.
        if of_positions and (len(self._inputs) == 1 or kind != "repeat"):
            # Which rows come, and in what order, is decided before any is fetched.
            positions, *fetched_from = self._inputs
            positions = positions._then(kind, name=name, **args)
            inputs = (positions, *fetched_from)
            plan = self._make(self._kind, inputs, self._args, self._name, self)
            plan._options = self._options
            return plan
        return self._make(kind, (self, *others), args, name)

    def _made_of_indexed_records(self) -> bool:
        """Return whether this makes a source's elements of records that have positions."""
        plan: Plan = self
        while main_form(plan._kind) == "map" and "part_of" in plan._args:
            plan = plan._inputs[0]
        return plan is not self and plan._kind == "indexed_records"

    def _without_errors(self, stage: str, on_error: OnError, max_errors: int | None) -> Self:
        """Return this plan with what a stage's `on_error` asks for after it."""
        args = leaving_out(stage, on_error, max_errors)
        if on_error == "retry" and stage not in _WITH_RETRIES:
            raise ValueError(
                f'{stage}: on_error="retry" is for functions of {" and ".join(_WITH_RETRIES)}; use '
                '"skip", "log" or a function of (error, info)'
            )
        kept = on_error in ("raise", "retry")
        return self if kept else self._then("ignore_errors", **args)


def _identities(args: Mapping[str, Any]) -> dict[str, Identity]:
    """Return the identities of callable arguments."""
    return {
        name: identity_of(value)
        for name, value in args.items()
        if isinstance(value, Indexable)
        or (callable(value) and not isinstance(value, (type, TensorSpec)))
    }
