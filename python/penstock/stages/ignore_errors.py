"""What becomes of elements that fail: ignore_errors."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.on_error import MAX_ERRORS, leaving_out
from penstock.plan import Plan

_D = TypeVar("_D", bound="IgnoreErrors")


@checked_methods
class IgnoreErrors(Plan):
    """Mixin: elements that fail, left out."""

    __slots__ = ()

    def ignore_errors(
        self: _D,
        log_warning: bool = False,
        name: str | None = None,
        *,
        max_errors: int | None = MAX_ERRORS,
    ) -> _D:
        """Leave out the elements that fail.

        Parameters
        ----------
        log_warning : bool
            Report each one as a warning of the `logging` logger ``"penstock"``.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        max_errors : int, optional
            The most errors in a row to leave out, >= 1; None means any number.

        Returns
        -------
        Dataset
            The elements that did not fail; how many is unknown beforehand.

        Raises
        ------
        ValueError
            If `max_errors` is < 1.

        Notes
        -----
        This applies to every error of the stages before; `on_error` of `map` and others does the
        same directly after that stage, and can be a function. After `max_errors` in a row were left
        out, the next one is raised, with a note that says so, and so is every one after it until an
        element comes: an input that only fails ends the loop over it. tf.data has no such bound.

        Examples
        --------
        >>> ds = ps.Dataset.range(4).map(lambda x: 6 // int(x)).ignore_errors()
        >>> [int(x) for x in ds]
        [6, 3, 2]
        """
        on_error = "log" if log_warning else "skip"
        return self._then(
            "ignore_errors", name=name, **leaving_out("ignore_errors", on_error, max_errors)
        )
