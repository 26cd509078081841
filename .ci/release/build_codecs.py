"""Build the codecs of released wheels, from pinned sources, as shared libraries.

    python .ci/release/build_codecs.py PREFIX

All platforms get the same versions, independent of their package managers. The script needs CMake,
a C compiler and network access. If PENSTOCK_CODEC_SOURCES is set, archives are kept there. Codecs
that are already built are skipped. PREFIX then contains include, lib and licenses/<project>, which
.ci/release/repair.py reads.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """The URL of an archive and its expected SHA-256."""

    url: str
    sha256: str


class Source(NamedTuple):
    """A pinned version of a project, its CMake options and its licence files."""

    project: str
    version: str
    places: tuple[Place, ...]
    options: tuple[str, ...]
    licenses: tuple[str, ...]
    folder: str = "."  # contains its CMakeLists.txt


SOURCES = (
    Source(
        "zlib",
        "1.3.1",
        (
            Place(
                "https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz",
                "9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23",
            ),
            Place(
                "https://zlib.net/fossils/zlib-1.3.1.tar.gz",
                "9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23",
            ),
        ),
        ("-DZLIB_BUILD_EXAMPLES=OFF",),
        ("LICENSE",),
    ),
    Source(
        "libjpeg-turbo",
        "3.1.3",
        (
            Place(
                "https://github.com/libjpeg-turbo/libjpeg-turbo/releases/download/3.1.3/"
                "libjpeg-turbo-3.1.3.tar.gz",
                "075920b826834ac4ddf97661cc73491047855859affd671d52079c6867c1c6c0",
            ),
            Place(
                "https://deb.debian.org/debian/pool/main/libj/libjpeg-turbo/"
                "libjpeg-turbo_3.1.3.orig.tar.gz",
                "3a13a5ba767dc8264bc40b185e41368a80d5d5f945944d1dbaa4b2fb0099f4e5",
            ),
        ),
        (
            "-DENABLE_STATIC=OFF",
            "-DWITH_TURBOJPEG=OFF",
            "-DWITH_TOOLS=OFF",
            "-DWITH_TESTS=OFF",
            "-DREQUIRE_SIMD=ON",
        ),
        ("LICENSE.md", "README.ijg"),
    ),
    Source(
        "libpng",
        "1.6.58",
        (
            Place(
                "https://deb.debian.org/debian/pool/main/libp/libpng1.6/"
                "libpng1.6_1.6.58.orig.tar.gz",
                "a9d4df463d36a6e5f9c29bd6f4967312d17e996c1854f3511f833924eb1993cf",
            ),
        ),
        ("-DPNG_STATIC=OFF", "-DPNG_TESTS=OFF", "-DPNG_TOOLS=OFF", "-DPNG_FRAMEWORK=OFF"),
        ("LICENSE",),
    ),
    Source(
        "zstd",
        "1.5.7",
        (
            Place(
                "https://github.com/facebook/zstd/releases/download/v1.5.7/zstd-1.5.7.tar.gz",
                "eb33e51f49a15e023950cd7825ca74a4a2b43db8354825ac24fc1b7ee09e6fa3",
            ),
        ),
        ("-DZSTD_BUILD_PROGRAMS=OFF", "-DZSTD_BUILD_STATIC=OFF"),
        ("LICENSE",),
        "build/cmake",
    ),
    Source(
        "re2",
        "2022-06-01",  # one of the last releases without other dependencies
        (
            Place(
                "https://github.com/google/re2/archive/refs/tags/2022-06-01.tar.gz",
                "f89c61410a072e5cbcf8c27e3a778da7d6fd2f2b5b1445cd4f4508bee946ab0f",
            ),
        ),
        ("-DBUILD_SHARED_LIBS=ON", "-DRE2_BUILD_TESTING=OFF"),
        ("LICENSE", "util/rune.cc"),  # the notice in rune.cc covers that file only
    ),
)


def archive(source: Source, folder: Path) -> Path:
    """Return the path of the source's archive, from the first place with the right checksum."""
    kept = os.environ.get("PENSTOCK_CODEC_SOURCES")
    for place in source.places:
        path = Path(kept or folder, place.url.rsplit("/", 1)[1])
        if not path.exists() and not download(place.url, path):
            continue
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found == place.sha256:
            return path
        say(f"{path.name} from {place.url}: expected SHA-256 {place.sha256}, got {found}")
        path.unlink()
    sys.exit(f"codecs: {source.project} {source.version} could be had from none of its places")


def download(url: str, path: Path) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    except OSError as error:  # base class of URLError and timeouts
        say(f"{url}: {error}")
        return False
    path.write_bytes(content)
    return True


def say(message: str) -> None:
    print(f"codecs: {message}", file=sys.stderr)


def build(source: Source, prefix: Path, folder: Path) -> None:
    with tarfile.open(archive(source, folder)) as packed:
        packed.extractall(folder, filter="data")
        root = folder / packed.getnames()[0].split("/")[0]
    release = ["--config", "Release"]
    subprocess.run(
        [
            *(
                "cmake",
                "-S",
                root / source.folder,
                "-B",
                folder / "build",
                "-DCMAKE_BUILD_TYPE=Release",
            ),
            *(f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib"),
            f"-DCMAKE_PREFIX_PATH={prefix}",  # libpng links the zlib above
            f"-DCMAKE_INSTALL_NAME_DIR={prefix}/lib",  # macOS: where the linker of dependents looks
            *source.options,
        ],
        check=True,
    )
    subprocess.run(["cmake", "--build", folder / "build", "--parallel", *release], check=True)
    subprocess.run(["cmake", "--install", folder / "build", *release], check=True)
    texts = prefix / "licenses" / source.project
    texts.mkdir(parents=True, exist_ok=True)
    for name in source.licenses:
        shutil.copy(root / name, texts)
    (texts / "VERSION").write_text(source.version)  # last: marks the build as complete


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python .ci/release/build_codecs.py PREFIX")
    prefix = Path(sys.argv[1]).resolve()
    for source in SOURCES:
        mark = prefix / "licenses" / source.project / "VERSION"
        if mark.exists() and mark.read_text() == source.version:
            continue
        with tempfile.TemporaryDirectory() as folder:
            build(source, prefix, Path(folder))


if __name__ == "__main__":
    main()
