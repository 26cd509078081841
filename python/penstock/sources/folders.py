"""Folders whose subfolders are classes, and the dataset of their images."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock.arguments.checks import shown
from penstock.dataset import AUTOTUNE, Dataset
from penstock.on_error import OnError
from penstock.ops.array import cast, shape, transpose
from penstock.ops.image import (
    crop_to_bounding_box,
    decode_image,
    resize,
    resize_with_pad,
)
from penstock.ops.io import read_file
from penstock.ops.native import native
from penstock.paths import is_url, name_of
from penstock.printable import printable
from penstock.remote.listing import files_below, is_hidden, walk
from penstock.sources.source import Source
from penstock.stages.map import map_for
from penstock.structure import TensorSpec

CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}
_STAGE = "from_image_folder"
_FORMATS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp")


class Files(NamedTuple):
    """Files, their classes, and the names of the classes."""

    paths: list[str]
    classes: list[Any]
    names: list[str] | None

    def shuffled(self, seed: int | None) -> Files:
        """Return the files in the order in which Keras shuffles them with a seed."""
        order = np.random.RandomState(seed).permutation(len(self.paths)).tolist()
        return Files([self.paths[i] for i in order], [self.classes[i] for i in order], self.names)

    def share(self, validation_split: float | None, subset: str | None) -> Files:
        """Return the files for training, or the last ones for validation."""
        first = len(self.paths) - int((validation_split or 0) * len(self.paths))
        taken = slice(first, None) if subset == "validation" else slice(first)
        return Files(self.paths[taken], self.classes[taken], self.names)

    def labels(self, stage: str, mode: str | None) -> Any:
        """Return a label per file: a class index, a one-hot row, or a row of 0 or 1 ("binary")."""
        if mode == "binary":
            if len(self.names or ()) != 2:
                raise ValueError(
                    f"{stage}: exactly 2 classes were expected with label_mode 'binary', got "
                    f"{self.names}"
                )
            return np.array(self.classes, np.float32)[:, np.newaxis]
        if mode == "categorical":
            numbers = np.array(self.classes)[:, np.newaxis]
            return (numbers == np.arange(len(self.names or ()))).astype(np.float32)
        return self.classes


def files_of(
    stage: str,
    directory: str,
    formats: tuple[str, ...],
    labels: Any,
    class_names: Sequence[str] | None,
    follow_links: bool,
) -> Files:
    """Return the files of a folder, sorted by name.

    Parameters
    ----------
    stage : str
        The name to use in errors.
    directory : str
        The folder, or its URL.
    formats : tuple of str
        File extensions, in lower case.
    labels : "inferred", None, or sequence
        "inferred" takes subfolders as classes, None omits labels, a sequence contains a label for
        each file.
    class_names : sequence of str, optional
        The subfolders, in the order of their class indices; None takes all, sorted by name.
    follow_links : bool
        Whether to follow symbolic links to folders.
    """
    folder = _Listed(directory) if is_url(directory) else _Folder(directory, follow_links)
    if not isinstance(labels, str):
        paths = folder.files([""], formats)[""]
        if labels is None:
            return Files(paths, [0] * len(paths), None)
        if len(labels) != len(paths):
            raise ValueError(
                f"{stage}: a label for each file was expected, but len(labels) is {len(labels)} "
                f"while we found {len(paths)} files in {printable(directory)}"
            )
        return Files(paths, list(labels), [str(each) for each in sorted(set(labels))])
    folders = sorted(name for name in folder.subfolders() if not is_hidden(name))
    names = folders if class_names is None else list(class_names)
    if class_names is not None and not (names and set(names) <= set(folders)):
        raise ValueError(
            f"{stage}: class_names must be names of subfolders of {printable(directory)}, got "
            f"{names}, which did not match {folders}"
        )
    paths, classes = [], []
    files = folder.files(names, formats)
    for number, name in enumerate(names):
        paths += files[name]
        classes += [number] * len(files[name])
    return Files(paths, classes, names)


class _Folder:
    """A local folder."""

    def __init__(self, path: str, follow_links: bool) -> None:
        self._path = path
        self._follow_links = follow_links

    def subfolders(self) -> list[str]:
        with os.scandir(self._path) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def files(self, subfolders: list[str], formats: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the files below each of these subfolders; "" is the folder itself."""
        # Not a Path, which would normalize the user's spelling.
        tops = {os.path.join(self._path, name) if name else self._path: name for name in subfolders}  # noqa: PTH118
        found: dict[str, list[tuple[str, str]]] = {name: [] for name in subfolders}
        for top, folder, _, names in walk(tops, self._follow_links, is_hidden):
            found[tops[top]] += [(folder, name) for name in names if name.lower().endswith(formats)]
        return {
            subfolder: [os.path.join(*each) for each in sorted(files)]  # noqa: PTH118
            for subfolder, files in found.items()
        }


