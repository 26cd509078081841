"""Dataset.from_image_folder: images labelled by their folders."""

import pickle
import sys

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, steps

FILES = {
    "ants/0.png": (0, 97),
    "ants/1.jpg": (0, 107),
    "ants/deep/9.PNG": (0, 250),
    "cats/0.png": (1, 99),
    "cats/1.JPEG": (1, 109),
    "dogs/0.png": (2, 100),
}


def write(folder, names, size=(4, 8)):
    for name, (_, grey) in names.items():
        pixels = np.full((*size, 3), grey, np.uint8)
        encode = ps.io.encode_png if name.lower().endswith("png") else ps.io.encode_jpeg
        ps.io.write_file(folder / name, encode(pixels))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    write(folder, FILES)
    (folder / "ants" / "note.txt").write_text("no image")
    (folder / ".hidden").mkdir()
    return folder


def images(folder, **options):
    options = {"image_size": (4, 8), "shuffle": False, **options}
    return ps.Dataset.from_image_folder(folder, **options)


def label(image, number):
    return number


def greys(ds):
    return [round(float(np.mean(image))) for image, *_ in ds]


class TestImagesOfAFolder(DatasetContract):
    @pytest.fixture(autouse=True)
    def _folder(self, folder):
        type(self).folder = folder

    @classmethod
    def build(cls):
        return images(cls.folder, image_size=(2, 2))

    expected = [(np.full((2, 2, 3), grey, np.float32), np.int64(n)) for n, grey in FILES.values()]


class TestImagesInAnyOrder(DatasetContract):
    reshuffles = True
    ordered = False

    @pytest.fixture(autouse=True)
    def _folder(self, folder):
        type(self).folder = folder

    @classmethod
    def build(cls):
        return images(cls.folder, image_size=(2, 2), shuffle=True, seed=2).map(label)

    expected = [np.int64(n) for n, _ in FILES.values()]


def test_names_and_files_are_said(folder):
    ds = images(str(folder))
    assert ds.class_names == ["ants", "cats", "dogs"]
    assert ds.file_paths == [str(folder / name) for name in FILES]
    assert len(ds) == 6
    assert type(ds.take(1)) is ps.Dataset
    assert_same(pickle.loads(pickle.dumps(ds)).first(), ds.first())


def test_the_spec_is_known_before_a_file_is_read(tmp_path):
    ps.io.write_file(tmp_path / "a" / "0.png", b"")
    ds = images(tmp_path, label_mode="categorical", color_mode="rgba", batch_size=4)
    assert ds.element_spec == (
        ps.TensorSpec((None, 4, 8, 4), np.float32),
        ps.TensorSpec((None, 1), np.float32),
    )
    own = images(tmp_path, image_size=None, labels=None, color_mode="grayscale")
    assert own.element_spec == ps.TensorSpec((None, None, 1), np.uint8)


def test_labels_have_several_forms(folder):
    rows = [y for _, y in images(folder, label_mode="categorical")]
    assert_same(rows, list(np.eye(3, dtype=np.float32)[[0, 0, 0, 1, 1, 2]]))
    two = images(folder, label_mode="binary", class_names=["dogs", "cats"])
    assert two.class_names == ["dogs", "cats"]
    assert_same([y for _, y in two], [np.array([y], np.float32) for y in (0, 1, 1)])
    given = images(folder, labels=[5, 4, 3, 3, 4, 5])
    assert given.class_names == ["3", "4", "5"]
    assert_same([y for _, y in given], [np.int64(y) for y in (5, 4, 3, 3, 4, 5)])
    for options in ({"labels": None}, {"label_mode": None}):
        alone = images(folder, **options)
        assert greys((image,) for image in alone) == [grey for _, grey in FILES.values()]


def test_sizes_methods_and_modes(folder):
    assert images(folder, image_size=5).first()[0].shape == (5, 5, 3)
    assert images(folder, color_mode="grayscale").first()[0].shape == (4, 8, 1)
    assert images(folder, interpolation="nearest").first()[0].dtype == np.uint8
    own, _ = images(folder, image_size=None).first()
    assert own.shape == (4, 8, 3)
    assert own.dtype == np.uint8
    padded, _ = images(folder, image_size=(8, 8), pad_to_aspect_ratio=True).first()
    assert (padded[:2] == 0).all()
    assert (padded[2:6] > 0).all()
    (batch, labels), _ = images(folder, batch_size=4)
    assert batch.shape == (4, 4, 8, 3)
    assert labels.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("size", [(4, 4), (2, 5), (5, 2), (9, 3), (1, 1), (3, 8)])
