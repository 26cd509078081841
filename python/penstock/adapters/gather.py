"""Gather the results of an evaluation from all processes, without the padding."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.adapters.processes import torch_processes
from penstock.arguments.checked import checked
from penstock.structure import is_nested, map_leaves, parts_of

__all__ = ["gather_exact"]

_Array = npt.NDArray[Any]
_Bytes = npt.NDArray[np.uint8]


@checked
def gather_exact(values: Any, mask: Any, *, group: Any = None) -> Any:
    """Gather the results of all processes in dataset order, without the padding.

    Parameters
    ----------
    values : array, or nested arrays
        This process's results for a batch, or for several concatenated batches. NumPy, PyTorch or
        JAX arrays of shape ``(n, ...)``, with one row for each row of the mask. Lists of strings
        count as arrays. The arrays may be nested in dicts, tuples and dataclasses.
    mask : array of bool
        Mask of these rows, of shape ``(n,)``, as added by ``shard_for_torch(evaluation=True)`` or
        ``shard_for_jax(evaluation=True)``. For elements that were not batched, the mask has shape
        ``()`` and `values` are a single row.
    group : torch.distributed.ProcessGroup, optional
        The processes that share the elements; None: all processes.

    Returns
    -------
    array, or nested arrays
        The same structure in every process, with one row for each element of the dataset. Tensors
        stay tensors on their device, without gradients; all other values become NumPy arrays.
        Strings are returned in arrays of dtype object.

    Raises
    ------
    TypeError
        If the mask is not of dtype bool, if a value is neither an array nor a list of strings or
        numbers, or if opaque objects would have to be sent to other processes.
    ValueError
        If `values` and `mask` have different numbers of rows, or if processes pass different
        shapes, dtypes or structures. Also if torchrun started several processes and
        ``torch.distributed`` is not initialised.
    RuntimeError
        If another process passed invalid values.

    Notes
    -----
    Order: rows are returned in the order of the elements before sharding. Row `i` of shard `p` of
    `P` is element ``i * P + p``, so rows are taken from the shards alternately, whatever the batch
    sizes. This requires batching after sharding. With ``by="files"``, each shard has its own files.
    Every element is still returned once, alternating between the shards.

    Call it in every process, the same number of times. With ``evaluation=True``, all processes have
    the same number of batches of the same sizes. Shapes and dtypes are compared first, in one
    exchange of 16 bytes. If processes differ, all of them raise an error and none waits for the
    others.

    PyTorch: tensors are exchanged with ``all_gather_into_tensor`` of the group; for NCCL, through
    the current CUDA device. JAX: local arrays are exchanged with
    ``multihost_utils.process_allgather``. Global arrays are gathered as a whole in every process.
    The sharding of the mask defines the order of their rows, so pass the mask exactly as `to_jax`
    returned it. NumPy values are exchanged with whichever of the two is initialised. In a single
    process, only the padding is removed.

    Examples
    --------
    >>> ds = ps.Dataset.from_tensor_slices({"x": np.arange(5)})
    >>> for batch in ds.shard_for_torch(evaluation=True).batch(3):
    ...     print(ps.gather_exact(batch["x"] ** 2, batch["valid"]))
    [0 1 4]
    [ 9 16]
    >>> ps.gather_exact({"text": ["a", "b"], "score": np.ones(2)}, np.array([True, False]))
    {'text': array(['a'], dtype=object), 'score': array([1.])}
    """
    processes = _processes_of([leaf for _, leaf in _leaves((values, mask), "")], group)
    failure, description, longest = None, "", 0
    try:
        values = map_leaves(_as_array, values)
        mask = _as_mask(mask)
        if mask.ndim == 0:
            mask, values = mask[None], map_leaves(lambda leaf: leaf[None], values)
        processes.take_mask(mask)
        description = _described(values, processes)
        longest = max((_longest(leaf) for _, leaf in _leaves(values, "")), default=0)
    except Exception as error:
        failure = error
    width = _agree(processes, failure, description, longest)
    real = np.flatnonzero(_ordered(mask, processes, width))
    return map_leaves(lambda leaf: _chosen(_ordered(leaf, processes, width), real), values)


class _Processes(Protocol):
    """Communication between the processes."""

    count: int

    def take_mask(self, mask: Any) -> None:
        """Record the order of rows that the mask defines."""

    def rows(self, leaf: Any) -> int:
        """Return the number of rows that a leaf must have."""

    def exchange(self, mine: _Bytes) -> _Bytes:
        """Return the arrays of all processes, stacked to shape ``(count, n)``."""

    def whole(self, leaf: Any) -> Any:
        """Return the gathered rows of a PyTorch or JAX array, in order; None for a NumPy array."""

    def order(self, parts: Any) -> Any:
        """Return the rows of all processes in order, given parts of shape ``(count, n, ...)``."""


class _SameRows:
    """Methods for processes that each have their own rows."""

    count = 1

    def take_mask(self, mask: Any) -> None:
        self._rows = len(mask)

    def rows(self, leaf: Any) -> int:
        return self._rows

    def order(self, parts: Any) -> Any:
        return parts.swapaxes(0, 1).reshape(-1, *parts.shape[2:])


class _Alone(_SameRows):
    """A single process."""

    def exchange(self, mine: _Bytes) -> _Bytes:
        return mine[None]

    def whole(self, leaf: Any) -> Any:
        return leaf if _is_tensor(leaf) else np.asarray(leaf)


class _Torch(_SameRows):
    """The processes of a group of torch.distributed."""

    def __init__(self, group: Any) -> None:
        self._torch = sys.modules["torch"]
        self._distributed = self._torch.distributed
        self._group = group
        gather = getattr(self._distributed, "all_gather_single", None)  # its name since 2.13
        self._gather = gather or self._distributed.all_gather_into_tensor
        self.count = self._distributed.get_world_size(group)
        self._backend = self._distributed.get_backend(group)

    def exchange(self, mine: _Bytes) -> _Bytes:
        mine = mine.copy()  # PyTorch has no read-only tensors
        gathered: _Bytes = self._all(self._torch.from_numpy(mine)).numpy()
        return gathered

    def whole(self, leaf: Any) -> Any:
        if not _is_tensor(leaf):
            return None
        # Exchange bytes: backends do not support all dtypes.
        plain = leaf.detach().contiguous().resolve_conj().resolve_neg()
        flat = plain.reshape(-1).view(self._torch.uint8)
        parts = self._all(flat).view(leaf.dtype).reshape(self.count, *leaf.shape)
        return self.order(parts)

    def _all(self, flat: Any) -> Any:
        mine = flat.to(self._carrier(flat.device))
        whole = mine.new_empty(self.count * mine.numel())
        if mine.numel():
            self._gather(whole, mine, group=self._group)
        return whole.reshape(self.count, -1).to(flat.device)

    def _carrier(self, device: Any) -> Any:
        """Return the device from which the backend can send tensors."""
        if self._backend == "gloo":
            return "cpu"
        if self._backend == "nccl" and device.type != "cuda":
            return self._torch.device("cuda", self._torch.cuda.current_device())
        return device


class _Jax:
    """The processes of jax.distributed."""

    def __init__(self) -> None:
        jax = sys.modules["jax"]
        from jax.experimental import multihost_utils

        self._jax = jax
        self._gather = multihost_utils.process_allgather
        self.count = jax.process_count()
        self._shards = np.arange(self.count)  # for each shard, the first process that has its rows
        self._global_rows: int | None = None
        self._order: _Array | None = None

    def take_mask(self, mask: Any) -> None:
        self._rows = len(mask)
        if not self._is_global(mask):
            return
        # Several processes may have the same rows: the first of them represents all.
        holders = np.full(len(mask), self.count)
        for device, index in mask.sharding.devices_indices_map(mask.shape).items():
            rows = holders[index[0]]
            np.minimum(rows, device.process_index, out=rows)
        self._shards = np.unique(holders)
        own = [np.flatnonzero(holders == process) for process in self._shards]
        if len({len(rows) for rows in own}) > 1:
            raise ValueError(
                "gather_exact: as many rows of the mask in every process were expected, got "
                f"{[len(rows) for rows in own]}; give the mask as to_jax made it"
            )
        self._order = np.stack(own, 1).reshape(-1)
        self._global_rows, self._rows = len(mask), len(own[0])

    def rows(self, leaf: Any) -> int:
        if not self._is_global(leaf):
            return self._rows
        if self._global_rows is None:
            raise ValueError(
                "gather_exact: for global arrays the mask was expected to be one too, spread "
                "as the rows are, got one of this process; give the mask as to_jax made it"
            )
        return self._global_rows

    def exchange(self, mine: _Bytes) -> _Bytes:
        if mine.size == 0:
            return np.empty((self.count, 0), np.uint8)
        gathered: _Bytes = np.asarray(self._gather(mine)).reshape(self.count, -1)
        return gathered

    def whole(self, leaf: Any) -> Any:
        if not self._is_global(leaf):
            return None
        if leaf.is_fully_replicated:
            return np.asarray(leaf.addressable_data(0))[self._order]
        return np.asarray(self._gather(leaf, tiled=True))[self._order]

    def order(self, parts: Any) -> Any:
        parts = parts[self._shards]
        return parts.swapaxes(0, 1).reshape(-1, *parts.shape[2:])

    def _is_global(self, leaf: Any) -> bool:
        return isinstance(leaf, self._jax.Array) and not leaf.is_fully_addressable


def _processes_of(leaves: list[Any], group: Any) -> _Processes:
    """Return the communication for these values."""
    jax = sys.modules.get("jax")
    if jax is not None and any(isinstance(leaf, jax.Array) for leaf in leaves):
        return _Jax() if jax.process_count() > 1 else _Alone()
    torch = sys.modules.get("torch.distributed")
    if torch is not None and torch.is_available() and torch.is_initialized():
        count, _ = torch_processes(group, "gather_exact")
        return _Torch(group) if count > 1 else _Alone()
    # Check this first: process_count() would make JAX initialise its devices.
    if jax is not None and jax.distributed.is_initialized() and jax.process_count() > 1:
        return _Jax()
    count, _ = torch_processes(group, "gather_exact")
    if count > 1:
        raise ValueError(
            "gather_exact: torch.distributed was expected to be initialised, since WORLD_SIZE says "
            f"that there are {count} processes; call init_process_group first"
        )
    return _Alone()


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves that are not None, each with its path."""
    if is_nested(value):
        for key, part in parts_of(value):
            yield from _leaves(part, f"{path}[{key!r}]")
    elif value is not None:
        yield path, value


