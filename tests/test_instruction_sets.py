"""All instruction sets produce the same bits, and their selection is reported."""

import contextlib
import ctypes
import io
import itertools
import mmap
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from nightly import NIGHTLY
from penstock import _core
from records import frame
from scripts import PATIENCE

ROOT = Path(__file__).parent.parent
ALL = ("baseline", "avx2", "avx512")
HERE = _core.instruction_sets()
REAL = ["bool", *(f"{kind}{8 << size}" for kind in ("int", "uint") for size in range(4))]
REAL += ["float16", "float32", "float64"]

needs_jpeg = pytest.mark.skipif(
    not _core.build_info()["jpeg"]["native"], reason="built without libjpeg"
)
others_only = pytest.mark.skipif(len(HERE) < 2, reason="this processor has the baseline alone")


@pytest.fixture(autouse=True)
def instructions_as_before():
    before = ps.build_info()["instructions"]
    yield
    _core.use_instructions(before)


def bits(array):
    """Return the bytes; all NaNs are replaced by a single bit pattern."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type("nan"), array)
    return array.dtype, array.shape, np.ascontiguousarray(array).tobytes()


def check(function, *arguments, **keywords):
    """Compare the results of `function` with each instruction set, the baseline first."""
    results = {}
    for name in HERE:
        _core.use_instructions(name)
        results[name] = bits(np.asarray(function(*arguments, **keywords)))
    for name in HERE[1:]:
        assert results[name] == results["baseline"], name


def random_array(rng, shape, dtype, offset=0):
    """Return an array whose first item is `offset` items after an aligned address."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    raw = rng.integers(0, 256, (count + offset) * dtype.itemsize, dtype=np.uint8)
    if dtype.kind == "b":
        raw %= 2
    if dtype.kind == "f":  # ordinary magnitudes, and a few extreme values
        values = (rng.standard_normal(count + offset) * 100).astype(dtype)
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 6e4, -1e30], np.float64)
        where = rng.random(count + offset) < 0.05
        with np.errstate(over="ignore"):
            values[where] = rng.choice(odd, where.sum()).astype(dtype)
    else:
        values = raw.view(dtype)
    return values[offset:].reshape(shape)


def tame(rng, shape, dtype, offset=0):
    """Return the array without non-finite values, which would dominate sums."""
    array = random_array(rng, shape, dtype, offset)
    return np.nan_to_num(array, nan=1, posinf=2, neginf=3) if array.dtype.kind == "f" else array


def jpeg(ycc):
    """Return a JPEG of pixels whose colours JPEG represents exactly, at quality 100."""
    file = io.BytesIO()
    Image.fromarray(ycc, "YCbCr").save(file, "JPEG", quality=100, subsampling=0)
    return file.getvalue()