@pytest.mark.parametrize("shape", [(4, 8), (8, 4), (1, 7), (5, 5)])
def test_the_middle_that_is_cut_out_is_that_of_keras(tmp_path, size, shape):
    pixels = np.arange(np.prod(shape), dtype=np.uint8).reshape(*shape, 1)
    ps.io.write_file(tmp_path / "a" / "0.png", ps.io.encode_png(pixels))
    options = {"labels": None, "color_mode": "grayscale", "crop_to_aspect_ratio": True}
    ds = images(tmp_path, image_size=size, **options)
    height, width = shape
    rows = min(height, max(1, int(np.float32(width * size[0]) / np.float32(size[1]))))
    columns = min(width, max(1, int(np.float32(height * size[1]) / np.float32(size[0]))))
    top, left = (height - rows) // 2, (width - columns) // 2
    middle = pixels[top : top + rows, left : left + columns]
    assert_same(list(ds), [ps.image.resize(middle, size)])


def test_images_are_loaded_without_python(folder):
    calls = []

    def note(frame, event, arg):
        calls.append(frame.f_code.co_name)

    ds = images(folder, crop_to_aspect_ratio=True, image_size=(3, 3), batch_size=6)
    it = iter(ds)
    sys.setprofile(note)
    next(it)
    sys.setprofile(None)
    assert "__call__" not in calls


def test_files_are_shuffled_again_in_each_epoch(folder):
    ds = images(folder, shuffle=True, seed=1)
    orders = [greys(ds) for _ in range(5)]
    assert len({str(order) for order in orders}) > 1
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    known = {grey: n for n, grey in FILES.values()}
    assert all(known[round(float(x.mean()))] == y for x, y in ds)


def test_the_last_files_are_for_validation(folder):
    options = {"validation_split": 0.34}
    training, validation = images(folder, subset="both", **options)
    assert training.file_paths + validation.file_paths == images(folder).file_paths
    assert len(validation) == 2
    for subset, wanted in (("training", training), ("validation", validation)):
        assert images(folder, subset=subset, **options).file_paths == wanted.file_paths
    options |= {"shuffle": True, "seed": 3}
    training, validation = images(folder, subset="both", **options)
    found = training.file_paths + validation.file_paths
    assert sorted(found) == sorted(images(folder).file_paths)
    assert found != images(folder).file_paths
    assert images(folder, subset="validation", **options).file_paths == validation.file_paths


def test_a_seed_divides_files_as_in_keras(tmp_path):
    write(tmp_path, {f"{name}/{i}.png": (0, i) for name in "ab" for i in range(7)}, (1, 1))
    validation = images(tmp_path, validation_split=0.3, subset="validation", shuffle=True, seed=3)
    names = [path[len(str(tmp_path)) + 1 :] for path in validation.file_paths]
    assert names == ["a/3.png", "b/2.png", "b/1.png", "b/3.png"]


def test_a_file_that_is_no_image_is_an_error_at_its_position(tmp_path):
    write(tmp_path, {"a/0.png": (0, 1), "a/2.png": (0, 3)})
    (tmp_path / "a" / "1.jpg").write_bytes(b"no image")
    (tmp_path / "a" / "3.jpg").touch()
    first, error, third, last = steps(iter(images(tmp_path)))
    assert (first[1], third[1]) == (0, 0)
    assert error.kind == last.kind == "DataError"
    it = iter(images(tmp_path))
    next(it)
    with pytest.raises(ps.DataError, match=r"\(file .*1\.jpg\)") as caught:
        next(it)
    assert caught.value.file == str(tmp_path / "a" / "1.jpg")
    assert greys(images(tmp_path, on_error="skip")) == [1, 3]


@pytest.mark.parametrize("other", ["bmp", "gif", "webp"])
def test_an_error_names_its_file_whatever_formats_the_folder_has(tmp_path, other):
    image = pytest.importorskip("PIL.Image")
    write(tmp_path, {"a/0.png": (0, 1)})
    image.new("RGB", (8, 4), "white").save(tmp_path / "a" / f"1.{other}")
    contents = (tmp_path / "a" / f"1.{other}").read_bytes()
    (tmp_path / "a" / "2.jpg").write_bytes(contents[:20])
    (tmp_path / "a" / f"3.{other}").write_bytes(b"no image")
    seen = []

    def record(error, info):
        assert isinstance(error, ps.DataError)
        seen.append((error.file, info.file))

    assert len(greys(images(tmp_path, on_error=record))) == 2
    bad = [str(tmp_path / "a" / name) for name in ("2.jpg", f"3.{other}")]
    assert seen == [(path, path) for path in bad]


def test_the_content_decides_the_format(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "x").mkdir()
    kinds = ("bmp", "gif", "jpeg", "png", "webp")
    for kind in kinds:
        for name in kinds:
            white = image.new("RGB", (8, 4), "white")
            white.save(tmp_path / "x" / f"{kind}.{name}", kind)
    made = greys(images(tmp_path))
    assert len(made) == len(kinds) ** 2
    assert all(grey > 250 for grey in made)


def test_every_colour_mode_takes_every_kind_of_jpeg(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "x").mkdir()
    for mode in ("RGB", "CMYK", "L"):
        image.new("RGB", (8, 8), (200, 30, 90)).convert(mode).save(tmp_path / "x" / f"{mode}.jpg")
    for mode, channels in (("grayscale", 1), ("rgb", 3), ("rgba", 4)):
        ds = ps.Dataset.from_image_folder(tmp_path, (4, 4), color_mode=mode, shuffle=False)
        assert [image.shape for image, _ in ds] == [(4, 4, channels)] * 3


