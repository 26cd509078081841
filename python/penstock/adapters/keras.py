"""Datasets for Keras: to_keras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from penstock.adapters.keras_data import STAGE, Feed, data_class
from penstock.arguments.checked import checked_methods

if TYPE_CHECKING:
    from penstock.dataset import Dataset

_INFINITE = -1


@checked_methods
class KerasForms:
    """Mixin: datasets for Keras."""

    __slots__ = ()

    def to_keras(
        self,
        *,
        steps_per_epoch: int | None = None,
        class_weight: Mapping[int, float] | None = None,
        prefetch: int = 2,
    ) -> Any:
        """Make what ``fit``, ``evaluate`` and ``predict`` of Keras 3 take as ``x``.

        Parameters
        ----------
        steps_per_epoch : int, optional
            Batches in an epoch, >= 1; the next epoch goes on behind them, over as many passes as it
            takes. None: an epoch is one pass over the dataset. An infinite dataset needs it.
        class_weight : dict from int to float, optional
            Weights of classes, as ``fit`` takes them for arrays; 1 for classes that are not named.
            ``y`` holds numbers of classes, of shape ``(batch,)`` or ``(batch, 1)``, or is one-hot.
        prefetch : int
            Batches to have ready ahead of use, prepared in a thread of their own; -1 (AUTOTUNE)
            finds out, 0 prepares them in the thread that trains.

        Returns
        -------
        KerasData
            For ``x`` and ``validation_data``, as often as wanted and on each backend (JAX, PyTorch,
            TensorFlow, NumPy, OpenVINO). ``close()``, or the end of a ``with`` block, stops its
            threads; ``wait_seconds`` is the time that Keras has waited for batches.

        Raises
        ------
        ImportError
            If Keras 3 is not installed.
        TypeError, ValueError
            If an argument is wrong, or the dataset is infinite (without `steps_per_epoch`) or
            empty. Once Keras asks for batches, if an element is not ``x``, ``(x, y)`` or
            ``(x, y, sample_weight)``, has no batch axis, or has strings that the backend cannot
            take; and if ``fit`` was given an argument that Keras would drop.

        Notes
        -----
        Elements: each is a batch; ``x`` and ``y`` may be nested tuples, dicts and dataclasses
        (which become dicts). Strings are for the TensorFlow backend alone.

        Epochs: each is a new iteration of the dataset, so that reshuffling goes on. The first
        ``fit`` of a model takes a batch in advance, for which Keras starts one iteration more.
        With ``fit(steps_per_epoch=...)`` Keras continues an iteration in the next epoch, until the
        dataset is at its end, as it does with tf.data.

        Threads: they end with the iteration; one that was broken off (Ctrl-C, an error of the
        model) is kept by Keras until Python collects its objects, or until ``close()``.

        Memory: JAX and NumPy get the very arrays of the dataset, PyTorch tensors over the same
        memory, and TensorFlow tensors that its ``from_generator`` makes. The TensorFlow backend
        needs the shapes in advance, from `element_spec`; what that does not know behind a function
        is taken from the first batch, and a batch of another shape is an error.

        Examples
        --------
        >>> import keras
        >>> x, y = np.random.rand(100, 4).astype("f"), np.arange(100) % 2
        >>> ds = ps.Dataset.from_tensor_slices((x, y)).shuffle(100).batch(32)
        >>> model = keras.Sequential([keras.layers.Dense(2)])
        >>> model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        >>> history = model.fit(ds.to_keras(), epochs=2, verbose=0)
        >>> len(history.history["loss"])
        2
        """
        dataset = cast("Dataset", self)
        if steps_per_epoch is not None and (
            not isinstance(steps_per_epoch, int)
            or isinstance(steps_per_epoch, bool)
            or steps_per_epoch < 1
        ):
            raise ValueError(
                f"{STAGE}: steps_per_epoch must be an int >= 1 or None, got {steps_per_epoch!r}"
            )
        length = dataset.cardinality()
        if length == 0:
            raise ValueError(f"{STAGE}: at least one batch was expected, the dataset has none")
        if length == _INFINITE and steps_per_epoch is None:
            raise ValueError(
                f"{STAGE}: steps_per_epoch was expected for a dataset without end, got None; say "
                "how many batches an epoch has (here: fit's argument comes too late), or use "
                "take(n)"
            )
        steps = length if length > 0 else None
        feed = Feed(dataset, steps_per_epoch, class_weight, prefetch)
        return data_class()(feed, steps if steps_per_epoch is None else steps_per_epoch)
