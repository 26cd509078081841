"""Test an installed wheel: import, a pipeline, images, compressed files, loaded libraries.

    python .ci/release/smoke.py

Needs only NumPy and penstock. On failure, exits with status 1 and the reason. Otherwise the last
line is JSON: the loaded shared libraries by path (Linux), the codecs and the GIL.
"""

import base64
import gzip
import json
import re
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

import penstock as ps
from penstock import _core

# 24 x 40 pixels, 4:2:0; all versions of libjpeg-turbo decode it to exactly these pixels.
PHOTO = """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsjHBYW
ICwgIyYnKSopGR8tMC0oMCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo
KCgoKCgoKCgoKCgoKCgoKCgoKCj/wAARCAAYACgDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcI
CQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRol
JicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ip
qrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAA
AAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLR
ChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaX
mJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEA
PwDwLStCE9wkbHYGz82M44roovDMUf8Ay3z/AMA/+vW7ZaUUYMq8itWLSZZP4sfhXOq0/sM9Dh3NcreHf12Vp30+Lay7
ab3OZi0ZUICHd+GK1LXSOny10+naI0ZYud+cdsYrdtdI6fLXqYavLlXNue2s3oqu1h3eGlt+3nrucna6R0+WivRLXSOn
y0V6ca+h9BRzj3dzCtdI6fLWxa6R0+WiiviaU2fy/gcTU7mxa6R0+Wti10jp8tFFelSmz7HA4mppqbFrpHT5aKKK9CM3
Y+qo4mpybn//2Q==
"""
PIXELS_CRC32 = 1835892052


def check(found: object, expected: object, what: str) -> None:
    if found != expected:
        sys.exit(f"smoke: {what}: expected {expected}, got {found}")


def check_pipeline() -> None:
    dataset = ps.Dataset.range(10).map(lambda x: x + 1, num_parallel_calls=2).batch(4).prefetch(1)
    found = [batch.tolist() for batch in dataset]
    check(found, [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]], "pipeline")


def check_jpeg() -> None:
    dataset = ps.Dataset.from_tensors(base64.b64decode(PHOTO)).map(
        lambda contents: ps.image.decode_jpeg(contents, dct_method="INTEGER_ACCURATE")
    )
    (image,) = dataset
    check((image.shape, image.dtype), ((24, 40, 3), np.dtype(np.uint8)), "decoded JPEG")
    check(zlib.crc32(image.tobytes()), PIXELS_CRC32, "CRC-32 of the JPEG's pixels")


def check_png() -> None:
    image = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    decoded = ps.image.decode_png(ps.image.encode_png(image), dtype=np.uint16)
    check(decoded.tolist(), image.tolist(), "a PNG, encoded and decoded")


def check_gzip() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.gz")
        path.write_bytes(gzip.compress(b"one\ntwo\n"))
        lines = list(ps.TextLineDataset(str(path), compression_type="GZIP"))
    check(lines, [b"one", b"two"], "lines of a gzip file")


def check_zstd() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.zst")
        with ps.io.TFRecordWriter(path, "ZSTD") as writer:
            writer.write(b"one")
        check(list(ps.TFRecordDataset(path, "ZSTD")), [b"one"], "records of a zstd file")


def check_regex() -> None:
    check(_core.build_info()["re2"]["native"], True, "RE2")
    check(ps.strings.regex_replace("part-7", r"part-(\d)", r"\1"), "7", "a regular expression")


def mapped_libraries() -> list[str]:
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    paths = {line.split(maxsplit=5)[-1] for line in lines}
    return sorted(path for path in paths if re.search(r"\.so[.0-9]*$", path))


def main() -> None:
    build = _core.build_info()
    check_pipeline()
    check(build["jpeg"]["native"], True, "native JPEG codec")
    check_jpeg()
    check(build["png"]["native"], True, "native PNG codec")
    check_png()
    check(build["zlib"]["native"], True, "native zlib")
    check_gzip()
    check(build["zstd"]["native"], True, "native zstd")
    check_zstd()
    check_regex()
    # Python before 3.13 lacks this function and always has a GIL.
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    codecs = {name: build[name]["version"] for name in ("jpeg", "png", "zlib", "zstd", "re2")}
    print(json.dumps({"mapped": mapped_libraries(), "codecs": codecs, "gil": gil}))


if __name__ == "__main__":
    main()
