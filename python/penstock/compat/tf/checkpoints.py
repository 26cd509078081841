"""tf.train.Checkpoint, and its files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.compat.calling import ported
from penstock.compat.errors import InvalidArgumentError, NotFoundError
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.tf import tensor_proto
from penstock.compat.tf.module import Module
from penstock.ops import io as _io

_read_file = ported(_io.read_file)
_ROOT = "(root)"  # name of the object passed as positional argument
_VALUE, _POSITION = "/.ATTRIBUTES/VARIABLE_VALUE", "/.ATTRIBUTES/ITERATOR_STATE"


class _LoadStatus:
    """The result of `Checkpoint.restore`, which can report missing and unused values.

    Parameters
    ----------
    unmatched : list of str
        Objects without saved values.
    unused : list of str
        Saved values without objects.
    """

    def __init__(self, unmatched: list[str], unused: list[str]) -> None:
        self._unmatched = unmatched
        self._unused = unused

    def assert_existing_objects_matched(self) -> _LoadStatus:
        """Raise AssertionError unless all objects were restored."""
        if self._unmatched:
            raise AssertionError(
                f"Found {len(self._unmatched)} Python objects that were not bound to checkpointed "
                f"values: {self._unmatched}"
            )
        return self

    def assert_consumed(self) -> _LoadStatus:
        """Raise AssertionError unless all objects were restored and all saved values were used."""
        if self._unused:
            raise AssertionError(f"Unresolved objects in checkpoint: {self._unused}")
        return self.assert_existing_objects_matched()

    def expect_partial(self) -> _LoadStatus:
        """Do nothing: missing values cause no warnings."""
        return self

    assert_nontrivial_match = initialize_or_restore = run_restore_ops = expect_partial


class CheckpointOptions:
    """Options for writing files; none has an effect.

    Parameters
    ----------
    *args, **kwargs
        Ignored.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)


