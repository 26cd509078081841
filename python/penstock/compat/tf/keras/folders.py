"""Datasets of the files in a folder, whose subfolders are classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.arguments.names import RESIZE_METHODS
from penstock.compat.calling import ported
from penstock.compat.dataset import Dataset
from penstock.compat.listing import listing
from penstock.compat.shape import TensorSpec
from penstock.compat.tf.audio import decode_wav
from penstock.ops import io as _io
from penstock.ops import strings as _strings
from penstock.printable import printable
from penstock.sources.folders import CHANNELS, Files, LoadImage, files_of

_MODES = ("int", "categorical", "binary", None)

_read_file = ported(_io.read_file)
_substr = ported(_strings.substr)


def image_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Any = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: Any = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Create a dataset of the images in a folder: BMP, GIF, JPEG and PNG.

    Parameters
    ----------
    directory : str
        The folder.
    labels : "inferred", None, or sequence of int
        "inferred": subfolders are classes. None: no labels. Otherwise, the class of each file, in
        the order of the files.
    label_mode : str or None
        "int" for int32, "categorical" for one-hot rows, "binary" for float32 of shape ``(1,)``,
        None for images without labels.
    class_names : sequence of str, optional
        The subfolders, in the order of their class numbers; by default, all subfolders sorted by
        name.
    color_mode : str
        "grayscale", "rgb" or "rgba".
    batch_size : int or None
        Number of images in a batch; None for no batching.
    image_size : (int, int) or int
        Height and width to which images are resized.
    shuffle : bool
        Whether to shuffle the files; otherwise they are sorted by name.
    seed : int, optional
        The seed, for a reproducible order.
    validation_split : float, optional
        The share of the files for validation, taken from the end.
    subset : str, optional
        "training", "validation", or "both" for a list of two datasets.
    interpolation : str
        A method of `tf.image.resize`.
    follow_links : bool
        Whether to follow links to folders.
    crop_to_aspect_ratio : bool
        Whether to crop the centre to the aspect ratio of `image_size` before resizing.
    pad_to_aspect_ratio : bool
        Whether to pad with zeros to that aspect ratio instead.
    data_format : str, optional
        "channels_last" or "channels_first".
    format : str
        Must be "tf".
    verbose : bool
        Whether to print the number of files.

    Returns
    -------
    Dataset
        A dataset of images, float32 (uint8 for "nearest"), or of pairs of images and labels. It has
        the attributes `class_names` and `file_paths`; paths are in the order before the `shuffle`
        of each epoch.

    Raises
    ------
    ValueError
        If an argument has an invalid value, or there are no files.
    """
    if color_mode not in CHANNELS:
        raise ValueError(
            '`color_mode` must be one of {"rgb", "rgba", "grayscale"}. '
            f"Received: color_mode={color_mode}"
        )
    size = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
    if len(size) != 2:
        raise ValueError(
            "Invalid `image_size` value. Expected a tuple of 2 integers. "
            f"Received: image_size={image_size}"
        )
    if interpolation.lower() not in RESIZE_METHODS:
        raise ValueError(
            f"Argument `interpolation` should be one of {RESIZE_METHODS}. "
            f"Received: interpolation={interpolation}"
        )
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(
            "The `data_format` argument must be one of {'channels_first', 'channels_last'}. "
            f"Received: data_format={data_format}"
        )
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio`, `crop_to_aspect_ratio` can be set to `True`."
        )

    load = LoadImage(
        CHANNELS[color_mode],
        size,
        interpolation.lower(),
        cropped=crop_to_aspect_ratio,
        padded=pad_to_aspect_ratio,
        channels_first=data_format == "channels_first",
    )
    formats = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
    files = _Files("image", directory, formats, labels, label_mode, class_names, format)
    spec = load.spec()
    loaded = _Loaded(ported(load), TensorSpec(spec.shape, spec.dtype))
    order = _Order(shuffle, seed, validation_split, subset)
    return files.datasets(loaded, _batched(batch_size), batch_size, order, follow_links, verbose)


def text_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Any = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Create a dataset of the texts in a folder: files with the extension ``.txt``.

    Parameters
    ----------
    directory, labels, label_mode, class_names, batch_size, shuffle, seed, validation_split, \
subset, follow_links, format, verbose
        As in `image_dataset_from_directory`.
    max_length : int, optional
        Maximum number of bytes of each text.

    Returns
    -------
    Dataset
        A dataset of texts, or of pairs of texts and labels.
    """

    def load(path: Any) -> Any:
        text = _read_file(path)
        return text if max_length is None else _substr(text, 0, max_length)

    files = _Files("text", directory, (".txt",), labels, label_mode, class_names, format)
    loaded = _Loaded(load, TensorSpec((), "string"))
    order = _Order(shuffle, seed, validation_split, subset)
    return files.datasets(loaded, _batched(batch_size), batch_size, order, follow_links, verbose)


def audio_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Any = None,
    batch_size: int | None = 32,
    sampling_rate: int | None = None,
    output_sequence_length: int | None = None,
    ragged: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """Create a dataset of the audio in a folder: 16-bit WAV files.

    Parameters
    ----------
    directory, labels, label_mode, class_names, batch_size, shuffle, seed, validation_split, \
subset, follow_links, verbose
        As in `image_dataset_from_directory`.
    sampling_rate : None
        Must be None: audio is not resampled.
    output_sequence_length : int, optional
        The number of samples, to which audio is cut or padded with zeros. By default, the maximum
        in each batch.
    ragged : bool
        Whether to return ragged batches instead.

    Returns
    -------
    Dataset
        A dataset of audio, float32 of shape ``(samples, channels)``, or of pairs of audio and
        labels.
    """
    if ragged and output_sequence_length is not None:
        raise ValueError("Cannot set both `ragged` and `output_sequence_length`")
    if sampling_rate is not None:
        raise ValueError(
            "`sampling_rate` must be None: sounds are not resampled here; do so in a function "
            f"for `map`. Received: sampling_rate={sampling_rate}"
        )
    samples = -1 if output_sequence_length is None else output_sequence_length

    def load(path: Any) -> Any:
        return decode_wav(_read_file(path), desired_samples=samples).audio

    def batched(dataset: Any) -> Any:
        if batch_size is None:
            return dataset
        if ragged:
            return dataset.ragged_batch(batch_size)
        return dataset.padded_batch(batch_size) if samples == -1 else dataset.batch(batch_size)

    files = _Files("audio", directory, (".wav",), labels, label_mode, class_names, "tf")
    loaded = _Loaded(load, TensorSpec((output_sequence_length, None), np.float32))
    order = _Order(shuffle, seed, validation_split, subset)
    return files.datasets(loaded, batched, batch_size, order, follow_links, verbose)


def _batched(batch_size: int | None) -> Callable[[Any], Any]:
    return lambda dataset: dataset if batch_size is None else dataset.batch(batch_size)


class _Loaded(NamedTuple):
    """A function that loads a path, and the shape and type of its result."""

    function: Callable[[Any], Any]
    spec: TensorSpec

    def of(self, dataset: Any, with_labels: bool) -> Any:
        load, spec = self
        if not with_labels:
            return dataset.map(load, num_parallel_calls=-1, output_signature=spec)
        return dataset.map(
            lambda path, label: (load(path), label),
            num_parallel_calls=-1,
            output_signature=(spec, dataset.element_spec[1]),
        )


class _Order(NamedTuple):
    """Order and selection of files."""

    shuffle: bool
    seed: int | None
    validation_split: float | None
    subset: str | None

    def check(self) -> None:
        if self.validation_split and not 0 < self.validation_split < 1:
            raise ValueError(
                f"`validation_split` must be between 0 and 1, received: {self.validation_split}"
            )
        if bool(self.validation_split) != bool(self.subset):
            raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
        if self.subset not in ("training", "validation", "both", None):
            raise ValueError(
                '`subset` must be either "training", "validation" or "both", '
                f"received: {self.subset}"
            )
        if self.validation_split and self.shuffle and self.seed is None:
            raise ValueError(
                "If using `validation_split` and shuffling the data, you must provide a `seed` "
                "argument, to make sure that there is no overlap between the training and "
                "validation subset."
            )


class _Files:
    """The files in a folder with given extensions, and their classes."""

    def __init__(
        self,
        kind: str,
        directory: Any,
        formats: tuple[str, ...],
        labels: Any,
        label_mode: str | None,
        class_names: Any,
        format: str,
    ) -> None:
        is_list = isinstance(labels, (list, tuple))
        if not is_list and labels not in ("inferred", None):
            raise ValueError(
                "`labels` argument should be a list/tuple of integer labels, of the same size as "
                f"the number of {kind} files in the target directory, "
                f'"inferred" or None. Received: labels={labels}'
            )
        if class_names and labels != "inferred":
            raise ValueError(
                'You can only pass `class_names` if `labels="inferred"`. '
                f"Received: labels={labels}, and class_names={class_names}"
            )
        if label_mode not in _MODES:
            raise ValueError(
                '`label_mode` argument must be one of "int", "categorical", "binary", or None. '
                f"Received: label_mode={label_mode}"
            )
        if format != "tf":
            raise ValueError(f'`format` should be "tf". Received: format={format}')
        self._kind, self._formats = kind, formats
        self._stage = f"{kind}_dataset_from_directory"
        self._directory = os.fspath(directory)
        self._mode = None if labels is None else label_mode
        self._labels = None if label_mode is None else labels
        self._class_names = class_names

    def datasets(
        self,
        loaded: _Loaded,
        batched: Callable[[Any], Any],
        batch_size: int | None,
        order: _Order,
        follow_links: bool,
        verbose: bool,
    ) -> Any:
        """Return the dataset, or the datasets for training and validation."""
        order.check()
        files = files_of(
            self._stage,
            self._directory,
            self._formats,
            self._labels,
            self._class_names or None,
            follow_links,
        )
        if verbose:
            belonging = "" if files.names is None else f" belonging to {len(files.names)} classes"
            print(f"Found {len(files.paths)} files{belonging}.")
        if order.shuffle:
            files = files.shuffled(order.seed)
        subsets = ["training", "validation"] if order.subset == "both" else [order.subset]
        made = []
        for subset in subsets:
            taken = files.share(order.validation_split, subset)
            self._check(taken.paths, subset)
            dataset = self._labelled(taken)
            if order.shuffle and not (order.subset == "both" and subset == "validation"):
                dataset = dataset.shuffle((batch_size or 128) * 8, order.seed)
            dataset = batched(loaded.of(dataset, self._mode is not None)).prefetch(-1)
            dataset.class_names, dataset.file_paths = taken.names, taken.paths
            made.append(dataset)
        return made if order.subset == "both" else made[0]

    def _check(self, paths: list[str], subset: str | None) -> None:
        if subset is not None:
            print(f"Using {len(paths)} files for {subset}.")
        if not paths:
            raise ValueError(
                f"No {f'{subset} ' if subset else ''}{self._kind} files found in directory "
                f"{printable(self._directory)}. Allowed formats: {self._formats}"
            )

    def _labelled(self, files: Files) -> Any:
        if self._mode is None:
            return Dataset.from_tensor_slices(files.paths)
        labels = files.labels(self._stage, self._mode)
        return Dataset.from_tensor_slices((files.paths, labels))


__dir__ = listing(globals())
