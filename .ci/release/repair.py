"""Make a wheel self-contained: bundle its linked libraries, their licences and an SBOM.

    python .ci/release/repair.py WHEEL FOLDER

auditwheel (Linux) or delocate (macOS) changes the binaries and must be installed. A library is
bundled only with its licence. The text comes from the folder PENSTOCK_CODECS if
.ci/release/build_codecs.py built the library there, otherwise from the Debian package that owns it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from wheel_archive import WheelArchive

CODECS = Path(os.environ["PENSTOCK_CODECS"]) if os.environ.get("PENSTOCK_CODECS") else None
# manylinux expects these on the system, but a statically linked Python does not bring them.
NEVER_FROM_THE_SYSTEM = ("libz.so.1",)


class Project(NamedTuple):
    """The origin of a library, and its licence as an SPDX expression."""

    name: str
    license: str


PROJECTS = {
    "jpeg": Project("libjpeg-turbo", "IJG AND BSD-3-Clause AND Zlib"),
    "png": Project("libpng", "libpng-2.0"),
    "z": Project("zlib", "Zlib"),
    "zlib": Project("zlib", "Zlib"),
    "zstd": Project("zstd", "BSD-3-Clause"),
    "re": Project("re2", "BSD-3-Clause AND dtoa"),
    "absl": Project("abseil", "Apache-2.0"),  # required by RE2 since 2023
}


class Vendored(NamedTuple):
    """A library in the wheel, with the texts to include."""

    file: str
    project: Project
    version: str
    purl: str  # https://github.com/package-url/purl-spec
    texts: dict[str, bytes]


def stop(message: str) -> None:
    sys.exit(f"repair: {message}")


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def stem(file: str) -> str:
    """Return the library's name without platform affixes: libjpeg-1f.so.62 -> jpeg."""
    found = re.match(r"(?:lib)?([a-z]+)", file)
    return found[1] if found else file


def linked_libraries(wheel: Path, folder: Path) -> dict[str, Path]:
    """Return the paths of the libraries that the extension modules load (Linux), by stem."""
    found = {}
    for module in WheelArchive(wheel).extract(folder, ".so"):
        for line in output("ldd", module).splitlines():
            name, arrow, path = line.partition(" => ")
            if arrow and path.startswith("/"):
                found[stem(name.strip())] = Path(path.split(" (")[0])
    return found


def prefix_symbols(library: Path, binaries: list[Path], folder: Path) -> None:
    """Rename the symbols of a library, in the library and in its users.

    A Python that is statically linked with zlib exports zlib's functions. The dynamic linker would
    resolve them before those of the library in the wheel.
    """
    lines = output("nm", "--dynamic", "--defined-only", library).splitlines()
    symbols = sorted({line.split()[-1].split("@")[0] for line in lines if " A " not in line})
    names = folder / f"{library.name}.symbols"
    names.write_text("".join(f"{symbol} penstock_{symbol}\n" for symbol in symbols))
    for binary in (library, *binaries):
        output("patchelf", "--rename-dynamic-symbols", names, binary)


def hide_from_policy(wheel: Path, libraries: dict[str, Path], folder: Path) -> Path:
    """Rename libraries that manylinux would exclude, so that they are bundled."""
    archive = WheelArchive(wheel)
    hidden = folder / "lib"
    hidden.mkdir()
    users: dict[Path, list[Path]] = {}

    def renamed(binary: Path) -> bool:
        needed = output("patchelf", "--print-needed", binary).split()
        sonames = set(NEVER_FROM_THE_SYSTEM).intersection(needed)
        for soname in sonames:
            own = soname.replace(".so", ".own.so")
            copy = hidden / own
            if copy not in users:
                copy.write_bytes(libraries[stem(soname)].read_bytes())
                output("patchelf", "--set-soname", own, copy)
            output("patchelf", "--replace-needed", soname, own, binary)
            users.setdefault(copy, []).append(binary)
        return bool(sonames)

    modules = [path for path in archive.extract(folder / "modules", ".so") if renamed(path)]
    # Other bundled libraries may need them too: auditwheel finds these changed copies first.
    for library in libraries.values():
        copy = hidden / library.name
        if stem(library.name) in PROJECTS and library.name not in NEVER_FROM_THE_SYSTEM:
            copy.write_bytes(library.read_bytes())
            renamed(copy)
    for library, binaries in users.items():
        prefix_symbols(library, binaries, folder)
    for module in modules:
        archive.files[module.relative_to(folder / "modules").as_posix()] = module.read_bytes()
    os.environ["AUDITWHEEL_LD_LIBRARY_PATH"] = str(hidden)
    changed = folder / wheel.name
    archive.write(changed)
    return changed


def repair_linux(wheel: Path, folder: Path) -> tuple[Path, dict[str, Path]]:
    libraries = linked_libraries(wheel, folder / "linked")
    wheel = hide_from_policy(wheel, libraries, folder)
    output("auditwheel", "repair", "--strip", "--wheel-dir", folder / "repaired", wheel)
    return the_wheel_in(folder / "repaired"), libraries


def repair_macos(wheel: Path, folder: Path) -> tuple[Path, dict[str, Path]]:
    output("delocate-wheel", "--wheel-dir", folder / "repaired", wheel)
    return the_wheel_in(folder / "repaired"), {}


