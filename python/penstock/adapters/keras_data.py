"""The objects that Keras iterates: a DataAdapter or, if Keras has none, a PyDataset."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from penstock.adapters.batches import KEY, Batches, ahead, position_of
from penstock.adapters.epochs import Epoch, Epochs, Place
from penstock.adapters.keras_elements import Packing, differing
from penstock.arguments.checked import checked
from penstock.closing import Closing
from penstock.dataset import Dataset
from penstock.probing import first_spec
from penstock.stages.prefetch import is_prefetched
from penstock.structure import map_leaves

STAGE = "to_keras"

# Methods of a DataAdapter. If Keras has changed them, a PyDataset replaces it.
_METHODS = ("get_numpy_iterator", "get_jax_iterator", "get_tf_dataset", "get_torch_dataloader")

# Arguments of fit that Keras silently drops if x is a custom DataAdapter.
_DROPPED = {
    "y": "make it the second component of the elements: (x, y)",
    "sample_weight": "make them the third component of the elements: (x, y, sample_weight)",
    "class_weight": "give it to to_keras(class_weight=...)",
}


class Feed:
    """Epochs of a dataset in the forms of the backends, each created on first use."""

    def __init__(
        self,
        dataset: Dataset,
        steps: int | None,
        class_weight: Mapping[int, float] | None,
        prefetch: int,
    ) -> None:
        from keras import config  # type: ignore[attr-defined, unused-ignore]

        self._source = dataset
        # A repeated dataset is reshuffled in each repetition, like in each iteration.
        self._dataset = dataset if steps is None else dataset.repeat()
        self._steps = steps
        self._prefetch = prefetch
        self._dataset.prefetch(prefetch)  # to raise errors of the argument now
        self.packing = {
            numeric: Packing(class_weight, config.floatx(), numeric=numeric)
            for numeric in (False, True)
        }
        self.place = Place()
        self._forms: dict[str, Epochs] = {}

    def arrays(self, *, numeric: bool = False) -> Epochs:
        """Return the epochs of NumPy arrays."""
        form = "numbers" if numeric else "arrays"
        if form not in self._forms:
            # Do not prefetch twice.
            twice = is_prefetched(self._dataset)
            dataset = self._dataset if twice else self._dataset.prefetch(self._prefetch)
            self._add(form, dataset, self.packing[numeric].element)
        return self._forms[form]

    def tensors(self, device: Any) -> Epochs:
        """Return the epochs of PyTorch tensors on a device; the producer thread transfers them."""
        import torch

        # Keras omits the index of a CUDA device, but "current" may be another device in another
        # thread.
        device = torch.empty(0, device=device).device
        form = f"tensors on {device}"
        if form not in self._forms:
            pack, convert = self.packing[True].element, _torch_tensor(device)

            def transfer(element: Any) -> Any:
                return map_leaves(convert, pack(element))

            dataset = ahead(STAGE, self._dataset, transfer, self._prefetch)
            self._add(form, dataset, lambda held: held.value)
        return self._forms[form]

    def _add(self, form: str, dataset: Dataset, take: Any) -> None:
        length = -1 if self._steps is not None else dataset.cardinality()
        batches = Batches(dataset, take, self._source)
        known = length if length >= 0 else None
        self._forms[form] = Epochs(STAGE, batches, self._steps, known, self.place)

    def spec(self) -> Any:
        """Return the element specs of `arrays`, completed from the first element if necessary."""
        return self.packing[False].spec(first_spec(self._source))

    @property
    def wait_seconds(self) -> float:
        """Total time spent waiting for batches, in seconds."""
        return sum(epochs.wait_seconds for epochs in self._forms.values())

    def close(self) -> None:
        """Stop the threads of all epochs."""
        for epochs in self._forms.values():
            epochs.close()

    def __repr__(self) -> str:
        return f"<KerasData of {self._source!r}>"


class _Data(Closing):
    """Common base of both classes of objects for Keras."""

    def __init__(self, feed: Feed, steps: int | None) -> None:
        super().__init__()
        self._feed = feed
        self._length = steps

    @property
    def wait_seconds(self) -> float:
        """Total time that Keras has waited for batches, in seconds."""
        return self._feed.wait_seconds

    @overload
    def get_state(self, text: Literal[False] = False) -> bytes: ...
    @overload
    def get_state(self, text: Literal[True]) -> str: ...
    def get_state(self, text: bool = False) -> bytes | str:
        """Return the position after the last batch that Keras took, as `Iterator.get_state` does.

        The result is empty before the first batch. On devices other than CPUs, JAX takes a batch in
        advance; `backup_and_restore` allows for that.
        """
        return self._feed.place.get_state(text)

    @checked
    def set_state(self, state: bytes | str | npt.NDArray[np.uint8], strict: bool = True) -> None:
        """Start the next epoch at a result of `get_state`.

        An interrupted epoch continues with its remaining batches. A state after the last batch of
        an epoch starts the next one, in the order of the uninterrupted program. The state is
        checked when Keras requests the first batch, as in `Iterator.set_state`.
        """
        self._feed.place.set_state(state, strict)

    def state_dict(self) -> dict[str, bytes]:
        """Return the position as a dict."""
        return {KEY: self.get_state()}

    @checked
    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Start the next epoch at a result of `state_dict`, as `set_state` does."""
        self.set_state(position_of(state), strict)

    def backup_and_restore(self, backup_dir: str | os.PathLike[str], **options: Any) -> Any:
        """Return a ``keras.callbacks.BackupAndRestore`` that also saves the data position.

        Parameters
        ----------
        backup_dir : str or PathLike
            Folder of the backup.
        **options
            Other arguments of ``BackupAndRestore``, such as ``save_freq``.

        Returns
        -------
        keras.callbacks.BackupAndRestore
            The callback. It also saves the data position in each backup, and restores it when
            ``fit`` starts.
        """
        from penstock.adapters.keras_backup import backup_class

        return backup_class()(self._feed.place, os.fspath(backup_dir), **options)

    def close(self) -> None:
        """Stop the threads of all iterations that Keras has started."""
        self._feed.close()

    def __repr__(self) -> str:
        return repr(self._feed)


