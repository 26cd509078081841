"""Read a wheel as a dictionary of files, and write it with a matching RECORD."""

import base64
import hashlib
import zipfile
from pathlib import Path


class WheelArchive:
    """The files of a wheel by name; ``write`` creates a new wheel from them."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            self.files = {entry.filename: archive.read(entry) for entry in entries}
            self._entries = {entry.filename: entry for entry in entries}
        (metadata,) = (name for name in self.files if name.endswith(".dist-info/METADATA"))
        self.dist_info = metadata.split("/")[0]

    def extract(self, folder: Path, suffix: str) -> list[Path]:
        """Write the files whose names end in ``suffix`` to ``folder``."""
        paths = []
        for name in (name for name in self.files if name.endswith(suffix)):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.files[name])
            paths.append(path)
        return paths

    def write(self, wheel: Path) -> None:
        """Write the wheel, sorted by name; new files get the date and mode of METADATA."""
        record = f"{self.dist_info}/RECORD"
        # RECORD is the last file, as in other wheels.
        names = sorted(self.files.keys() - {record}, key=lambda name: (self._is_info(name), name))
        rows = [self._row(name) for name in names]
        self.files[record] = "".join([*rows, f"{record},,\n"]).encode()
        like = self._entries[f"{self.dist_info}/METADATA"]
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in (*names, record):
                old = self._entries.get(name, like)
                entry = zipfile.ZipInfo(name, old.date_time)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = old.external_attr
                archive.writestr(entry, self.files[name])

    def _is_info(self, name: str) -> bool:
        return name.startswith(f"{self.dist_info}/")

    def _row(self, name: str) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(self.files[name]).digest())
        return f"{name},sha256={digest.decode().rstrip('=')},{len(self.files[name])}\n"
