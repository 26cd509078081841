"""Datasets for PyTorch: to_torch, to_torch_iterable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from penstock.adapters.batches import Batches, Held, ahead
from penstock.adapters.torch_cuda import PinnedCopies
from penstock.adapters.torch_iterable import torch_iterable
from penstock.adapters.torch_tensors import Tensors
from penstock.arguments.checked import checked_methods
from penstock.structure import map_leaves

if TYPE_CHECKING:
    from penstock.dataset import Dataset


@checked_methods
class TorchForms:
    """Mixin: the forms of a dataset that PyTorch takes."""

    __slots__ = ()

    def to_torch(
        self: Any,
        device: Any = None,
        *,
        pin: bool | Literal["auto"] = "auto",
        prefetch: int = 2,
    ) -> Batches:
        """Return the elements with tensors in place of their numbers, made ahead of use.

        Parameters
        ----------
        device : torch.device, str or int, optional
            Where tensors are to be; None is the CPU, "cuda" the current device of this thread.
        pin : bool or "auto"
            On a CUDA device: whether elements are copied there ahead of use, through page-locked
            memory. False copies them as ``tensor.to(device)`` does, when they are asked for.
            "auto" is True on a CUDA device and False elsewhere.
        prefetch : int
            Elements (behind `batch`: batches) to have ready, >= 0; -1 (AUTOTUNE) finds out. On the
            CPU a dataset that ends with `prefetch` stays as it is.

        Returns
        -------
        iterable
            Can be looped over again; ``len()`` as the dataset. Its iterators have ``state_dict()``,
            ``load_state_dict()``, ``get_state()``, ``set_state()``, ``stats()`` and ``close()``.

        Raises
        ------
        ModuleNotFoundError
            If PyTorch is not installed.
        ValueError
            If `pin` is another value, or True where the device is no CUDA device; if `prefetch` is
            less than -1. For a device that does not exist, PyTorch's own error.
        TypeError
            While iterating, if torch has no such dtype (datetime64, longdouble); it names the leaf.

        Notes
        -----
        Memory: on the CPU, a tensor shares the memory of the batch, which is used again only when
        neither tensors nor views of them refer to it. What must not be written to (elements that
        come from a cache, or rows of an array of yours that no `batch` has gathered) is copied,
        because torch has no read-only tensors.

        Strings and objects stay as they are, and so do tuples, dicts, named tuples and dataclasses.
        The position of a state is that of the consumer, whatever was made ahead.

        Examples
        --------
        >>> ds = ps.Dataset.range(5).map(lambda x: {"x": x, "name": f"{x}"}).batch(3)
        >>> for batch in ds.to_torch():
        ...     print(batch["x"], batch["name"])
        tensor([0, 1, 2]) ['0' '1' '2']
        tensor([3, 4]) ['3' '4']
        """
        import torch

        return torch_batches(torch, self, device, pin, prefetch)

    def to_torch_iterable(self: Any, *, prefetch: int = 2) -> Any:
        """Return a ``torch.utils.data.IterableDataset``, for code that wants a ``DataLoader``.

        Parameters
        ----------
        prefetch : int
            Elements to have ready, as in `to_torch`.

        Returns
        -------
        torch.utils.data.IterableDataset
            Gives what ``to_torch()`` gives. It can be pickled if the dataset can, and has
            ``state_dict()`` and ``load_state_dict()``: the position behind the last element of the
            pass that was begun last.

        Raises
        ------
        ModuleNotFoundError
            If PyTorch is not installed.

        Warns
        -----
        RuntimeWarning
            In the first worker of a ``DataLoader`` with ``num_workers`` > 0: the pipeline has
            threads of its own, and needs no workers.

        Notes
        -----
        Give batches to ``DataLoader(..., batch_size=None)``; with another `batch_size` it stacks
        elements one by one.

        Workers: each runs the whole pipeline and keeps every n-th element, so that each element
        comes once; that is the more work the more workers there are. Seeds that the pipeline does
        not name come from torch's (``torch.manual_seed``), the same in all workers of a pass.

        Randomness: workers that are not persistent begin anew in each pass, so that a `shuffle`
        with a seed gives the order of its first epoch each time.

        A state saved behind the end of a pass is that of a new pass.

        Examples
        --------
        >>> import torch
        >>> ds = ps.Dataset.range(5).batch(3)
        >>> list(torch.utils.data.DataLoader(ds.to_torch_iterable(), batch_size=None))
        [tensor([0, 1, 2]), tensor([3, 4])]
        """
        import torch  # noqa: F401  # so that it is missed here, if it is not installed

        return torch_iterable(self, prefetch)


def torch_batches(torch: Any, dataset: Dataset, device: Any, pin: Any, prefetch: int) -> Batches:
    """Do what `Dataset.to_torch` does, with the module that is given."""
    if not (isinstance(pin, bool) or pin == "auto"):
        raise ValueError(f'to_torch: pin must be True, False or "auto", got {pin!r}')
    # Asking for memory there gives PyTorch's own error for a device that is not there, now, and
    # the index of a device without one: "current" is another device in another thread.
    device = torch.empty(0, device="cpu" if device is None else device).device
    if pin is True and device.type != "cuda":
        raise ValueError(
            f"to_torch: pin=True needs a CUDA device, got {str(device)!r}; leave pin out"
        )
    tensors = Tensors(torch, "to_torch")
    if device.type == "cuda" and pin is not False:
        copies = PinnedCopies(torch, device, tensors)

        def take(held: Held) -> Any:
            return copies.end(held.value)

        return Batches(ahead("to_torch", dataset, copies.begin, prefetch), take, dataset)
    ready = dataset if dataset._kind == "prefetch" else dataset.prefetch(prefetch)
    if device.type == "cpu":
        return Batches(ready, tensors.of_element, dataset)

    def moved(element: Any) -> Any:
        return map_leaves(
            lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf,
            tensors.of_element(element),
        )

    return Batches(ready, moved, dataset)