def _is_tensor(leaf: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(leaf, torch.Tensor)


def _is_array(leaf: Any) -> bool:
    jax = sys.modules.get("jax")
    return _is_tensor(leaf) or (jax is not None and isinstance(leaf, jax.Array))


def _as_array(leaf: Any) -> Any:
    """Return a NumPy, PyTorch or JAX array; strings become an array of objects."""
    if _is_array(leaf):
        return leaf
    plain = (bool, int, float, complex, str, bytes, np.generic)
    if isinstance(leaf, list) and not all(isinstance(item, plain) for item in leaf):
        raise TypeError(
            "gather_exact: values: a list of strings or numbers, an array, or tuples and dicts of "
            f"them were expected, got a list with {_odd_item(leaf, plain)}; stack its items, or "
            "give a tuple"
        )
    if isinstance(leaf, list) and any(isinstance(item, (str, bytes)) for item in leaf):
        leaf = np.array([*leaf, None], object)[:-1]
    elif not isinstance(leaf, (np.ndarray, list, *plain)):
        raise TypeError(f"gather_exact: values: arrays were expected, got {leaf!r:.200}")
    array = np.asarray(leaf)
    return array.astype(object) if array.dtype.kind in "UST" else array


def _odd_item(items: list[Any], plain: tuple[type, ...]) -> str:
    return next(type(item).__name__ for item in items if not isinstance(item, plain))


def _as_mask(mask: Any) -> Any:
    """Return the mask as a NumPy array, or unchanged if it is a global JAX array."""
    try:
        mask = mask if _is_array(mask) else np.asarray(mask)
    except ValueError as error:
        raise TypeError(f"gather_exact: mask: {error}") from None
    if str(mask.dtype).removeprefix("torch.") != "bool" or mask.ndim > 1:
        raise TypeError(
            "gather_exact: mask: an array of bool of shape (n,) or () was expected, got "
            f"{mask.dtype} of shape {tuple(mask.shape)}"
        )
    if _is_tensor(mask):
        return mask.detach().cpu().numpy()
    return mask if getattr(mask, "is_fully_addressable", True) is False else np.asarray(mask)


def _described(values: Any, processes: _Processes) -> str:
    """Return a description of everything that must be equal in all processes."""
    described = []
    for path, leaf in _leaves(values, ""):
        shape = tuple(leaf.shape)
        if shape[:1] != (processes.rows(leaf),):
            raise ValueError(
                f"gather_exact: values{path}: as many rows as the mask has, "
                f"{processes.rows(leaf)}, were expected, got shape {shape}"
            )
        dtype = leaf.dtype
        if processes.count > 1 and not _is_array(leaf) and dtype.kind == "O":
            dtype = _text_of(leaf, path).__name__
        described.append(f"values{path} {dtype} {shape}")
    return "; ".join([*described, f"{processes.rows(None)} rows"])


def _text_of(leaf: _Array, path: str) -> type:
    kinds = {type(item) for item in leaf.flat} or {str}
    if len(kinds) > 1 or not issubclass(kind := kinds.pop(), (str, bytes)):
        raise TypeError(
            f"gather_exact: values{path}: numbers or strings of one kind were expected, which "
            f"can go to other processes, got {leaf!r:.200}"
        )
    return bytes if issubclass(kind, bytes) else str


def _longest(leaf: Any) -> int:
    """Return the maximum length in bytes of a leaf's strings."""
    if _is_array(leaf) or leaf.dtype.kind != "O":
        return 0
    return max((len(_encoded(x)) for x in leaf.flat if isinstance(x, (str, bytes))), default=0)


def _agree(processes: _Processes, failure: Exception | None, description: str, longest: int) -> int:
    """Raise an error in all processes if they differ; return the maximum string length."""
    digest = hashlib.blake2b(description.encode(), digest_size=8).digest()
    mine = np.array([0 if failure else int.from_bytes(digest, "little") | 1, longest], np.uint64)
    all_ = processes.exchange(mine.view(np.uint8)).view(np.uint64)
    if failure:
        raise failure
    digests = all_[:, 0].tolist()
    if 0 in digests:
        raise RuntimeError(
            f"gather_exact: values could not be gathered in process {digests.index(0)}, see its "
            "error"
        )
    if len(set(digests)) > 1:
        other = next(i for i, digest in enumerate(digests) if digest != mine[0])
        raise ValueError(
            "gather_exact: the same shapes and dtypes were expected in all processes, here are "
            f"{description}, and others in process {other}; batch after the sharding, and pad "
            "what has a size of its own in each batch to one size"
        )
    return int(all_[:, 1].max())


def _ordered(leaf: Any, processes: _Processes, width: int) -> Any:
    """Return the rows of all processes in dataset order."""
    whole = processes.whole(leaf)
    if whole is not None:
        return whole
    array = np.ascontiguousarray(np.asarray(leaf)).reshape(np.shape(leaf))
    if array.dtype.kind == "O":
        kind = _text_of(array, "")
        parts = processes.exchange(_packed(array, width).reshape(-1))
        texts = _unpacked(parts.reshape(-1, 8 + width), kind)
        return processes.order(texts.reshape(processes.count, *array.shape))
    parts = processes.exchange(array.reshape(-1).view(np.uint8))
    ordered = np.ascontiguousarray(parts).view(array.dtype)
    return processes.order(ordered.reshape(processes.count, *array.shape))


def _chosen(whole: Any, rows: _Array) -> Any:
    if not _is_tensor(whole):
        return whole[rows]
    indices = sys.modules["torch"].from_numpy(rows).to(whole.device)
    return whole.detach().index_select(0, indices)


def _encoded(text: Any) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _packed(texts: _Array, width: int) -> _Bytes:
    """Return a row for each string: its length in bytes, and its bytes."""
    rows = np.zeros((texts.size, 8 + width), np.uint8)
    for row, text in zip(rows, texts.flat, strict=True):
        encoded = _encoded(text)
        row[:8] = np.array([len(encoded)], np.int64).view(np.uint8)
        row[8 : 8 + len(encoded)] = np.frombuffer(encoded, np.uint8)
    return rows


def _unpacked(rows: _Bytes, kind: type) -> _Array:
    texts = np.empty(len(rows), object)
    lengths = np.ascontiguousarray(rows[:, :8]).view(np.int64)[:, 0]
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        encoded = row[8 : 8 + length].tobytes()
        texts[i] = encoded if kind is bytes else encoded.decode("utf-8", "surrogatepass")
    return texts
