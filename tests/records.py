"""Handwritten record files, and the order in which several of them are read."""

import gzip
import struct
import zlib

import pytest

from nightly import nightly
from penstock import _core


def zstd(data):
    """Compress to one frame, with the library that penstock writes with."""
    packer = _core.ZstdCompressor("test", 3)
    return packer.compress(data) + packer.flush()


COMPRESS = {
    None: lambda data: data,
    "": lambda data: data,
    "GZIP": gzip.compress,
    "ZLIB": zlib.compress,
    "ZSTD": zstd,
}
# The compressions that this build can read.
COMPRESSIONS = ["GZIP", "ZLIB"] + ["ZSTD"] * _core.build_info()["zstd"]["native"]
# For contract fixtures; the nightly runs use all of them.
PLAIN_AND_COMPRESSED = [None, "GZIP", *nightly(*COMPRESSIONS[1:])]
needs_zstd = pytest.mark.skipif("ZSTD" not in COMPRESSIONS, reason="built without zstd")


def crc32c(data):
    """Compute CRC-32C by its definition, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    """Return the four bytes that follow `data` in a TFRecord file."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(record, length=None):
    """Return a TFRecord, optionally with a wrong length."""
    head = struct.pack("<Q", len(record) if length is None else length)
    return head + masked(head) + record + masked(record)


def in_turn(records, width):
    """Yield records from `width` open files alternately."""
    waiting = iter(records)
    slots = [None] * width
    while True:
        given = 0
        for i in range(width):
            if slots[i] is None:
                slots[i] = (source := next(waiting, None)) and iter(source)
                if source is not None and not source:
                    slots[i] = iter(())
            if slots[i] is None:
                continue
            given += 1
            try:
                yield next(slots[i])
            except StopIteration:
                slots[i] = None
        if not given:
            return