class _Adapter(_Data):
    """The methods of a DataAdapter."""

    _failure: Exception | None = None
    _tf_dataset: Any = None
    _torch_loader: Any = None

    @property
    def num_batches(self) -> int | None:
        """Number of batches in an epoch, None if unknown; raises for arguments that Keras drops."""
        asked = sys._getframe(1)
        if asked.f_code.co_name == "__init__":  # of the object that iterates
            for name, advice in _DROPPED.items():
                if asked.f_locals.get(name) is not None:
                    raise ValueError(
                        f"{STAGE}: Keras drops {name} when x is not an array; {advice}"
                    )
        return self._length

    @property
    def batch_size(self) -> int | None:
        """Number of rows of every batch, None if it may differ."""
        spec = self._feed._source.element_spec
        while isinstance(spec, (tuple, dict)):
            spec = next(iter(spec.values() if isinstance(spec, dict) else spec))
        shape = getattr(spec, "shape", None)
        return shape[0] if shape else None

    @property
    def has_partial_batch(self) -> bool | None:
        """False if all batches have the same size, None if unknown."""
        return None if self.batch_size is None else False

    @property
    def partial_batch_size(self) -> None:
        """None: never known in advance."""
        return

    def on_epoch_begin(self) -> None:
        """Do nothing."""

    def on_epoch_end(self) -> None:
        """Raise the exception that ended the epoch, if the backend cannot propagate it."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def get_numpy_iterator(self) -> Epoch:
        """Return an epoch of NumPy arrays."""
        return iter(self._feed.arrays())

    def get_jax_iterator(self) -> Epoch:
        """Return an epoch of NumPy arrays, which JAX accepts unchanged."""
        return iter(self._feed.arrays(numeric=True))

    def get_torch_dataloader(self) -> Any:
        """Return a loader whose iterations are epochs of tensors."""
        if self._torch_loader is None:
            self._torch_loader = _torch_loader(self._feed)
        return self._torch_loader

    def get_tf_dataset(self) -> Any:
        """Return a TensorFlow dataset whose iterations are epochs."""
        self._failure = None
        if self._tf_dataset is None:
            self._tf_dataset = _tf_dataset(self)
        return self._tf_dataset

    def _for_tf(self, spec: Any) -> Any:
        # Runs in a TensorFlow thread, which replaces exceptions by its own. So the data ends at an
        # error, and on_epoch_end, which Keras calls at the end of the data, raises it.
        try:
            for batch in self._feed.arrays():
                wrong = differing(batch, spec)
                if wrong is not None:
                    raise ValueError(
                        f"{STAGE}: an array of shape {wrong[1].shape} was expected, got "
                        f"{wrong[0]}; give output_signature to map, with None for axes that vary"
                    )
                yield batch
        except Exception as error:
            self._failure = error


class _PyData(_Data):
    """The methods of a PyDataset, for Keras versions that accept no custom DataAdapter.

    Indices are ignored: Keras queries the number of batches before each iteration, and the items
    requested after that form a new epoch.
    """

    _epoch: Epoch | None = None

    @property
    def num_batches(self) -> int:
        """Number of batches in an epoch."""
        if self._length is None:
            raise ValueError(
                f"{STAGE}: this version of Keras needs to know the number of batches; give "
                "steps_per_epoch to to_keras, or use experimental.assert_cardinality"
            )
        self._epoch = None
        return self._length

    def __getitem__(self, index: int) -> Any:
        from keras import backend

        if self._epoch is None:
            self._epoch = iter(self._feed.arrays(numeric=backend.backend() in ("jax", "torch")))
        for batch in self._epoch:
            return batch
        raise ValueError(
            f"{STAGE}: {self._length} batches were expected, the dataset has {self._epoch.given}"
        )


def _data_adapter() -> Any:
    """Import the private class whose instances Keras uses unchanged."""
    from keras.src.trainers.data_adapters import get_data_adapter
    from keras.src.trainers.data_adapters.data_adapter import DataAdapter

    if not all(hasattr(DataAdapter, name) for name in _METHODS):
        raise ImportError("DataAdapter has other methods than those known")
    try:
        get_data_adapter(DataAdapter())
    except (TypeError, ValueError) as error:
        raise ImportError("DataAdapter is not taken as it is") from error
    return DataAdapter


@functools.cache
def data_class() -> Any:
    """Return the class of the results of to_keras, for the installed Keras version."""
    try:
        from keras.utils import PyDataset
    except ImportError as error:
        raise ImportError(f"{STAGE}: Keras 3 was expected; pip install 'keras>=3'") from error
    bases: tuple[type, Any]
    try:
        bases = (_Adapter, _data_adapter())
    except ImportError:
        bases = (_PyData, PyDataset)
    return type("KerasData", bases, {"__module__": __name__})


def _torch_tensor(device: Any) -> Any:
    """Return a function that converts arrays to tensors on `device`, avoiding copies."""
    import torch
    from keras import ops

    def convert(array: Any) -> Any:
        known = array.dtype.kind in "bifc" or array.dtype == "uint8"
        if known and array.flags.writeable:  # PyTorch has no read-only tensors
            return torch.from_numpy(array).to(device)
        # Keras converts dtypes that PyTorch lacks.
        return ops.convert_to_tensor(array).to(device)

    return convert


def _torch_loader(feed: Feed) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(_iterable_class()(feed), batch_size=None, collate_fn=lambda batch: batch)


@functools.cache  # without the cache, each class lives until garbage collection
def _iterable_class() -> Any:
    from keras.src.backend.torch.core import get_device
    from torch.utils.data import IterableDataset

    class Loaded(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
        def __init__(self, feed: Feed) -> None:
            self.feed = feed

        def __iter__(self) -> Epoch:
            return iter(self.feed.tensors(get_device()))

    return Loaded


def _tf_dataset(data: _Adapter) -> Any:
    import tensorflow as tf

    def tf_spec(spec: Any) -> Any:
        if spec.dtype is object:
            raise TypeError(f"{STAGE}: numbers or strings were expected, got {spec!r}")
        dtype = tf.string if spec.dtype in (str, bytes) else spec.dtype
        return tf.TensorSpec(spec.shape, dtype)

    spec = data._feed.spec()
    signature = map_leaves(tf_spec, spec)
    dataset = tf.data.Dataset.from_generator(
        functools.partial(data._for_tf, spec), output_signature=signature
    )
    options = tf.data.Options()
    # Batches are already prefetched; more prefetching here would raise errors too early.
    options.autotune.enabled = False
    options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)
