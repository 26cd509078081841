"""Datasets of folders, with Keras names."""

import importlib.util

import numpy as np
import pytest

import penstock.compat.tf as tf

utils = tf.keras.utils


@pytest.fixture
def folder(tmp_path):
    """Return three classes of grey images; one is in a subfolder, and one file is no image."""
    for name, count in (("cats", 3), ("ants", 2), ("dogs", 1)):
        (tmp_path / name / "deep").mkdir(parents=True)
        for i in range(count):
            pixels = np.full((4, 8, 3), 10 * i + ord(name[0]), np.uint8)
            tf.io.write_file(str(tmp_path / name / f"{i}.png"), tf.io.encode_png(pixels))
    pixels = np.full((4, 8, 3), 250, np.uint8)
    tf.io.write_file(str(tmp_path / "ants" / "deep" / "9.PNG"), tf.io.encode_png(pixels))
    (tmp_path / "ants" / "note.txt").write_text("no image")
    (tmp_path / ".hidden").mkdir()
    return tmp_path


def images(folder, **options):
    options = {"shuffle": False, "image_size": (4, 8), "verbose": False, **options}
    return utils.image_dataset_from_directory(folder, **options)


def greys(batch):
    return np.asarray(batch)[:, 0, 0, 0].tolist()


def test_folders_are_classes_in_order_of_their_names(folder, capsys):
    dataset = images(str(folder), verbose=True)
    assert capsys.readouterr().out == "Found 7 files belonging to 3 classes.\n"
    assert dataset.class_names == ["ants", "cats", "dogs"]
    names = ["ants/0.png", "ants/1.png", "ants/deep/9.PNG", "cats/0.png", "cats/1.png"]
    names += ["cats/2.png", "dogs/0.png"]
    assert dataset.file_paths == [str(folder / name) for name in names]
    ((pixels, labels),) = dataset
    assert pixels.shape == (7, 4, 8, 3)
    assert pixels.dtype == tf.float32
    assert labels.dtype == tf.int32
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert greys(pixels) == [97, 107, 250, 99, 109, 119, 100]


def test_batches_and_their_size(folder):
    assert [len(labels) for _, labels in images(folder, batch_size=3)] == [3, 3, 1]
    assert [pixels.shape for pixels, _ in images(folder, batch_size=None)] == [(4, 8, 3)] * 7
    assert len(images(folder, batch_size=2)) == 4


def test_shapes_are_known_before_a_file_is_read(folder):
    (folder / "ants" / "0.png").write_bytes(b"")
    pixels, labels = images(folder).element_spec
    assert pixels == tf.TensorSpec((None, 4, 8, 3), tf.float32)
    assert labels == tf.TensorSpec((None,), tf.int32)
    options = {"data_format": "channels_first", "batch_size": None, "labels": None}
    assert images(folder, **options).element_spec == tf.TensorSpec((3, 4, 8), tf.float32)
    windows = utils.timeseries_dataset_from_array(np.zeros((9, 2)), np.zeros(9), 3)
    assert [spec.shape for spec in windows.element_spec] == [(None, 3, 2), (None,)]


def test_labels_as_rows_and_as_floats(folder):
    ((_, labels),) = images(folder, label_mode="categorical")
    assert labels.dtype == tf.float32
    assert labels.tolist() == np.eye(3)[[0, 0, 0, 1, 1, 1, 2]].tolist()
    ((_, labels),) = images(folder, label_mode="binary", class_names=["dogs", "cats"])
    assert labels.dtype == tf.float32
    assert labels.tolist() == [[0], [1], [1], [1]]
    with pytest.raises(ValueError, match="exactly 2"):
        images(folder, label_mode="binary")


def test_no_labels_and_given_ones(folder, capsys):
    dataset = images(folder, labels=None, verbose=True)
    assert capsys.readouterr().out == "Found 7 files.\n"
    assert dataset.class_names is None
    (pixels,) = dataset
    assert greys(pixels) == [97, 107, 250, 99, 109, 119, 100]
    (pixels,) = images(folder, label_mode=None)
    assert pixels.shape == (7, 4, 8, 3)
    dataset = images(folder, labels=[5, 4, 3, 3, 4, 5, 5])
    assert dataset.class_names == ["3", "4", "5"]
    ((_, labels),) = dataset
    assert labels.tolist() == [5, 4, 3, 3, 4, 5, 5]
    with pytest.raises(ValueError, match="len\\(labels\\) is 2 while we found 7 files"):
        images(folder, labels=[0, 1])


