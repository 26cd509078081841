"""Skipping elements that fail: ignore_errors."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.on_error import MAX_ERRORS, leaving_out
from penstock.plan import Plan

_D = TypeVar("_D", bound="IgnoreErrors")


@checked_methods
class IgnoreErrors(Plan):
    """Mixin: error handling."""

    __slots__ = ()

    def ignore_errors(
        self: _D,
        log_warning: bool = False,
        name: str | None = None,
        *,
        max_errors: int | None = MAX_ERRORS,
    ) -> _D:
        """Skip elements that fail.

        Parameters
        ----------
        log_warning : bool
            Log each error as a warning of the `logging` logger ``"penstock"``.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        max_errors : int, optional
            Maximum number of consecutive errors to skip, >= 1; None means no limit.

        Returns
        -------
        Dataset
            The elements that did not fail; their number is not known in advance.

        Raises
        ------
        ValueError
            If `max_errors` is < 1.

        Notes
        -----
        Applies to every error in earlier stages. The `on_error` argument of `map` and other stages
        does the same directly after that stage, and can be a function. After `max_errors`
        consecutive errors, the next one is raised with a note that states the limit, and so is
        every further one until an element succeeds. A loop over an input that always fails
        therefore ends. tf.data has no such limit.

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
