"""The `on_error` arguments of stages, which add an `ignore_errors` stage after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.arguments.checks import shown
from penstock.errors import ErrorInfo
from penstock.labels import stage_label
from penstock.printable import printable

OnError: TypeAlias = str | Callable[[Exception, ErrorInfo], bool | None]

MAX_ERRORS = 100
_RETRIES = 3  # of on_error="retry"


class ErrorHandler:
    """Called by the engine with the error of an element that may be skipped."""

    def __init__(self, function: Callable[[Exception, ErrorInfo], bool | None]) -> None:
        self.function = function

    def __call__(
        self,
        error: Exception,
        stage: str,
        element: Any,
        file: str,
        offset: Any,
        name: str,
        function: str,
        text: str,
    ) -> tuple[()]:
        """Call the function; an exception raised here is raised instead of skipping the element."""
        info = ErrorInfo(
            stage=stage,
            element=int(element),
            file=file or None,
            offset=None if offset < 0 else int(offset),
            name=name or None,
            function=function or None,
            text=text or None,
        )
        answer = self.function(error, info)
        if answer is None or answer is True:
            return ()
        if answer is False:
            raise error
        raise TypeError(
            f"{stage}: on_error must return None or True (leave the element out) or False (raise "
            f"the error), got {answer!r}"
        ) from error

    @property
    def __wrapped__(self) -> Callable[[Exception, ErrorInfo], bool | None]:
        return self.function

    def __repr__(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__name__)


def _check(stage: str, on_error: OnError) -> None:
    known = isinstance(on_error, str) and on_error in ("raise", "skip", "log", "retry")
    if not (callable(on_error) or known):
        raise ValueError(
            f'{stage}: on_error must be "raise", "skip", "log", "retry" or a function of (error, '
            f"info), got {shown(on_error)}"
        )


def retrying(stage: str, on_error: OnError, max_retries: int | None) -> dict[str, int]:
    """Return the argument of an engine stage with the maximum number of retries."""
    _check(stage, on_error)
    if max_retries is None:
        return {"max_retries": _RETRIES} if on_error == "retry" else {}
    if on_error == "raise":
        raise ValueError(
            f"{stage}: max_retries counts calls that are made again; give on_error too: "
            '"retry", or "skip", "log" or a function for what still fails then'
        )
    return {"max_retries": max_retries}


def leaving_out(stage: str, on_error: OnError, max_errors: int | None) -> dict[str, Any]:
    """Return the arguments of the engine's ignore_errors."""
    _check(stage, on_error)
    if max_errors is not None and max_errors < 1:
        raise ValueError(f"{stage}: max_errors must be >= 1, or None for any, got {max_errors}")
    if on_error in ("raise", "retry") and max_errors != MAX_ERRORS:
        raise ValueError(
            f"{stage}: max_errors counts elements that are left out; give on_error too: "
            '"skip", "log" or a function'
        )
    args: dict[str, Any] = {"max_errors": max_errors}
    if stage != "ignore_errors":
        args["stage"] = stage
    if callable(on_error):
        args.update(handler=ErrorHandler(on_error), decides=True)
    elif on_error == "log":
        args.update(handler=ErrorHandler(log_error))
    return args


def log_error(error: Exception, info: ErrorInfo) -> None:
    """Log a skipped element as a warning of the logger "penstock"."""
    import logging

    place = f"{stage_label(info.stage, info.function, info.name)}: element {info.element}"
    if info.text is not None:
        place += f" {info.text}" if info.text.startswith("(") else f" ({info.text})"
    if info.file is not None:
        place += f" (file {printable(info.file)}"
        place += ")" if info.offset is None else f", byte {info.offset})"
    said = printable(str(error))
    logging.getLogger("penstock").warning("%s skipped: %s: %s", place, type(error).__name__, said)
