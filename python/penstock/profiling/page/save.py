"""Write a profile in the format that the file extension selects."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.libraries import library
from penstock.profiling.page.picture import save_picture
from penstock.profiling.page.report import save_report
from penstock.profiling.page.trace import save_trace

_FORMS = {".html": save_report, ".json": save_trace, ".png": save_picture}


def save(data: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a profile to a file, in a format selected by the file extension.

    Parameters
    ----------
    data : mapping
        The result of `Profile.to_dict`.
    path : str or os.PathLike
        A path that ends in ``.html`` (a page for a browser), ``.json`` (a trace for Perfetto) or
        ``.png`` (a picture). An existing file is replaced.

    Raises
    ------
    ValueError
        If `path` has another extension.
    """
    _form_of(path)(data, path)


def check_path(path: str | os.PathLike[str]) -> None:
    """Raise the errors of `save` that can be detected in advance.

    Parameters
    ----------
    path : str or os.PathLike
        The argument of `save`.

    Raises
    ------
    ValueError
        If `path` has another extension, its folder does not exist, or it is a folder.
    ModuleNotFoundError
        If Matplotlib is required but not installed.
    """
    if _form_of(path) is save_picture:
        library("Profile.save", "matplotlib", "viz")
    parent = Path(path).parent
    if not parent.is_dir():
        raise ValueError(f"Profile.save: there is no folder {str(parent)!r}")
    if Path(path).is_dir():
        raise ValueError(f"Profile.save: {os.fspath(path)!r} is a folder")


def _form_of(path: str | os.PathLike[str]) -> Callable[[Mapping[str, Any], Any], None]:
    form = _FORMS.get(Path(path).suffix.lower())
    if form is None:
        raise ValueError(
            "Profile.save: expected a path that ends in .html (a page for a browser), .json (a "
            f"trace for Perfetto) or .png (a picture), got {os.fspath(path)!r}"
        )
    return form