def test_links_are_entered_where_that_is_asked_for(folder, tmp_path):
    (tmp_path / "ants").symlink_to(folder / "ants", target_is_directory=True)
    (tmp_path / "bees").mkdir()
    (tmp_path / "bees" / "linked").symlink_to(folder / "cats", target_is_directory=True)
    assert len(images(tmp_path)) == 3
    assert len(images(tmp_path, follow_links=True)) == 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels": "guessed"}, ValueError, 'labels must be "inferred"'),
        ({"labels": 3}, TypeError, 'labels must be "inferred"'),
        ({"labels": [1], "class_names": ["a"]}, ValueError, "class_names say which"),
        ({"labels": [1]}, ValueError, r"len\(labels\) is 1 while we found 6"),
        ({"class_names": ["cows"]}, ValueError, "class_names must be names of subfolders"),
        ({"label_mode": "ints"}, ValueError, "label_mode must be 'int', 'categorical'"),
        ({"label_mode": "binary"}, ValueError, "exactly 2 classes were expected"),
        ({"color_mode": "hsv"}, ValueError, "color_mode must be 'grayscale'"),
        ({"image_size": (1, 2, 3)}, ValueError, "image_size must be one number"),
        ({"image_size": 0}, ValueError, "image_size must be one number"),
        ({"interpolation": "best"}, ValueError, "interpolation must be 'bilinear'"),
        ({"validation_split": 2, "subset": "both"}, ValueError, "between 0 and 1"),
        ({"validation_split": 0.5}, ValueError, "belong together"),
        ({"subset": "training"}, ValueError, "belong together"),
        ({"validation_split": 0.5, "subset": "test"}, ValueError, "subset must be 'training'"),
        (
            {"validation_split": 0.5, "subset": "both", "shuffle": True},
            ValueError,
            "a seed is needed",
        ),
        (
            {"validation_split": 0.01, "subset": "validation"},
            ValueError,
            "validation_split=0.01 of \\d images leaves none for validation",
        ),
        (
            {"pad_to_aspect_ratio": True, "crop_to_aspect_ratio": True},
            ValueError,
            "may be True, got both",
        ),
    ],
)
def test_wrong_arguments_are_explained(folder, options, error, message):
    with pytest.raises(error, match=f"from_image_folder: .*{message}"):
        images(folder, **options)


def test_a_folder_without_images_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="images were expected in"):
        images(tmp_path)
    with pytest.raises(FileNotFoundError):
        images(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        images(tmp_path / "file")


NOTES = {
    "of macOS": "ants/._0.png",
    "of macOS in an archive": "__MACOSX/ants/._0.png",
    "of macOS in a class": "ants/__MACOSX/0.png",
    "of Jupyter": ".ipynb_checkpoints/0.png",
    "of Jupyter in a class": "ants/.ipynb_checkpoints/0-checkpoint.png",
    "below": "ants/deep/.trash/0.png",
}


@pytest.mark.parametrize("labels", ["inferred", None])
@pytest.mark.parametrize("note", NOTES)
def test_hidden_files_are_skipped(tmp_path, note, labels):
    write(tmp_path, FILES)
    before = images(tmp_path, labels=labels)
    write(tmp_path, {NOTES[note]: (0, 0)})
    after = images(tmp_path, labels=labels)
    assert after.class_names == before.class_names
    assert after.file_paths == before.file_paths
    assert len(list(after)) == len(FILES)


def test_the_top_folder_may_be_hidden(tmp_path):
    write(tmp_path / ".data", FILES)
    assert images(tmp_path / ".data").class_names == ["ants", "cats", "dogs"]


@pytest.mark.parametrize("labels", ["inferred", None])
def test_cyclic_links_add_no_images(tmp_path, labels):
    write(tmp_path, FILES)
    before = images(tmp_path, labels=labels)
    (tmp_path / "ants" / "a round").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "cats" / "here").symlink_to(tmp_path / "cats", target_is_directory=True)
    (tmp_path / "cats" / "other").symlink_to(tmp_path / "ants" / "deep", target_is_directory=True)
    (tmp_path / "dogs" / "itself").symlink_to("itself")
    after = images(tmp_path, labels=labels, follow_links=True)
    assert after.file_paths == before.file_paths
    assert images(tmp_path, labels=labels).file_paths == before.file_paths


def test_a_linked_folder_is_read_once(tmp_path):
    write(tmp_path / "set", FILES)
    write(tmp_path, {"elsewhere/z.png": (0, 1), "elsewhere/deep/z.png": (0, 1)})
    for name in ("first", "second"):
        link = tmp_path / "set" / "cats" / name
        link.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "elsewhere" / "up").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    ds = images(tmp_path / "set", follow_links=True, class_names=["cats"])
    found = [path[len(str(tmp_path / "set")) + 1 :] for path in ds.file_paths]
    assert found == ["cats/0.png", "cats/1.JPEG", "cats/first/z.png", "cats/first/deep/z.png"]
