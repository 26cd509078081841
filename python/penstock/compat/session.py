"""Sessions, which compute lazy values, and their graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from penstock.closing import Closing
from penstock.compat.graph import Run, numpy_values_of
from penstock.compat.tensor import Tensor


class Graph:
    """The graph that programs create before they define datasets; all programs share one."""

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Return a context manager without effect."""
        yield self

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Return a context manager without effect."""
        yield

    def finalize(self) -> None:
        """Do nothing."""


DEFAULT_GRAPH = Graph()


class Session(Closing):
    """Compute lazy values.

    Examples
    --------
    >>> import penstock.compat.v1 as tf
    >>> next_element = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
    >>> with tf.Session() as sess:
    ...     print(sess.run(next_element), sess.run(next_element + 10))
    ...     sess.run(next_element)
    Traceback (most recent call last):
    penstock.compat.errors.OutOfRangeError: End of sequence
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._ended = False
        Tensor.evaluates = True

    @property
    def graph(self) -> Graph:
        """The graph."""
        return DEFAULT_GRAPH

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Session]:
        """Return a context manager without effect."""
        yield self

    def run(self, fetches: Any, feed_dict: Any = None, **ignored: Any) -> Any:
        """Compute nested values, each of them once.

        Parameters
        ----------
        fetches : nested values
            The values to compute.
        feed_dict : mapping of placeholders to values, optional
            The values of the placeholders.

        Returns
        -------
        nested arrays
            The results as NumPy values.

        Raises
        ------
        OutOfRangeError
            If an iterator has no more elements.
        """
        try:
            return numpy_values_of(Run(dict(feed_dict or {})).value(fetches))
        except Exception:
            self._ended = True
            raise

    def should_stop(self) -> bool:
        """Return whether a run has failed, which also happens at the end of the data."""
        return self._ended

    def close(self) -> None:
        """Do nothing."""