class Checkpoint:
    """Save the positions of iterators and the values of variables.

    Parameters
    ----------
    root : Checkpoint, Module, iterator or variable, optional
        An object that is saved without a name. The objects of a checkpoint also belong to this one.
    **kwargs
        Dataset iterators, variables, modules, checkpoints, and lists and dicts of them, by name.
        They are also available as attributes.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> it = iter(tf.data.Dataset.range(5))
    >>> path = tf.train.Checkpoint(iterator=it).save("checkpoints/it")
    >>> next(it).numpy()
    np.int64(0)
    >>> _ = tf.train.Checkpoint(iterator=it).restore(path)
    >>> next(it).numpy()
    np.int64(0)
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._saved = 0
        self._root = root
        for name, value in {"root": root, **kwargs}.items():
            if value is not None and not _is_trackable(value):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object: an iterator, a "
                    f"variable, a module or a checkpoint, got {value!r}"
                )
        for name, value in kwargs.items():
            setattr(self, name, value)

    def _objects(self) -> dict[str, Any]:
        """Return the objects to save, by the suffix of their file names."""
        found = {".".join(path) or _ROOT: each for path, each in _held((), self, set())}
        return {name: each for name, each in found.items() if each is not None}

    @property
    def save_counter(self) -> Any:
        """Number of calls of `save`, including those before a restored checkpoint."""
        return tensor(self._saved, "int64")

    def save(self, file_prefix: str, options: Any = None) -> str:
        """Write positions and values to files.

        Parameters
        ----------
        file_prefix : str
            Prefix of the file names.
        options : CheckpointOptions, optional
            Ignored.

        Returns
        -------
        str
            The path to pass to `restore`.
        """
        self._saved += 1
        path = self.write(f"{file_prefix}-{self._saved}")
        before = get_checkpoint_state(Path(path).parent)
        kept = [] if before is None else before.all_model_checkpoint_paths
        last = Path(path).name
        write_state([*(each for each in kept if _files(each) and Path(each).name != last), path])
        return path

    def write(self, file_prefix: str, options: Any = None) -> str:
        """Write positions and values to files without a number in their names."""
        for name, held in self._objects().items():
            _io.write_file(f"{file_prefix}.{name}", held.get_state())
        return os.fspath(file_prefix)

    def restore(self, save_path: str | None, options: Any = None) -> _LoadStatus:
        """Restore the positions of iterators and the values of variables.

        Parameters
        ----------
        save_path : str or None
            The result of `save`; None changes nothing.
        options : CheckpointOptions, optional
            Ignored.

        Raises
        ------
        NotFoundError
            If there is no checkpoint at that path.
        """
        if save_path is None:
            return _LoadStatus([], [])
        saved, objects = _files(save_path), self._objects()
        if not saved:
            raise NotFoundError(
                None,
                None,
                f"Error when restoring from checkpoint at {save_path}: Failed to find any matching "
                f"files for {save_path}. You may be missing the checkpoint suffix (e.g. the '-1' "
                "in 'path/to/ckpt-1').",
            )
        for name in objects.keys() & saved.keys():
            objects[name].set_state(_read_file(saved[name]).item())
        numbered = re.fullmatch(r".+-(\d+)", os.fspath(save_path))
        if numbered:  # so that the next checkpoint does not replace it
            self._saved = int(numbered[1])
        return _LoadStatus(sorted(objects.keys() - saved), sorted(saved.keys() - objects))

    read = restore


def _is_trackable(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_trackable, value))
    if isinstance(value, dict):
        return all(map(_is_trackable, value.values()))
    return isinstance(value, (Checkpoint, Module)) or hasattr(value, "get_state")


def _held(path: tuple[str, ...], value: Any, seen: set[int]) -> Iterator[tuple[Any, Any]]:
    """Yield the objects with state inside an object, each with its path of names."""
    children: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Checkpoint):
        yield from _held(path, value._root, seen)
        children = vars(value).items()
    elif isinstance(value, Module):
        children = vars(value).items()
    elif isinstance(value, dict):
        children = value.items()
    elif isinstance(value, (list, tuple)):
        children = enumerate(value)
    elif hasattr(value, "get_state"):
        yield path, value
    if id(value) not in seen:
        seen.add(id(value))
        for name, child in children:
            if name != "_root" and child is not None:
                yield from _held((*path, str(name)), child, seen)


def _files(prefix: Any) -> dict[str, str]:
    """Return the files of a checkpoint, by the suffix of their names."""
    path = Path(prefix)
    names = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    begin = f"{path.name}."
    return {n.removeprefix(begin): str(path.with_name(n)) for n in names if n.startswith(begin)}


class CheckpointState:
    """The contents of the file ``checkpoint`` in a folder.

    Attributes
    ----------
    model_checkpoint_path : str
        The latest checkpoint.
    all_model_checkpoint_paths : list of str
        All existing checkpoints, the oldest first.
    """

    def __init__(self, paths: list[str]) -> None:
        self.model_checkpoint_path = paths[-1]
        self.all_model_checkpoint_paths = paths


def in_folder(folder: str, name: str) -> str:
    """Return the path of a file in a folder, with the folder written unchanged."""
    return os.path.join(folder, name)  # noqa: PTH118 - a Path drops "./"


def write_state(paths: list[str]) -> None:
    """Write the file ``checkpoint`` for a list of checkpoints, the latest one last."""
    names = [Path(each).name for each in paths]
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    Path(paths[-1]).with_name("checkpoint").write_text("\n".join(lines) + "\n")


def get_checkpoint_state(
    checkpoint_dir: Any, latest_filename: str | None = None
) -> CheckpointState | None:
    """Return the contents of the file ``checkpoint`` in a folder; None if it does not exist."""
    folder = os.fspath(checkpoint_dir)
    file = Path(folder, latest_filename or "checkpoint")
    if not file.is_file():
        return None
    names = re.findall(r'^all_model_checkpoint_paths: "(.*)"$', file.read_text(), re.MULTILINE)
    return CheckpointState([in_folder(folder, name) for name in names]) if names else None


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return the latest checkpoint in a folder.

    Parameters
    ----------
    checkpoint_dir : str or path
        The folder.
    latest_filename : str, optional
        The name of the state file; ``checkpoint`` by default.

    Returns
    -------
    str or None
        The path to pass to `Checkpoint.restore`; None if there is no checkpoint.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    path = None if state is None else state.model_checkpoint_path
    return path if path and _files(path) else None


class CheckpointReader:
    """The values in a checkpoint, by name.

    Parameters
    ----------
    prefix : str
        The result of `Checkpoint.save`.
    """

    def __init__(self, prefix: str) -> None:
        self._values: dict[str, Any] = {}
        for name, file in sorted(_files(prefix).items()):
            state = _read_file(file).item()
            key = "" if name == _ROOT else name.replace(".", "/")
            try:
                self._values[f"{key}{_VALUE}".removeprefix("/")] = tensor_proto.parsed(state, None)
            except InvalidArgumentError:
                self._values[f"{key}{_POSITION}".removeprefix("/")] = tensor(state)

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether there is a value with this name."""
        return tensor_str in self._values

    def get_tensor(self, tensor_str: str) -> Any:
        """Return the value with this name."""
        return self._values[tensor_str].numpy()

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shapes of the values."""
        return {name: list(value.shape) for name, value in self._values.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Return the types of the values."""
        return {name: value.dtype for name, value in self._values.items()}


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """Return the values in a checkpoint, or in the latest one of a folder.

    Raises
    ------
    NotFoundError
        If there is no checkpoint.
    """
    path = latest_checkpoint(ckpt_dir_or_file) or os.fspath(ckpt_dir_or_file)
    if not _files(path):
        raise NotFoundError(None, None, f"Failed to find any matching files for {ckpt_dir_or_file}")
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Return the names and shapes of the values in a checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """Return a value from a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


__dir__ = listing(globals())
