"""JPEG files: decoding, encoding, and reading headers."""

from __future__ import annotations

from operator import index
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call, is_symbolic
from penstock.ops.image import pillow
from penstock.ops.image.cropping import crop_to_bounding_box


@checked
def decode_jpeg(
    contents: bytes,
    channels: int = 0,
    ratio: int | Literal["auto"] = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
    max_pixels: int | None = None,
) -> npt.NDArray[np.uint8]:
    """Decode a JPEG file.

    Parameters
    ----------
    contents : bytes
        The content of a JPEG file, baseline or progressive.
    channels : int
        1 for grayscale, 3 for RGB, 0 for the channels of the file (3 for CMYK). CMYK is converted
        to gray through RGB, with the weights of ITU-R BT.601 in 16-bit fixed point that Pillow uses
        for ``convert("L")``.
    ratio : int or "auto"
        1, 2, 4 or 8: decode at a fraction of the size, rounded up, which is cheaper than a resize.
        ``"auto"`` means 1, except that a native function decodes only the resolution that a later
        resize needs (see below).
    fancy_upscaling : bool
        Interpolate colour that is stored at a lower resolution. ``False`` is faster, but blockier.
    try_recover_truncated : bool
        Decode as much as possible of a truncated file, and fill in the rest.
    acceptable_fraction : float
        Fraction of the rows that must be readable if the data is corrupt. Other rows are black.
    dct_method : str
        ``"INTEGER_ACCURATE"``, or ``"INTEGER_FAST"``, which is a few per cent faster and off by a
        few units of 255 at high qualities. ``""`` is the fast method, as in TensorFlow.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    max_pixels : int, optional
        Maximum number of pixels. ``None`` means 178,956,970.

    Returns
    -------
    numpy.ndarray
        Shape ``(height, width, channels)``, dtype uint8.

    Raises
    ------
    penstock.DataError
        If `contents` is not a JPEG file, or is truncated, corrupt or too large.
    ValueError
        If an argument has an invalid value.
    RuntimeError
        If penstock was built without libjpeg, and Pillow is missing or the function is native.

    Notes
    -----
    Pixels equal TensorFlow's if both use libjpeg-turbo, and Pillow's with ``"INTEGER_ACCURATE"``.
    Damage from which libjpeg recovers with a warning is not an error, as in TensorFlow, and the
    warning is not printed. A file with more than 500 scans of the image is rejected. The camera
    orientation (EXIF) is not applied, as in TensorFlow.

    ``ratio="auto"`` has an effect in a native function (`penstock.native`) that uses the pixels
    only for one resize. The file is then decoded at the largest ratio of 1, 2, 4 and 8 at which the
    input of the resize is still at least as large as the result on both sides. The resize uses the
    same part of the picture. Pixels therefore **differ from those of the plain function**, in which
    the ratio is 1. The resize may be `resize`, `resize_with_pad` or `random_resized_crop`, with any
    method except ``"nearest"``. Crops may precede it. `cast`, `convert_image_dtype` and ``+ - * /``
    with numbers may follow it if their results are floats. `shape` and the windows of crops use
    the sizes of the whole image. In all other cases the ratio is 1. For time savings and pixel
    differences, see :doc:`/guides/native`.

    Examples
    --------
    >>> from io import BytesIO
    >>> from PIL import Image
    >>> file = BytesIO()
    >>> Image.new("RGB", (6, 4), "white").save(file, "JPEG")
    >>> image = ps.image.decode_jpeg(file.getvalue())
    >>> image.shape, image.min()
    ((4, 6, 3), np.uint8(255))
    >>> ps.image.decode_jpeg(file.getvalue(), channels=1, ratio=2).shape
    (2, 3, 1)
    """
    attributes = _jpeg_attributes(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    attributes["max_pixels"] = max_pixels
    return pillow.call_codec(
        "jpeg",
        "image.decode_jpeg",
        [contents],
        attributes,
        lambda: _decoded_by_pillow("decode_jpeg", contents, attributes),
    )


@checked
def decode_and_crop_jpeg(
    contents: bytes,
    crop_window: npt.ArrayLike,
    channels: int = 0,
    ratio: int | Literal["auto"] = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
    max_pixels: int | None = None,
) -> npt.NDArray[np.uint8]:
    """Decode a window of a JPEG file; faster than decoding and cropping, with equal pixels.

    Parameters
    ----------
    contents : bytes
        The content of a JPEG file.
    crop_window : array_like of int
        y, x, height and width of the window, shape ``(4,)``, in pixels of the decoded image (after
        `ratio`; with ``"auto"``, of the image at full size).
    channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
        As in `decode_jpeg`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    max_pixels : int, optional
        As in `decode_jpeg`, for the whole image.

    Returns
    -------
    numpy.ndarray
        Shape ``(height, width, channels)`` of the window, dtype uint8.

    Raises
    ------
    ValueError
        If the window is empty or not within the image.
    penstock.DataError
        As in `decode_jpeg`. Data after the window may not be read, so damage there may be missed.

    Notes
    -----
    Rows above the window must still be parsed, and a progressive file is parsed completely. A
    window with a quarter of the area saves about 40 % of the time for a baseline file, and little
    for a progressive one.

    Examples
    --------
    >>> from io import BytesIO
    >>> from PIL import Image
    >>> file = BytesIO()
    >>> Image.linear_gradient("L").save(file, "JPEG")
    >>> window = ps.image.decode_and_crop_jpeg(file.getvalue(), [10, 20, 3, 2])
    >>> window.shape
    (3, 2, 1)
    >>> whole = ps.image.decode_jpeg(file.getvalue())
    >>> np.array_equal(window, whole[10:13, 20:22])
    True
    """
    attributes = _jpeg_attributes(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    attributes["max_pixels"] = max_pixels

    def instead() -> npt.NDArray[np.uint8]:
        y, x, height, width = np.asarray(crop_window).tolist()
        whole = _decoded_by_pillow("decode_and_crop_jpeg", contents, attributes)
        window: npt.NDArray[np.uint8] = crop_to_bounding_box(whole, y, x, height, width)
        return window

    inputs = [contents, crop_window]
    return pillow.call_codec("jpeg", "image.decode_jpeg", inputs, attributes, instead)


def _jpeg_attributes(
    channels: int,
    ratio: int | Literal["auto"],
    fancy_upscaling: bool,
    try_recover_truncated: bool,
    acceptable_fraction: float,
    dct_method: str,
) -> dict[str, Any]:
    return {
        "channels": index(channels),
        "ratio": ratio if isinstance(ratio, str) else index(ratio),
        "fancy_upscaling": bool(fancy_upscaling),
        "try_recover_truncated": bool(try_recover_truncated),
        "acceptable_fraction": float(acceptable_fraction),
        "dct_method": dct_method,
    }


def _decoded_by_pillow(
    name: str, contents: bytes, attributes: dict[str, Any]
) -> npt.NDArray[np.uint8]:
    if attributes["ratio"] not in (1, "auto") or attributes["try_recover_truncated"]:
        raise RuntimeError(
            f"{name}: ratio and try_recover_truncated need libjpeg, and this penstock was built "
            "without it; python -m penstock doctor says how to get it"
        )
    return pillow.decode(
        name, contents, attributes["channels"], max_pixels=attributes["max_pixels"]
    )


@checked
def encode_jpeg(
    image: npt.ArrayLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> bytes:
    r"""Encode an image as a JPEG file.

    Parameters
    ----------
    image : array_like
        uint8, shape ``(height, width, 1)`` or ``(height, width, 3)``.
    format : str
        The required form of `image`: ``"grayscale"`` or ``"rgb"``. ``""`` accepts both.
    quality : int
        From 0 to 100.
    progressive : bool
        Write a file that can first be shown at low quality.
    optimize_size : bool
        Save a few per cent of the bytes at the cost of time. Pixels are the same.
    chroma_downsampling : bool
        Store colour at half the resolution.
    density_unit : str
        Unit of the densities: ``"in"`` or ``"cm"``.
    x_density, y_density : int
        Pixels per unit when printed, from 1 to 65535.
    xmp_metadata : str
        XMP to store in the file, at most 65,504 bytes of UTF-8.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bytes
        The content of a JPEG file.

    Raises
    ------
    TypeError
        If `image` is not uint8.
    ValueError
        If `image` has another shape, no pixels or more than 65,500 in a row or column, or an
        argument has an invalid value.
    RuntimeError
        As in `decode_jpeg`.

    Examples
    --------
    >>> ps.image.encode_jpeg(np.zeros((4, 6, 3), np.uint8))[:3]
    b'\xff\xd8\xff'
    """
    attributes = {
        "format": format,
        "quality": index(quality),
        "progressive": bool(progressive),
        "optimize_size": bool(optimize_size),
        "chroma_downsampling": bool(chroma_downsampling),
        "density_unit": density_unit,
        "x_density": index(x_density),
        "y_density": index(y_density),
        "xmp_metadata": xmp_metadata,
    }

    def instead() -> bytes:
        scale = 2.54 if density_unit == "cm" else 1
        return pillow.encode(
            np.asarray(image),
            "JPEG",
            quality=quality,
            progressive=progressive,
            optimize=optimize_size,
            subsampling="4:2:0" if chroma_downsampling else "4:4:4",
            dpi=(round(x_density * scale), round(y_density * scale)),
            xmp=xmp_metadata.encode(),
        )

    return pillow.call_codec("jpeg", "image.encode_jpeg", [image], attributes, instead)


@checked
def extract_jpeg_shape(
    contents: bytes, output_type: npt.DTypeLike = np.int32, name: str | None = None
) -> npt.NDArray[Any]:
    """Return the size of a JPEG image from its header, without decoding it.

    Parameters
    ----------
    contents : bytes
        The content of a JPEG file.
    output_type : dtype_like
        int32 or int64.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Height, width and number of colour components of the file, shape ``(3,)``.

    Raises
    ------
    penstock.DataError
        If `contents` is not a JPEG file, or ends before the size.

    Examples
    --------
    >>> from io import BytesIO
    >>> from PIL import Image
    >>> file = BytesIO()
    >>> Image.new("RGB", (6, 4)).save(file, "JPEG")
    >>> ps.image.extract_jpeg_shape(file.getvalue())
    array([4, 6, 3], dtype=int32)
    """
    attributes = {"output_type": np.dtype(output_type).name}
    return call("image.extract_jpeg_shape", [contents], attributes)


@checked
def is_jpeg(contents: bytes, name: str | None = None) -> bool:
    r"""Return whether bytes start like a JPEG file.

    Parameters
    ----------
    contents : bytes
        The content of a file.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bool
        Whether the first three bytes are those of a JPEG.

    Examples
    --------
    >>> ps.image.is_jpeg(b"\x89PNG")
    False
    """
    found = call("image.is_jpeg", [contents])
    return found if is_symbolic(found) else bool(found)