class _Listed:
    """A folder in an object store, which is listed once."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._names = sorted(
            (folder, name) for folder, _, name in (n.rpartition("/") for n in files_below(url))
        )

    def subfolders(self) -> set[str]:
        return {folder.partition("/")[0] for folder, _ in self._names if folder}

    def files(self, subfolders: list[str], formats: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the files below each of these subfolders, as for a local folder."""
        found: dict[str, list[str]] = {name: [] for name in subfolders}
        for folder, name in self._names:
            top = folder.partition("/")[0]
            inside = [*folder.split("/"), name]
            for key in {"", top} & found.keys():
                skipped = any(map(is_hidden, inside[1 if key else 0 :]))
                if name.lower().endswith(formats) and not skipped:
                    found[key].append("/".join(filter(None, (self._url, folder, name))))
        return found


class LoadImage:
    """Load an image from a file."""

    def __init__(
        self,
        channels: int,
        size: tuple[int, int] | None,
        method: str,
        *,
        cropped: bool = False,
        padded: bool = False,
        channels_first: bool = False,
    ) -> None:
        self.channels = channels
        self.size = size
        self.method = method
        self.cropped = cropped
        self.padded = padded
        self.channels_first = channels_first

    def __call__(self, path: Any) -> Any:
        """Read, decode and resize the image."""
        contents = read_file(path)
        pixels = decode_image(contents, channels=self.channels, expand_animations=False)
        if self.size is not None:
            if self.padded:
                pixels = resize_with_pad(pixels, *self.size, self.method)
            else:
                shown = _middle(pixels, self.size) if self.cropped else pixels
                pixels = resize(shown, self.size, self.method)
        return transpose(pixels, (2, 0, 1)) if self.channels_first else pixels

    def spec(self) -> TensorSpec:
        """Return the spec that all images share."""
        size = self.size or (None, None)
        sizes = (self.channels, *size) if self.channels_first else (*size, self.channels)
        as_is = self.size is None or (self.method == "nearest" and not self.padded)
        return TensorSpec(sizes, np.uint8 if as_is else np.float32)


def _middle(pixels: Any, size: tuple[int, int]) -> Any:
    """Return the largest centered crop of an image with the aspect ratio of a size."""
    height, width = shape(pixels)[0], shape(pixels)[1]
    rows = _fitting(height, width, size[0], size[1])
    columns = _fitting(width, height, size[1], size[0])
    top, left = (height - rows) // 2, (width - columns) // 2
    return crop_to_bounding_box(pixels, top, left, rows, columns)


def _fitting(most: Any, other: Any, size: int, other_size: int) -> Any:
    wanted = cast(other * size, np.float32) / np.float32(other_size)
    return np.minimum(most, np.maximum(1, cast(wanted, np.int64)))


class _WithLabel:
    """Load the image of a (path, label) pair."""

    def __init__(self, load: LoadImage) -> None:
        self.load = load

    def __call__(self, path: Any, label: Any) -> Any:
        return self.load(path), label


class ImageFolder(Source):
    """The images of a folder, with their files and class names.

    Attributes
    ----------
    class_names : list of str or None
        The names of the classes, by label.
    file_paths : list of str
        The files, in their order before a shuffle.
    """

    class_names: list[str] | None
    file_paths: list[str]

    def __init__(self, made: Dataset, files: Files) -> None:
        self._become(made)
        self.class_names = files.names
        self.file_paths = files.paths


