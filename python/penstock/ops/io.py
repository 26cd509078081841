"""Operations on files."""

import os

from penstock import _core

__all__ = ["read_file"]


def read_file(filename: str | bytes | os.PathLike[str], name: str | None = None) -> bytes:
    r"""Read a whole file.

    Parameters
    ----------
    filename : str, bytes or path
        A file of this machine.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OSError
        If it cannot be opened or read, or is a folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("greeting.txt").write_bytes(b"hello\n")
    6
    >>> ps.io.read_file("greeting.txt")
    b'hello\n'
    """
    return _core.call_op("io.read_file", [os.fsencode(filename)], {})