def test_the_last_files_are_for_validation(folder, capsys):
    training = images(folder, validation_split=0.3, subset="training")
    validation = images(folder, validation_split=0.3, subset="validation")
    said = capsys.readouterr().out.splitlines()
    assert said == ["Using 5 files for training.", "Using 2 files for validation."]
    both = images(folder, validation_split=0.3, subset="both")
    assert [each.file_paths for each in both] == [training.file_paths, validation.file_paths]
    assert training.file_paths + validation.file_paths == images(folder).file_paths
    ((_, labels),) = validation
    assert labels.tolist() == [1, 2]


def test_a_seed_says_what_is_for_validation_and_repeats_the_order(folder):
    options = {"shuffle": True, "seed": 3, "validation_split": 0.3}
    subsets = [images(folder, subset=subset, **options) for subset in ("training", "validation")]
    found = [path for each in subsets for path in each.file_paths]
    assert sorted(found) == sorted(images(folder).file_paths)
    again = images(folder, subset="both", **options)
    assert [each.file_paths for each in again] == [each.file_paths for each in subsets]
    ((_, first),) = images(folder, shuffle=True, seed=4)
    ((_, second),) = images(folder, shuffle=True, seed=4)
    assert first.tolist() == second.tolist()
    orders = {str([y.tolist() for _, y in images(folder, shuffle=True)]) for _ in range(8)}
    assert len(orders) > 1


def test_a_seed_divides_files_as_in_keras(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        for i in range(7):
            (tmp_path / name / f"{i}.txt").write_text(f"{name}{i}")
    _, rest = utils.text_dataset_from_directory(
        tmp_path, batch_size=None, validation_split=0.3, subset="both", seed=3
    )
    assert [text.numpy() for text, _ in rest] == [b"a3", b"b2", b"b1", b"b3"]


def test_given_labels_keep_their_type(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(name)
    for labels, dtype in (([1.5, 0.0], tf.float32), ([1, 0], tf.int32)):
        dataset = utils.text_dataset_from_directory(tmp_path, labels=labels, shuffle=False)
        (given,) = [numbers for _, numbers in dataset]
        assert given.dtype == dtype
        assert given.numpy().tolist() == labels


def test_each_image_keeps_its_label_when_shuffled(folder):
    for pixels, labels in images(folder, shuffle=True, seed=1, batch_size=2):
        known = {97: 0, 107: 0, 250: 0, 99: 1, 109: 1, 119: 1, 100: 2}
        assert [known[grey] for grey in greys(pixels)] == labels.tolist()


def test_sizes_ratios_channels_and_formats(folder):
    for options, shape in (
        ({"image_size": 6}, (7, 6, 6, 3)),
        ({"color_mode": "grayscale"}, (7, 4, 8, 1)),
        ({"color_mode": "rgba"}, (7, 4, 8, 4)),
        ({"data_format": "channels_first"}, (7, 3, 4, 8)),
    ):
        ((pixels, _),) = images(folder, **options)
        assert pixels.shape == shape
    ((pixels, _),) = images(folder, interpolation="nearest")
    assert pixels.dtype == tf.uint8
    ((pixels, _),) = images(folder, image_size=(8, 8), pad_to_aspect_ratio=True)
    assert (pixels[:, :2] == 0).all()
    assert (pixels[:, 2:6] > 0).all()


def test_the_middle_of_an_image_is_cut_out(tmp_path):
    pixels = np.arange(8, dtype=np.uint8).reshape(1, 8, 1).repeat(4, 0)
    tf.io.write_file(str(tmp_path / "a" / "x.png"), tf.io.encode_png(pixels))
    options = {"color_mode": "grayscale", "crop_to_aspect_ratio": True}
    ((cut, _),) = images(tmp_path, image_size=(4, 4), **options)
    assert cut[0, 0, :, 0].tolist() == [2, 3, 4, 5]
    ((cut, _),) = images(tmp_path, image_size=(2, 2), interpolation="nearest", **options)
    assert cut.shape == (1, 2, 2, 1)


def test_other_formats_of_files(tmp_path):
    pytest.importorskip("PIL")
    from PIL import Image

    for name in ("a.bmp", "b.gif", "c.jpg"):
        (tmp_path / "x").mkdir(exist_ok=True)
        Image.new("RGB", (8, 4), "white").save(tmp_path / "x" / name)
    ((pixels, _),) = images(tmp_path)
    assert pixels.shape == (3, 4, 8, 3)
    assert pixels.min() > 250


def test_links_are_entered_where_that_is_asked_for(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "ants").symlink_to(folder / "ants", target_is_directory=True)
    (other / "bees").mkdir()
    (other / "bees" / "linked").symlink_to(folder / "cats", target_is_directory=True)
    assert len(images(other).file_paths) == 3
    assert len(images(other, follow_links=True).file_paths) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "guessed"}, "`labels` argument"),
        ({"labels": [1], "class_names": ["a"]}, "only pass `class_names`"),
        ({"class_names": ["cows"]}, "did not match"),
        ({"label_mode": "ints"}, "`label_mode` argument"),
        ({"color_mode": "hsv"}, "`color_mode` must be"),
        ({"image_size": (1, 2, 3)}, "Invalid `image_size`"),
        ({"interpolation": "best"}, "`interpolation` should be"),
        ({"validation_split": 2, "subset": "both"}, "between 0 and 1"),
        ({"validation_split": 0.5}, "`subset` is set"),
        ({"validation_split": 0.5, "subset": "test"}, "`subset` must be"),
        ({"validation_split": 0.5, "subset": "both", "shuffle": True}, "provide a `seed`"),
        ({"validation_split": 0.01, "subset": "validation"}, "No validation image files"),
        ({"pad_to_aspect_ratio": True, "crop_to_aspect_ratio": True}, "Only one of"),
        ({"data_format": "first"}, "`data_format` argument"),
        ({"format": "grain"}, "`format` should be"),
    ],
)
def test_wrong_arguments_are_explained(folder, options, message):
    with pytest.raises(ValueError, match=message):
        images(folder, **options)