def image_folder(
    path: Any,
    image_size: Any,
    *,
    labels: Any,
    label_mode: str | None,
    class_names: Sequence[str] | None,
    color_mode: str,
    batch_size: int | None,
    shuffle: bool,
    seed: int | None,
    validation_split: float | None,
    subset: str | None,
    interpolation: str,
    crop_to_aspect_ratio: bool,
    pad_to_aspect_ratio: bool,
    follow_links: bool,
    name: str | None,
    on_error: OnError,
    max_errors: int | None,
) -> Any:
    """Implement `Dataset.from_image_folder`."""
    _check_labels(labels, class_names)
    _check_split(validation_split, subset, shuffle, seed)
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            f"{_STAGE}: one of crop_to_aspect_ratio and pad_to_aspect_ratio may be True, got both"
        )
    load = LoadImage(
        CHANNELS[color_mode],
        _size(image_size),
        interpolation,
        cropped=crop_to_aspect_ratio,
        padded=pad_to_aspect_ratio,
    )
    mode = None if labels is None else label_mode
    wanted = None if label_mode is None else labels
    folder = name_of(_STAGE, "path", path)
    files = files_of(_STAGE, folder, _FORMATS, wanted, class_names, follow_links)
    if shuffle and validation_split:
        files = files.shuffled(seed)
    made = []
    for each in ("training", "validation") if subset == "both" else (subset,):
        taken = files.share(validation_split, each)
        if files.paths and not taken.paths:
            raise ValueError(
                f"{_STAGE}: validation_split={validation_split} of {len(files.paths)} images "
                f"leaves none for {each}; use another validation_split, or more images"
            )
        if not taken.paths:
            raise ValueError(
                f"{_STAGE}: {f'{each} ' if each else ''}images were expected in "
                f"{printable(folder)}, got no files whose names end with {', '.join(_FORMATS)}"
            )
        dataset = _loaded(taken, load, mode, shuffle and each != "validation", seed, name)
        dataset = dataset._without_errors(_STAGE, on_error, max_errors)
        if batch_size is not None:
            dataset = dataset.batch(batch_size)
        made.append(ImageFolder(dataset, taken))
    return tuple(made) if subset == "both" else made[0]


def _loaded(
    files: Files,
    load: LoadImage,
    mode: str | None,
    shuffle: bool,
    seed: int | None,
    name: str | None,
) -> Dataset:
    paths = np.array([*files.paths, None], object)[:-1]
    function: Any = load
    spec: Any = load.spec()
    if mode is None:
        dataset = Dataset.from_tensor_slices(paths)
    else:
        labels = np.asarray(files.labels(_STAGE, mode))
        dataset = Dataset.from_tensor_slices((paths, labels))
        function = _WithLabel(load)
        spec = spec, TensorSpec(labels.shape[1:], labels.dtype)
    if shuffle:
        dataset = dataset.shuffle(len(paths), seed)
    dataset = map_for(_STAGE, dataset, native(function), AUTOTUNE, name=name)
    dataset._node.set_spec(_core.Spec(spec))
    return dataset


def _size(image_size: Any) -> tuple[int, int] | None:
    if image_size is None:
        return None
    size = image_size if isinstance(image_size, Iterable) else (image_size, image_size)
    height, *width = (index(each) for each in size)
    if len(width) != 1 or height < 1 or width[0] < 1:
        raise ValueError(
            f"{_STAGE}: image_size must be one number of pixels, >= 1, or height and width, got "
            f"{image_size!r}"
        )
    return height, width[0]


def _check_labels(labels: Any, class_names: Any) -> None:
    is_word = isinstance(labels, str)
    if (is_word and labels != "inferred") or not (
        labels is None or is_word or isinstance(labels, (Sequence, np.ndarray))
    ):
        wrong = ValueError if is_word else TypeError
        raise wrong(
            f'{_STAGE}: labels must be "inferred", None or a sequence with one for each file, got '
            f"{shown(labels)}"
        )
    if class_names is not None and not is_word:
        raise ValueError(
            f'{_STAGE}: class_names say which subfolders are read where labels are "inferred"; '
            "leave one of them out"
        )


def _check_split(
    validation_split: float | None, subset: str | None, shuffle: bool, seed: int | None
) -> None:
    if validation_split is not None and not 0 < validation_split < 1:
        raise ValueError(
            f"{_STAGE}: validation_split must lie between 0 and 1, got {validation_split}"
        )
    if (validation_split is None) != (subset is None):
        raise ValueError(
            f"{_STAGE}: validation_split and subset belong together, got "
            f"validation_split={validation_split} and subset={subset!r}"
        )
    if validation_split is not None and shuffle and seed is None:
        raise ValueError(
            f"{_STAGE}: a seed is needed with validation_split and shuffle, so that what is for "
            "training and what is for validation have no file in common"
        )
    if validation_split is not None and seed is not None and not 0 <= seed < 2**32:
        raise ValueError(
            f"{_STAGE}: seed must be from 0 to 2**32 - 1 with validation_split, got {seed}"
        )
