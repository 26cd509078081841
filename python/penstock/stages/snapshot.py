"""Storage of elements in files for later runs: snapshot, save."""

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

_ALL = 2**62  # more elements than any dataset has


@checked_methods
class Snapshot(Rows):
    """Mixin: saving datasets."""

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
        """Write the elements of the first complete pass to files, and read them in later passes.

        Parameters
        ----------
        path : str or path
            A folder, or its URL. Each pipeline has its own subfolder, named by its fingerprint, so
            a changed pipeline writes a new snapshot next to the old one.
        compression : str, optional
            As in `save`; "AUTO" uses the first available of zstd, zlib and no compression.
        reader_func : callable, optional
            Takes a Dataset of one Dataset per file and returns a Dataset of elements, for example
            with `interleave` or `flat_map`. None reads the files sequentially.
        shard_func : callable, optional
            Takes an element and returns the number of its file, 0 to 999. None writes one file.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        structures : sequence of type, optional
            As in `cache`.
        max_record_bytes : int, optional
            As in `load`.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        Dataset
            The same elements.

        Raises
        ------
        OSError
            While iterating, if the folder cannot be created.
        DataError
            While iterating, if a file is damaged; delete its folder to rebuild the snapshot.
        StateError
            While iterating from a saved state, if the snapshot that it needs does not exist.
        TypeError
            While iterating, for an opaque Python object, which cannot be stored in a file.

        Notes
        -----
        A snapshot is complete once an iterator has read the dataset to its end without an error. A
        state that was saved while reading a snapshot can be restored only with that snapshot;
        otherwise StateError is raised.

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
            The folder, or its URL. A dataset that was saved there before is replaced once the new
            one is complete.
        compression : str, optional
            None, "ZLIB" or "GZIP" (synonyms), or "ZSTD", if it is built in. Only chunks that shrink
            are compressed.
        shard_func : callable, optional
            Takes an element and returns the number of its file, 0 to 999. None writes one file.
        checkpoint_args : None
            Not supported.
        progress : bool, optional
            Whether to show a progress line; None shows it in a terminal or a notebook.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Raises
        ------
        FileExistsError
            If `path` exists and is not a folder, or the folder contains other files.
        OSError
            If the files cannot be written; no partial files remain.
        TypeError
            For an opaque Python object, which cannot be stored in a file.
        ValueError
            For an unknown compression, or one that is not built in.

        Notes
        -----
        Runs the whole dataset immediately. If a function raises, the exception is propagated and no
        partial files remain. docs/reference/formats.md describes the format.

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
        # The engine skips all elements, so none becomes a Python object.
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
    """Reader of the folder of a complete snapshot."""

    max_record_bytes: int | None = None

    def __init__(
        self, reader_func: Callable[[Any], Any] | None, max_record_bytes: int | None
    ) -> None:
        self.reader_func = reader_func
        if max_record_bytes is not None:
            self.max_record_bytes = max_record_bytes  # absent if None: fingerprints stay valid

    def __call__(self, folder: str) -> Any:
        args = given(max_record_bytes=self.max_record_bytes, shown_as="snapshot")
        return read_saved(folder, args, self.reader_func)


def _folder(stage: str, path: Any) -> str:
    folder = name_of(stage, "path", path)
    if not folder:
        raise ValueError(f"{stage}: path must name a folder, got ''")
    return folder