def the_wheel_in(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def from_codecs(file: str, project: Project) -> Vendored | None:
    folder = CODECS / "licenses" / project.name if CODECS else None
    if folder is None or not folder.is_dir():
        return None
    texts = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "VERSION"}
    version = (folder / "VERSION").read_text().strip()
    return Vendored(file, project, version, f"pkg:generic/{project.name}@{version}", texts)


def from_debian(file: str, project: Project, library: Path | None) -> Vendored | None:
    """Find the Debian package that owns the library with dpkg, and return its copyright file."""
    if library is None or not Path("/usr/bin/dpkg").exists():
        return None
    real = library.resolve()
    for name in (real, Path("/usr", *real.parts[1:]), Path("/", *real.parts[2:])):  # merged /usr
        asked = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            package = asked.stdout.split(": ")[0].split(",")[0]
            version = output("dpkg-query", "-W", "-f", "${Version}", package)
            package = package.split(":")[0]
            text = Path("/usr/share/doc", package, "copyright").read_bytes()
            purl = f"pkg:deb/debian/{package}@{quote(version)}"
            return Vendored(file, project, version, purl, {"copyright": text})
    return None


def compiled_in() -> Vendored:
    """Return pybind11, whose headers are compiled into the module."""
    found = distribution("pybind11")
    texts = {
        Path(path).name: Path(path.locate()).read_bytes()
        for path in found.files or ()
        if Path(path).name.startswith("LICENSE")
    }
    if not texts:
        stop("pybind11 is installed without its licence")
    project = Project("pybind11", "BSD-3-Clause")
    return Vendored("pybind11", project, found.version, f"pkg:pypi/pybind11@{found.version}", texts)


def vendored(archive: WheelArchive, libraries: dict[str, Path]) -> list[Vendored]:
    """Return the licence of every library that the repair has bundled."""
    found = []
    for path in sorted(archive.files):
        name = Path(path).name
        if not path.startswith(("penstock.libs/", "penstock/.dylibs/")) or name.startswith("."):
            continue
        if stem(name) not in PROJECTS:
            stop(f"{name} would go into the wheel, and PROJECTS does not say what its licence is")
        project = PROJECTS[stem(name)]
        library = from_codecs(name, project) or from_debian(
            name, project, libraries.get(stem(name))
        )
        if library is None:
            stop(
                f"{name}: no licence text found; build the library with .ci/release/build_codecs.py"
            )
        found.append(library)
    return found


def add_licenses(archive: WheelArchive, libraries: list[Vendored]) -> None:
    """Write the texts into dist-info/licenses, and their names into the metadata (PEP 639)."""
    info = archive.dist_info
    lines = archive.files[f"{info}/METADATA"].decode().split("\n")
    last = max(i for i, line in enumerate(lines) if line.startswith("License-File:"))
    for library in libraries:
        for name, text in sorted(library.texts.items(), reverse=True):
            path = f"{library.project.name}/{name}"
            if f"{info}/licenses/{path}" in archive.files:
                continue  # another library of the same project
            archive.files[f"{info}/licenses/{path}"] = text
            lines.insert(last + 1, f"License-File: {path}")
    own = next(line for line in lines if line.startswith("License-Expression:"))
    parts = own.removeprefix("License-Expression: ").split(" AND ")
    parts += [part for library in libraries for part in library.project.license.split(" AND ")]
    lines[lines.index(own)] = "License-Expression: " + " AND ".join(dict.fromkeys(parts))
    archive.files[f"{info}/METADATA"] = "\n".join(lines).encode()


def add_sbom(archive: WheelArchive, libraries: list[Vendored]) -> None:
    """Write the bundled libraries and their versions as an SBOM (PEP 770, CycloneDX 1.6)."""
    for path in [path for path in archive.files if "/sboms/" in path]:
        del archive.files[path]  # auditwheel's SBOM lists only libraries of system packages
    components = [
        {
            "type": "library",
            "bom-ref": library.file,
            "name": library.project.name,
            "version": library.version,
            "licenses": [{"expression": library.project.license}],
            "purl": library.purl,
        }
        for library in libraries
    ]
    name, version = archive.dist_info.removesuffix(".dist-info").split("-")
    purl = f"pkg:pypi/{name}@{version}"
    # No time and no random serial number, so that equal wheels have equal SBOMs.
    sbom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": name,
                "name": name,
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
                "purl": purl,
            },
        },
        "components": components,
        "dependencies": [{"ref": name, "dependsOn": [library.file for library in libraries]}],
    }
    text = json.dumps(sbom, indent=2) + "\n"
    archive.files[f"{archive.dist_info}/sboms/penstock.cdx.json"] = text.encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    repair = repair_macos if sys.platform == "darwin" else repair_linux
    with tempfile.TemporaryDirectory() as folder:
        repaired, libraries = repair(arguments.wheel.resolve(), Path(folder))
        archive = WheelArchive(repaired)
        inside = [compiled_in(), *vendored(archive, libraries)]
        add_licenses(archive, inside)
        add_sbom(archive, inside)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        archive.write(arguments.folder / repaired.name)
    names = ", ".join(f"{library.project.name} {library.version}" for library in inside)
    print(f"{arguments.folder / repaired.name}: {names} inside")


if __name__ == "__main__":
    main()