@contextlib.contextmanager
def between_walls(size, at_end):
    """Return bytes between guard pages, so that an access outside them crashes the process."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    whole = np.frombuffer(memory, np.uint8)
    address = whole.ctypes.data
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for wall in (address, address + 2 * page):
        assert mprotect(wall, page, 0) == 0
    begin = 2 * page - size if at_end else page
    made = whole[begin : begin + size]
    made[:] = np.arange(size) % 251
    yield made
    for wall in (address, address + 2 * page):
        assert mprotect(wall, page, mmap.PROT_READ | mmap.PROT_WRITE) == 0


@others_only
class TestSameBits:
    @pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "int64"])
    def test_resize(self, dtype, channels):
        rng = np.random.default_rng(channels)
        # The bytes next to four values are 16 bytes together, or twice 8, or neither.
        widths = [(n, m) for n in (1, 2, 3, 7, 20, 50, 200) for m in (1, 2, 5, 8, 31, 64)]
        for (old, new), offset in itertools.product(widths, (0, 3)):
            image = random_array(rng, (5, old, channels), dtype, offset)
            check(ps.image.resize, image, (4, new))

    @pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 40, 63, 64, 65, 200])
    def test_integers_of_examples(self, count):
        rng = np.random.default_rng(count)
        bits = rng.integers(1, 65, (20, count), dtype=np.uint64)  # a byte for each 7 of them
        values = (rng.integers(0, 2**64, (20, count), np.uint64) >> (64 - bits)).astype(np.int64)
        records = [ps.io.make_example({"ids": row}) for row in values]
        asked = {"ids": ps.io.FixedLenFeature((count,), np.int64)}
        check(lambda: ps.io.parse_example(records, asked)["ids"])
        assert np.array_equal(ps.io.parse_example(records, asked)["ids"], values)

    @pytest.mark.skipif(sys.platform != "linux", reason="protects memory")
    @pytest.mark.parametrize("change", ["resize", "resize of channels", "flip", "cast"])
    def test_no_byte_beside_the_images_is_read(self, change):
        do = {
            "resize": lambda images: ps.image.resize(images, (7, 20)),
            "resize of channels": lambda images: ps.image.resize(images, (4, 3)),
            "flip": ps.image.flip_left_right,
            "cast": lambda images: ps.cast(images, np.float32),
        }[change]
        for count, width, at_end in itertools.product(
            (1, 3), (1, 2, 3, 5, 6, 11, 40), (False, True)
        ):
            with between_walls(count * 3 * width * 3, at_end) as pixels:
                images = pixels.reshape(count, 3, width, 3)
                check(do, images)

    @pytest.mark.parametrize("method", ["bilinear", "bicubic", "area", "lanczos3", "nearest"])
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
    def test_resize_by_filters(self, dtype, method):
        rng = np.random.default_rng(0)
        for channels, width, new in itertools.product((1, 3, 4, 6), (3, 50, 701), (1, 9, 60)):
            image = random_array(rng, (7, width, channels), dtype, 1)
            check(ps.image.resize, image, (5, new), method=method, antialias=method != "area")

    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64", "complex128"])
    def test_flips(self, dtype):
        rng = np.random.default_rng(0)
        for width, channels in itertools.product([*range(1, 40), 100], (1, 2, 3, 4)):
            image = rng.integers(0, 200, (3, width, channels)).astype(dtype)
            check(ps.image.flip_left_right, image)
            np.testing.assert_array_equal(ps.image.flip_left_right(image), image[:, ::-1])

    @pytest.mark.parametrize("to", REAL)
    @pytest.mark.parametrize("dtype", REAL)
    def test_casts(self, dtype, to):
        rng = np.random.default_rng(0)
        for count, offset in itertools.product([*range(35), 63, 64, 65, 127, 700], (0, 1, 5)):
            x = random_array(rng, count, dtype, offset)
            check(ps.cast, x, to)

    @pytest.mark.parametrize("to", ["uint8", "int16", "float16", "float32"])
    @pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32", "float64"])
    def test_convert_image_dtype(self, dtype, to):
        rng = np.random.default_rng(0)
        for count, saturate in itertools.product((1, 15, 33, 2000), (False, True)):
            x = random_array(rng, (1, count, 1), dtype, 1)
            check(ps.image.convert_image_dtype, x, to, saturate=saturate)

    @pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
    def test_normalising(self, dtype):
        rng = np.random.default_rng(0)
        for width, channels in itertools.product((1, 2, 5, 16, 33, 600), (1, 3, 5)):
            image = tame(rng, (3, width, channels), dtype, 1)
            mean, std = rng.uniform(1, 9, (2, channels)).astype(np.float32)
            check(ps.image.normalize, image, mean, std)
            check(ps.image.per_image_standardization, image)

    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_colours(self, dtype):
        rng = np.random.default_rng(0)
        for width in (1, 2, 7, 16, 31, 600):
            image = random_array(rng, (3, width, 3), dtype, 1)
            if dtype == "float32":
                image = np.clip(np.nan_to_num(image), -100, 100) / 100
            for change, amount in itertools.product(
                ("brightness", "contrast", "saturation", "hue"), (0.3, 0.9)
            ):
                check(getattr(ps.image, f"adjust_{change}"), image, amount)
            check(ps.image.rgb_to_grayscale, image)
            if dtype == "float32":
                check(ps.image.rgb_to_hsv, image)
                check(ps.image.hsv_to_rgb, abs(image))

    @needs_jpeg
    def test_colours_of_jpegs(self):
        # Blocks of one colour are exact at quality 100: all pairs of cb and cr.
        rng = np.random.default_rng(0)
        cb, cr = np.mgrid[:256, :256].astype(np.uint8)
        colours = np.stack([rng.integers(0, 256, cb.shape, np.uint8), cb, cr], -1)
        check(ps.image.decode_jpeg, jpeg(np.kron(colours, np.ones((8, 8, 1), np.uint8))))
        for width in (*range(1, 70), 127, 128, 129, 400):
            pixels = rng.integers(0, 256, (5, width, 3), np.uint8)
            for method in ("INTEGER_FAST", "INTEGER_ACCURATE"):
                check(ps.image.decode_jpeg, jpeg(pixels), dct_method=method)

    def test_checksums(self, tmp_path):
        rng = np.random.default_rng(0)
        sizes = [*range(0, 80, 7), *range(500, 530), 767, 768, 1023, 1024, 5000, 70_001]
        records = [rng.integers(0, 256, size, np.uint8).tobytes() for size in sizes]
        path = tmp_path / "records"
        path.write_bytes(b"".join(frame(record) for record in records))
        for name in HERE:
            _core.use_instructions(name)
            assert list(ps.TFRecordDataset(path)) == records, name


def started(code="", **environment):
    return subprocess.run(
        [sys.executable, "-c", f"import penstock as ps; {code}"],
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        env={**os.environ, **environment},
        check=False,
    )


class TestChoosing:
    @pytest.mark.parametrize("name", HERE)
    def test_the_environment_chooses(self, name):
        code = "print(ps.build_info()['instructions'])"
        assert started(code, PENSTOCK_CPU=name).stdout.strip() == name

    def test_the_best_is_taken_without_a_word(self):
        code = "print(ps.build_info()['instructions'])"
        assert started(code, PENSTOCK_CPU="").stdout.strip() == HERE[-1]

    def test_an_unknown_name_is_an_error_that_names_those_there_are(self):
        run = started(PENSTOCK_CPU="sse9")
        assert run.returncode != 0
        assert "PENSTOCK_CPU: one of baseline, avx2, avx512 was expected, got 'sse9'" in run.stderr

    @pytest.mark.parametrize("name", ALL)
    def test_one_that_the_processor_lacks_is_an_error(self, name):
        if name in HERE:
            _core.use_instructions(name)
            assert ps.build_info()["instructions"] == name
        else:
            with pytest.raises(ValueError, match=f"this processor runs were expected.*'{name}'"):
                _core.use_instructions(name)


OF_LOOPS = [
    "ops/test_resize.py",
    "ops/test_resize_methods.py",
    "ops/test_flip.py",
    "ops/test_colors.py",
    "ops/test_adjust.py",
    "ops/test_convert_image_dtype.py",
    "ops/test_cast.py",
    "ops/test_decode_csv.py",
    "ops/test_base64.py",
    "ops/test_strings.py",
    "sources/test_text_line.py",
    "sources/test_csv_record.py",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in HERE if name != HERE[-1]])
def test_the_tests_of_loops_pass_with_older_instructions(name):
    files = [str(ROOT / "tests" / file) for file in OF_LOOPS]
    # The other tests are slow, and check the order of batches. `TestSameBits` compares all types.
    others = ["-k", "not threads", *([] if NIGHTLY else ["--quick"])]
    pytest_command = [sys.executable, "-P", "-m", "pytest", "-x", "-n", "0"]
    run = subprocess.run(
        [*pytest_command, "-p", "no:cacheprovider", *others, *files],
        capture_output=True,
        text=True,
        timeout=280 * PATIENCE,
        env={**os.environ, "PENSTOCK_CPU": name},
        cwd=ROOT,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def objects():
    """Return the object files of the module, where this environment has them."""
    return sorted(Path(sys.prefix, ".penstock", "build").glob("**/penstock_*.dir/**/*.o"))


@pytest.mark.slow
@pytest.mark.skipif(not (objects() and shutil.which("objdump")), reason="looks into the objects")
def test_only_functions_of_their_own_use_new_instructions():
    """The linker might use one definition of a shared function for all callers."""
    function = re.compile(r"^[0-9a-f]+ <(.*)>:$")
    newer = re.compile(r"\tv\w+ .*%[xyz]mm")  # encoded as AVX and later
    wide, wrong = set(), set()
    for path in objects():
        command = ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            name = ""
            for line in process.stdout:
                if found := function.match(line):
                    name = found[1]
                elif newer.search(line):
                    own = re.search(r"\(anonymous namespace\)::(avx2|avx512)::", name)
                    (wide if own else wrong).add(name)
    assert not wrong
    assert wide or len(HERE) == 1
