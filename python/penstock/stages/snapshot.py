"""Elements in files, for later runs: snapshot, save."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.meter import Meter, Reading, total_of
from penstock.paths import compression_of, name_of
from penstock.stages.arguments import given
from penstock.stages.load import read_saved
from penstock.stages.rows import Rows

_D = TypeVar("_D", bound="Snapshot")

_ALL = 2**62  # more elements than there are


@checked_methods
class Snapshot(Rows):
    """Mixin: elements written to folders."""

    __slots__ = ()

    def snapshot(
        self: _D,
        path: str | os.PathLike[str],
        compression: str | None = "AUTO",
        reader_func: Callable[[_D], _D] | None = None,
        shard_func: Callable[..., int] | None = None,
        name: str | None = None,
        *,
        structures: Sequence[type] | None = None,
        max_record_bytes: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> _D:
        """Write the elements of the first full pass to files, and read these in later ones.

        Parameters
        ----------
        path : str or path
            A folder, or its URL. Each pipeline has a folder of its own in it, named by its
            fingerprint, so that a changed pipeline writes a new snapshot beside the old one.
        compression : str, optional
            As in `save`; "AUTO" takes zstd, else zlib, else none, whichever is built in.
        reader_func : callable, optional
            Takes a Dataset of the Datasets of all files and returns a Dataset of elements, with
            `interleave` or `flat_map`, say. None reads one file after the other.
        shard_func : callable, optional
            Takes an element and returns the number of the file it goes to, 0 to 999. None writes
            one file.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        structures : sequence of type, optional
            As for `cache`.
        max_record_bytes : int, optional
            As for `load`.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        Dataset
            The same elements.

        Raises
        ------
        OSError
            While iterating, if the folder cannot be made.
        DataError
            While iterating, if a file is damaged; delete its folder to have it made again.
        StateError
            While iterating from a state, if the snapshot that it needs does not exist.
        TypeError
            While iterating, for an opaque Python object, which no file can hold.

        Notes
        -----
        A snapshot is complete when one iterator has read the dataset to its end without an error.
        A state that was saved while a snapshot was read can be restored only with that snapshot;
        otherwise it is a StateError.

        Examples
        --------
        >>> ds = ps.Dataset.range(4).snapshot("snapshots")
        >>> list(ds) == list(ds)
        True
        """
        folder = _folder("snapshot", path)
        return self._then(
            "snapshot",
            path=folder,
            compression=compression_of(compression),
            shard_func=shard_func,
            reader=_SnapshotReader(reader_func, max_record_bytes),
            name=name,
            **given(structures=structures, reorders=True if reader_func else None),
        )

    def save(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        shard_func: Callable[..., int] | None = None,
        checkpoint_args: Any = None,
        *,
        progress: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Write all elements to a folder of files, for `Dataset.load`.

        Parameters
        ----------
        path : str or path
            The folder, or its URL. A dataset that was saved there before is replaced when the new
            one is complete.
        compression : str, optional
            None, "ZLIB" or "GZIP" (the same), or "ZSTD", where it is built in. Only chunks that
            become smaller are compressed.
        shard_func : callable, optional
            Takes an element and returns the number of the file it goes to, 0 to 999. None writes
            one file.
        checkpoint_args : None
            Not supported.
        progress : bool, optional
            Whether a line shows how far it is; None means in a terminal or a notebook.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Raises
        ------
        FileExistsError
            If something else is at `path`, or other files are in the folder.
        OSError
            If the files cannot be written; nothing is left then.
        TypeError
            For an opaque Python object, which no file can hold.
        ValueError
            For an unknown compression, or one that is not built in.

        Notes
        -----
        Runs the whole dataset, at once. An exception of a function is raised, and no file is left.
        The format is described in docs/reference/formats.md.

        Examples
        --------
        >>> ps.Dataset.range(3).save("saved")
        >>> [int(x) for x in ps.Dataset.load("saved")]
        [0, 1, 2]
        """
        if checkpoint_args is not None:
            raise ValueError(
                "save: checkpoint_args is not supported, None was expected; call save again to "
                "begin again"
            )
        stage = self._then(
            "snapshot",
            path=_folder("save", path),
            compression=compression_of(compression),
            shard_func=shard_func,
            always=True,
        )
        meter = Meter("save", total_of(self), shown=progress)
        # The engine passes over all elements: none of them becomes a Python object.
        with iter(stage.skip(_ALL)) as it:
            meter.watch(lambda: _saved(it))
            try:
                for _ in it:
                    pass
            finally:
                meter.finish()


def _saved(iterator: Any) -> Reading | None:
    stages = iterator._stage_stats()
    return next((Reading(each["elements"]) for each in stages if each["path"] == "0.0"), None)


class _SnapshotReader:
    """Opens the folder of a complete snapshot."""

    max_record_bytes: int | None = None

    def __init__(
        self, reader_func: Callable[[Any], Any] | None, max_record_bytes: int | None
    ) -> None:
        self.reader_func = reader_func
        if max_record_bytes is not None:
            self.max_record_bytes = max_record_bytes  # else fingerprints stay what they were

    def __call__(self, folder: str) -> Any:
        args = given(max_record_bytes=self.max_record_bytes, shown_as="snapshot")
        return read_saved(folder, args, self.reader_func)


def _folder(stage: str, path: Any) -> str:
    folder = name_of(stage, "path", path)
    if not folder:
        raise ValueError(f"{stage}: path must name a folder, got ''")
    return folder
