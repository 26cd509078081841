"""Write baseline JPEGs from coefficients, with any Huffman codes, sampling and restart markers.

ITU-T T.81: ordinary encoders leave most of the format's features unused.
"""

import struct
from typing import NamedTuple

import numpy as np

END_OF_BLOCK, SIXTEEN_ZEROS = 0x00, 0xF0
DC_SYMBOLS = list(range(12))
AC_SYMBOLS = [END_OF_BLOCK, SIXTEEN_ZEROS, *(r << 4 | s for r in range(16) for s in range(1, 11))]


class Codes(NamedTuple):
    """Symbols in the order of their codes, and the code lengths."""

    symbols: list[int]
    lengths: list[int]

    def table(self):
        """Return {symbol: (code, length)}, shorter codes first, as the format numbers them."""
        codes, code, before = {}, 0, 0
        for symbol, length in zip(self.symbols, self.lengths, strict=True):
            code <<= length - before
            codes[symbol] = (code, length)
            code, before = code + 1, length
        return codes

    def segment(self, kind, number):
        counts = [self.lengths.count(length) for length in range(1, 17)]
        return bytes([kind << 4 | number, *counts, *self.symbols])


def even(symbols):
    """Return codes that all have the same length."""
    return Codes(symbols, [len(symbols).bit_length()] * len(symbols))


def skewed(symbols, short=7):
    """Return codes of 1, 2, 3, ... bits for the first ones, and of 16 bits for the rest."""
    short = min(short, len(symbols) - 1)
    return Codes(symbols, [*range(1, short + 1), *[16] * (len(symbols) - short)])


class _Bits:
    def __init__(self):
        self.bits = []

    def put(self, value, count):
        self.bits += [value >> (count - 1 - i) & 1 for i in range(count)]

    def done(self):
        """Return the bytes, padded with ones, and with a zero after each 0xFF."""
        self.bits += [1] * (-len(self.bits) % 8)
        data, self.bits = np.packbits(self.bits).tobytes(), []
        return data.replace(b"\xff", b"\xff\0")


def _put_value(bits, value):
    size = abs(value).bit_length()
    bits.put(value if value >= 0 else value + (1 << size) - 1, size)


def _put_block(bits, block, difference, dc, ac):
    bits.put(*dc[abs(difference).bit_length()])
    _put_value(bits, difference)
    zeros = 0
    for value in block[1:].tolist():
        if value == 0:
            zeros += 1
            continue
        for _ in range(zeros // 16):
            bits.put(*ac[SIXTEEN_ZEROS])
        bits.put(*ac[zeros % 16 << 4 | abs(value).bit_length()])
        _put_value(bits, value)
        zeros = 0
    if zeros:
        bits.put(*ac[END_OF_BLOCK])


def _scan(components, sampling, dc, ac, restart_interval):
    """Encode one scan of all components: arrays (rows, columns, 64) of blocks in zigzag order."""
    h, v = sampling[0]
    rows, columns = components[0].shape[0] // v, components[0].shape[1] // h
    bits, data, last = _Bits(), [], [0] * len(components)
    for number in range(rows * columns):
        if restart_interval and number and number % restart_interval == 0:
            data += [bits.done(), bytes([0xFF, 0xD0 + (number // restart_interval - 1) % 8])]
            last = [0] * len(components)
        y, x = divmod(number, columns)
        for i, (blocks, (wide, high)) in enumerate(zip(components, sampling, strict=True)):
            for block in blocks[y * high : (y + 1) * high, x * wide : (x + 1) * wide].reshape(
                -1, 64
            ):
                _put_block(bits, block, int(block[0]) - last[i], dc, ac)
                last[i] = int(block[0])
    return b"".join([*data, bits.done()])


def _marker(code, content):
    return b"\xff" + bytes([code]) + struct.pack(">H", len(content) + 2) + content


def write(components, size, sampling, dc=None, ac=None, restart_interval=0):
    """Return a JPEG of `size` (rows, columns), with all quantisation factors 1.

    The first component has the largest sampling factors; a single one has (1, 1).
    """
    dc, ac = dc or even(DC_SYMBOLS), ac or even(AC_SYMBOLS)
    frame = struct.pack(">BHHB", 8, *size, len(components))
    for i, (h, v) in enumerate(sampling, 1):
        frame += bytes([i, h << 4 | v, 0])
    scan = bytes([len(components)]) + b"".join(bytes([i + 1, 0]) for i in range(len(components)))
    parts = [b"\xff\xd8", _marker(0xDB, b"\0" + b"\1" * 64), _marker(0xC0, frame)]
    parts += [_marker(0xC4, dc.segment(0, 0)), _marker(0xC4, ac.segment(1, 0))]
    if restart_interval:
        parts.append(_marker(0xDD, struct.pack(">H", restart_interval)))
    parts += [_marker(0xDA, scan + b"\0\x3f\0")]
    parts += [_scan(components, sampling, dc.table(), ac.table(), restart_interval), b"\xff\xd9"]
    return b"".join(parts)


def draw_blocks(rng, rows, columns, density):
    """Draw blocks in which each coefficient is non-zero with a small or large probability."""
    shape = (rows, columns, 64)
    sizes = rng.integers(1, 10, shape)
    values = rng.integers(1, 1 << sizes) * rng.choice([-1, 1], shape)
    blocks = values * (rng.random(shape) < density)
    blocks[..., 0] = rng.integers(-1024, 1024, shape[:2])
    return blocks