def test_a_folder_without_files_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="No image files found"):
        images(tmp_path)


def test_texts(tmp_path):
    for name, text in (("neg/b.txt", "bad"), ("neg/a.txt", "worse"), ("pos/a.txt", "good")):
        tf.io.write_file(str(tmp_path / name), text)
    dataset = utils.text_dataset_from_directory(tmp_path, shuffle=False, verbose=False)
    assert dataset.class_names == ["neg", "pos"]
    ((texts, labels),) = dataset
    assert texts.tolist() == [b"worse", b"bad", b"good"]
    assert labels.tolist() == [0, 0, 1]
    dataset = tf.keras.preprocessing.text_dataset_from_directory(
        tmp_path, labels=None, max_length=3, shuffle=False, batch_size=2
    )
    assert [texts.tolist() for texts in dataset] == [[b"wor", b"bad"], [b"goo"]]


def test_sounds(tmp_path):
    for name, length in (("a/x.wav", 3), ("b/y.wav", 5)):
        file = tf.audio.encode_wav(np.full((length, 1), 0.5, np.float32), 8000)
        tf.io.write_file(str(tmp_path / name), file)
    options = {"shuffle": False, "verbose": False}
    ((sounds, labels),) = utils.audio_dataset_from_directory(tmp_path, **options)
    assert sounds[..., 0].tolist() == [[0.5] * 3 + [0] * 2, [0.5] * 5]
    assert labels.tolist() == [0, 1]
    ((sounds, _),) = utils.audio_dataset_from_directory(
        tmp_path, output_sequence_length=4, **options
    )
    assert sounds.shape == (2, 4, 1)
    ((sounds, _),) = utils.audio_dataset_from_directory(tmp_path, ragged=True, **options)
    assert [len(row) for row in sounds.to_list()] == [3, 5]
    with pytest.raises(ValueError, match="not resampled"):
        utils.audio_dataset_from_directory(tmp_path, sampling_rate=4000)
    with pytest.raises(ValueError, match="both `ragged`"):
        utils.audio_dataset_from_directory(tmp_path, ragged=True, output_sequence_length=4)


