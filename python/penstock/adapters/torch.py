"""Conversion of datasets to batches of PyTorch tensors."""

from __future__ import annotations

from typing import Any

from penstock.adapters.batches import Batches, Held, ahead
from penstock.adapters.torch_cuda import PinnedCopies
from penstock.adapters.torch_tensors import Tensors
from penstock.stages.prefetch import is_prefetched
from penstock.structure import map_leaves


def torch_batches(torch: Any, dataset: Any, device: Any, pin: Any, prefetch: int) -> Batches:
    """Implement `Dataset.to_torch` with the given torch module."""
    if not (isinstance(pin, bool) or (isinstance(pin, str) and pin == "auto")):
        raise ValueError(f'to_torch: pin must be True, False or "auto", got {pin!r}')
    # Allocating there makes PyTorch raise its own error for a missing device immediately. It also
    # resolves the device index now, because "current" may be another device in another thread.
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
    ready = dataset if is_prefetched(dataset) else dataset.prefetch(prefetch)
    if device.type == "cpu":
        return Batches(ready, tensors.of_element, dataset)

    def moved(element: Any) -> Any:
        return map_leaves(
            lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf,
            tensors.of_element(element),
        )

    return Batches(ready, moved, dataset)
