"""A Keras callback that saves and restores the data position together with the model."""

from __future__ import annotations

import functools
import json
import warnings
from typing import Any

from penstock.adapters.epochs import Place, Progress

_STAGE = "backup_and_restore"
_KEY = "penstock"  # key of the position, in the JSON file that Keras writes
# Private methods, overridden because Keras has no public hook for the moment of a backup.
_USED = ("_save_model", "_load_model")


class _Backup:
    """The part of the class that does not need Keras."""

    _training_metadata_path: str
    save_freq: Any

    def __init__(self, place: Place, backup_dir: str, **options: Any) -> None:
        super().__init__(backup_dir, **options)  # type: ignore[call-arg]
        self._place = place
        self._counted: Progress | None = None  # the epoch whose batches are counted
        self._trained = 0  # number of them that the model was trained on
        self._last = -1  # Keras's index of the latest batch
        self._in_batch = False  # whether Keras saves after a batch rather than after an epoch
        place.tracked = self.save_freq != "epoch"

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        super().on_epoch_begin(epoch, logs)  # type: ignore[misc]
        self._last = -1

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        latest = self._place.latest
        if latest is not self._counted and latest is not None:
            self._counted, self._trained = latest, latest.first
        self._trained += batch - self._last
        self._last = batch
        self._in_batch = True
        super().on_train_batch_end(batch, logs)  # type: ignore[misc]
        self._in_batch = False

    def _save_model(self) -> None:
        super()._save_model()  # type: ignore[misc]
        latest, ahead = self._place.latest, 0
        if latest is not None and latest is self._counted:
            ahead = max(latest.given - self._trained, 0)
        saved = _read(self._training_metadata_path)
        saved[_KEY] = self._place.get_state(text=True, ahead=ahead)
        if self._in_batch and latest is not None and latest.finished and not ahead:
            # The data continues with the next epoch; Keras would repeat the number of this one.
            saved["epoch"] += 1
        with _open(self._training_metadata_path, "w") as file:
            file.write(json.dumps(saved))

    def _load_model(self) -> None:
        super()._load_model()  # type: ignore[misc]
        saved = _read(self._training_metadata_path)
        if _KEY in saved:
            self._place.set_state(saved[_KEY], strict=True)
        elif saved:
            warnings.warn(
                f"{_STAGE}: the backup has no position of the data, so the data begins at its "
                "first epoch; was it written by keras.callbacks.BackupAndRestore?",
                RuntimeWarning,
                stacklevel=2,
            )


def _open(path: str, mode: str) -> Any:
    from keras.src.utils.file_utils import File  # as in BackupAndRestore: the folder may be remote

    return File(path, mode)


def _read(path: str) -> dict[str, Any]:
    from keras.src.utils.file_utils import exists

    if not exists(path):
        return {}
    with _open(path, "r") as file:
        read: dict[str, Any] = json.loads(file.read())
    return read


@functools.cache
def backup_class() -> Any:
    """Return the callback class for the installed Keras version."""
    from keras.callbacks import BackupAndRestore

    if not all(hasattr(BackupAndRestore, name) for name in _USED):
        raise ImportError(
            f"{_STAGE}: this version of Keras has a different BackupAndRestore; save get_state() "
            "in a callback, and pass it to set_state() before fit"
        )
    return type("BackupAndRestore", (_Backup, BackupAndRestore), {"__module__": __name__})