def test_windows_of_a_series_in_random_order():
    def batches(seed):
        dataset = utils.timeseries_dataset_from_array(
            np.arange(30), np.arange(30), 3, batch_size=4, shuffle=True, seed=seed
        )
        return [target for _, targets in dataset for target in targets.tolist()]

    assert sorted(batches(1)) == list(range(28))
    assert batches(1) == batches(1) != list(range(28))
    with pytest.raises(ValueError, match="sequence_stride"):
        utils.timeseries_dataset_from_array(np.arange(3), None, 2, sequence_stride=9)


def test_wrong_sequences_are_explained():
    with pytest.raises(ValueError, match="iterable"):
        utils.pad_sequences([1, 2])
    with pytest.raises(ValueError, match="Shape of sample"):
        utils.pad_sequences([[[1, 2]], [[1]]])
    with pytest.raises(ValueError, match="Padding type"):
        utils.pad_sequences([[1]], padding="before")
    with pytest.raises(ValueError, match="dtype=object"):
        utils.pad_sequences([["a"]], value="-")


def test_a_file_of_the_cache_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    address = "https://example.com/data/flowers.tgz"
    with pytest.raises(tf.errors.NotFoundError, match="penstock does not download"):
        utils.get_file(origin=address)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "flowers.tgz").write_text("x")
    assert utils.get_file(origin=address) == str(tmp_path / "datasets" / "flowers.tgz")
    assert utils.get_file("flowers.tgz", address, cache_dir=str(tmp_path)).endswith("flowers.tgz")
    (tmp_path / "datasets" / "flowers_extracted").mkdir()
    found = utils.get_file("flowers.tgz", address, untar=True)
    assert found == str(tmp_path / "datasets" / "flowers_extracted")
    assert utils.get_file(origin=(tmp_path / "datasets" / "flowers.tgz").as_uri()).endswith("tgz")


def test_the_rest_is_in_keras():
    for module, name in (
        (tf.keras, "layers"),
        (utils, "plot_model"),
        (tf.keras.preprocessing, "x"),
    ):
        with pytest.raises(AttributeError, match="import keras"):
            getattr(module, name)
    assert importlib.util.find_spec("penstock.compat.tf.keras.preprocessing.sequence")


def test_images_are_read_cut_resized_and_written(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(8 * 6 * 3, dtype=np.uint8).reshape(8, 6, 3)
    utils.save_img(str(tmp_path / "a.png"), pixels, scale=False)
    read = utils.load_img(str(tmp_path / "a.png"))
    assert isinstance(read, image.Image)
    assert read.size == (6, 8)
    array = utils.img_to_array(read)
    assert array.dtype == np.float32
    assert (array == pixels).all()
    assert utils.img_to_array(read, "channels_first").shape == (3, 8, 6)
    assert utils.load_img(tmp_path / "a.png", "grayscale", target_size=(4, 3)).size == (3, 4)
    square = utils.load_img(tmp_path / "a.png", target_size=(6, 6), keep_aspect_ratio=True)
    assert (utils.img_to_array(square) == pixels[1:7]).all()
    scaled = utils.img_to_array(utils.array_to_img(np.array([[[1.0], [3.0]]])))
    assert scaled.ravel().tolist() == [0.0, 255.0]
    utils.save_img(tmp_path / "b.jpg", np.zeros((4, 4, 4)))
    assert utils.load_img(tmp_path / "b.jpg", "rgba").mode == "RGBA"
    for call, message in (
        (lambda: utils.load_img(tmp_path / "a.png", "bgr"), "color_mode"),
        (lambda: utils.load_img(tmp_path / "a.png", target_size=(2, 2), interpolation="x"), "'x'"),
        (lambda: utils.img_to_array(np.zeros(3)), "2 or 3 axes"),
        (lambda: utils.array_to_img(np.zeros((2, 2, 2))), "1, 3 or 4 channels"),
        (lambda: utils.array_to_img(np.zeros((2, 2, 3)), "last"), "data_format"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_splitting_says_which_sizes_do_not_fit():
    for sizes in ((None, None), (0, None), (10, None), (0.5, 0.9), (8, 8), (1.5, None)):
        with pytest.raises(ValueError, match="split_dataset"):
            utils.split_dataset(np.arange(10), *sizes)
    left, right = utils.split_dataset([{"a": 1}, {"a": 2}, {"a": 3}], right_size=1)
    assert [int(each["a"]) for each in [*left, *right]] == [1, 2, 3]
