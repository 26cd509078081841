"""The source for Python iterables: from_generator."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from types import AsyncGeneratorType, GeneratorType
from typing import Any, Literal, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.on_error import MAX_ERRORS, OnError
from penstock.plan import Plan
from penstock.structure import TensorSpec
from penstock.workers.process_function import sent
from penstock.workers.setup import Setup, setup_of

_D = TypeVar("_D", bound="FromGenerator")


@checked_methods
class FromGenerator(Plan):
    """Mixin: datasets from Python generators."""

    __slots__ = ()

    @classmethod
    def from_generator(
        cls: type[_D],
        generator: Callable[..., Iterable[Any] | AsyncIterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
        *,
        executor: Literal["thread", "process"] | None = None,
        worker_init: Callable[[], object] | None = None,
        worker_teardown: Callable[[], object] | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
    ) -> _D:
        """Create a dataset of the values that `generator` yields.

        Parameters
        ----------
        generator : callable
            Called again for each iteration; returns an iterable or asynchronous iterable (see
            :doc:`/guides/coroutines`).
        output_types, output_shapes : nested dtypes and shapes, optional
            The older form of `output_signature`; shapes are optional.
        args : sequence, optional
            Arguments of `generator`; numbers and lists are converted to NumPy values.
        output_signature : nested TensorSpec, optional
            Each value is converted to this and checked against it; at a leaf, a tuple or list is
            one array. Without it, the first value determines structure and dtypes; shapes may
            differ.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        executor : "thread" or "process", optional
            "process" runs the generator in a worker process, a few values ahead; see
            :doc:`/guides/python_functions`. None uses the setting in `Options` ("thread" by
            default, and for "auto").
        worker_init : callable, optional
            With ``executor="process"``: called without arguments once in the worker process, before
            the generator starts. See :doc:`/guides/python_functions`.
        worker_teardown : callable, optional
            With ``executor="process"``: called without arguments when the worker process ends,
            unless it is killed.
        on_error : "raise", "skip", "log" or callable
            Action for a value that does not match, or for an exception in the generator, which ends
            the data in any case; see :doc:`/guides/errors`.
        max_errors : int, optional
            Maximum number of consecutive errors to skip, >= 1; None means no limit.

        Returns
        -------
        Dataset
            Of unknown length.

        Raises
        ------
        TypeError
            At the call, if `generator` is not callable, or `output_signature` is combined with
            `output_types` or `output_shapes`. While iterating, if a value does not match the
            signature, or, without a signature, the structure and dtypes of the first value.
        ValueError
            If `worker_init` or `worker_teardown` is given without ``executor="process"``.

        Notes
        -----
        Arrays are copied before the generator resumes, so it may reuse them. An exception in the
        generator is raised once, unchanged; then the data ends, because the generator has.

        A restored iterator runs the generator again up to the saved position. If the iterable that
        `generator` returns, or its iterator, has ``state_dict`` and ``load_state_dict``, the saved
        state includes the result of ``state_dict``, and a restored iterator loads it instead.
        `get_state` then raises `StateError` if ``state_dict`` returns anything other than numbers,
        strings, bytes, arrays, and lists, tuples, sets and dicts of them. With
        ``executor="process"``, a saved state includes only a ``state_dict`` result that was itself
        restored.

        Examples
        --------
        >>> def squares(n):
        ...     for i in range(n):
        ...         yield i * i, f"{i}"
        >>> [(int(x), s) for x, s in ps.Dataset.from_generator(squares, args=(3,))]
        [(0, '0'), (1, '1'), (4, '2')]
        """
        if not callable(generator):
            advice = (
                "pass the generator function itself (without calling it), so that every epoch can "
                "start it again"
                if isinstance(generator, (AsyncGeneratorType, GeneratorType))
                else "wrap it: from_generator(lambda: iterable)"
            )
            raise TypeError(
                f"from_generator: generator must be callable, got {type(generator).__name__}; "
                f"{advice}"
            )
        if output_signature is not None and not (output_types is None and output_shapes is None):
            raise TypeError(
                "from_generator: output_signature replaces output_types and "
                "output_shapes; give one or the other"
            )
        if output_shapes is not None and output_types is None:
            raise TypeError("from_generator: output_shapes needs output_types")
        if output_types is not None:
            try:
                output_signature = _signature(output_types, output_shapes)
            except (TypeError, ValueError, RecursionError) as error:
                raise TypeError(f"from_generator: output_shapes: {error}") from error
        setup = setup_of("from_generator", executor, worker_init, worker_teardown)
        if executor == "process":
            sent("from_generator", generator, shares=False, setup=setup)
        values = tuple(_as_numpy(a) for a in (() if args is None else args))
        values_of = cls._make(
            "from_generator",
            (),
            {
                "generator": generator,
                "args": values,
                "output_signature": output_signature,
                "opaque": False,
                "executor": executor or "",
                **({} if setup == Setup() else {"setup": setup}),
            },
            name,
        )
        return values_of._without_errors("from_generator", on_error, max_errors)


def _as_numpy(value: Any) -> Any:
    import numpy as np

    return value if isinstance(value, (str, bytes)) else np.asarray(value)[()]


def _signature(types: Any, shapes: Any) -> Any:
    """Return TensorSpecs nested as `types`; at each leaf, `shapes` is a shape or None."""
    if isinstance(types, dict):
        return {k: _signature(t, None if shapes is None else shapes[k]) for k, t in types.items()}
    if isinstance(types, (tuple, list)):
        parts = [None] * len(types) if shapes is None else shapes
        return tuple(_signature(t, s) for t, s in zip(types, parts, strict=True))
    return TensorSpec(shapes, types)
