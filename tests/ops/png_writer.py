"""PNG files of every kind, written according to the specification, to test decoders against."""

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
SAMPLES = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}
DEPTHS = {
    GRAY: (1, 2, 4, 8, 16),
    RGB: (8, 16),
    PALETTE: (1, 2, 4, 8),
    GRAY_ALPHA: (8, 16),
    RGB_ALPHA: (8, 16),
}
# Adam7: the first row and column of each pass, and the steps.
PASSES = [
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
]


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def header(height, width, depth, kind, interlaced=False):
    data = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    return chunk(b"IHDR", data)


def write(samples, depth, kind, palette=None, transparency=None, interlaced=False, extra=b""):
    """Write samples of shape (height, width, samples per pixel), as they are stored."""
    height, width, _ = samples.shape
    parts = [samples]
    if interlaced:
        parts = [samples[y::dy, x::dx] for y, x, dy, dx in PASSES]
    rows = b"".join(_rows(part, depth) for part in parts if part.size)
    file = SIGNATURE + header(height, width, depth, kind, interlaced) + extra
    if palette is not None:
        file += chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    if transparency is not None:
        file += chunk(b"tRNS", transparency)
    return file + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def with_checksums(contents):
    """Recompute the checksums of the chunks, so that damage is not detected by them alone."""
    data, at = bytearray(contents), len(SIGNATURE)
    while at + 12 <= len(data):
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        if end + 4 > len(data):
            break
        data[end : end + 4] = zlib.crc32(data[at + 4 : end]).to_bytes(4, "big")
        at = end + 4
    return bytes(data)


def _rows(samples, depth):
    if depth == 16:
        packed = samples.astype(">u2").view(np.uint8).reshape(len(samples), -1)
    elif depth == 8:
        packed = samples.astype(np.uint8).reshape(len(samples), -1)
    else:
        bits = np.unpackbits(samples.astype(np.uint8).reshape(len(samples), -1, 1), axis=2)
        packed = np.packbits(bits[:, :, 8 - depth :].reshape(len(samples), -1), axis=1)
    return b"".join(b"\0" + row.tobytes() for row in packed)
