"""Programs in the style of the tf.data tutorials: images, records, CSV, windows, generators."""

import numpy as np
import pytest

import penstock.compat.tf as tf

AUTOTUNE = tf.data.AUTOTUNE
CLASSES = np.array(["daisy", "rose", "tulip"])


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """Return a folder with JPEG files for each class."""
    root = tmp_path_factory.mktemp("flowers")
    rng = np.random.default_rng(0)
    for name in CLASSES:
        (root / name).mkdir()
        for i in range(4):
            pixels = rng.integers(0, 256, (40 + i, 50, 3), np.uint8)
            contents = tf.io.encode_jpeg(pixels)
            tf.io.write_file(str(root / name / f"{i}.jpg"), contents)
    return root


class TestImages:
    def test_files_are_decoded_and_labelled_by_their_folder(self, flowers):
        list_ds = tf.data.Dataset.list_files(str(flowers / "*/*"), shuffle=False)
        list_ds = list_ds.shuffle(12, reshuffle_each_iteration=False, seed=1)
        for f in list_ds.take(2):
            assert f.numpy().endswith(b".jpg")

        val_size = int(list_ds.cardinality().numpy() * 0.25)
        train_ds, val_ds = list_ds.skip(val_size), list_ds.take(val_size)
        assert (tf.data.experimental.cardinality(train_ds).numpy(), len(val_ds)) == (9, 3)

        def get_label(file_path):
            parts = tf.strings.split(file_path, "/")
            return tf.argmax(parts[-2] == CLASSES)

        def decode_img(img):
            img = tf.io.decode_jpeg(img, channels=3)
            img = tf.image.convert_image_dtype(img, tf.float32)
            return tf.image.resize(img, [24, 32])

        def process_path(file_path):
            return decode_img(tf.io.read_file(file_path)), get_label(file_path)

        train_ds = train_ds.map(process_path, num_parallel_calls=AUTOTUNE)
        for image, label in train_ds.take(1):
            assert image.numpy().shape == (24, 32, 3)
            assert label.dtype == tf.int64
        seen = []
        for images, labels in train_ds.cache().shuffle(100).batch(4).prefetch(AUTOTUNE):
            assert images.shape[1:] == [24, 32, 3]
            assert images.dtype == tf.float32
            assert 0 <= tf.reduce_min(images) <= tf.reduce_max(images) <= 1
            seen += labels.numpy().tolist()
        held_out = [int(label) for _, label in val_ds.map(process_path)]
        assert sorted(seen + held_out) == [0] * 4 + [1] * 4 + [2] * 4

    def test_images_are_augmented_with_seeds(self):
        images = np.random.default_rng(0).integers(0, 256, (6, 20, 20, 3), np.uint8)
        rng = tf.random.Generator.from_seed(123, alg="philox")

        def resize_and_rescale(image, label):
            image = tf.cast(image, tf.float32)
            return tf.image.resize(image, [16, 16]) / 255.0, label

        def augment(image_label, seed):
            image, label = image_label
            image, label = resize_and_rescale(image, label)
            image = tf.image.resize_with_crop_or_pad(image, 22, 22)
            image = tf.image.stateless_random_crop(image, size=[16, 16, 3], seed=seed)
            image = tf.image.stateless_random_brightness(image, max_delta=0.5, seed=seed)
            return tf.clip_by_value(image, 0, 1), label

        def f(x, y):
            return augment((x, y), rng.make_seeds(1)[:, 0])

        ds = tf.data.Dataset.from_tensor_slices((images, range(6)))
        counter = tf.data.Dataset.range(100)
        with_seeds = tf.data.Dataset.zip((ds, (tf.data.Dataset.zip((counter, counter)))))
        same = with_seeds.map(lambda pair, seed: augment(pair, seed))
        first, again = list(same), list(same)
        for (a, _), (b, _) in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)
        (batch, labels), *_ = ds.map(f, num_parallel_calls=2).batch(6)
        assert batch.shape == (6, 16, 16, 3)
        assert labels.numpy().tolist() == list(range(6))

    def test_a_python_function_rotates(self):
        def random_rotate_image(image):
            return np.rot90(image).astype(np.float32)

        def tf_random_rotate_image(image, label):
            im_shape = image.shape
            (image,) = tf.py_function(lambda x: random_rotate_image(x), [image], [tf.float32])
            image.set_shape(im_shape)
            return image, label

        ds = tf.data.Dataset.from_tensors((np.arange(4.0).reshape(2, 2), "x"))
        ((image, label),) = ds.map(tf_random_rotate_image)
        assert image.numpy().tolist() == [[1, 3], [0, 2]]
        assert label.numpy() == b"x"


class TestRecords:
    FEATURES = {
        "feature0": tf.io.FixedLenFeature([], tf.int64, default_value=0),
        "feature1": tf.io.FixedLenFeature([], tf.int64, default_value=0),
        "feature2": tf.io.FixedLenFeature([], tf.string, default_value=""),
        "feature3": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
    }

    @staticmethod
    def serialize_example(feature0, feature1, feature2, feature3):
        feature = {
            "feature0": tf.train.Feature(int64_list=tf.train.Int64List(value=[feature0])),
            "feature1": tf.train.Feature(int64_list=tf.train.Int64List(value=[feature1])),
            "feature2": tf.train.Feature(bytes_list=tf.train.BytesList(value=[feature2])),
            "feature3": tf.train.Feature(float_list=tf.train.FloatList(value=[feature3])),
        }
        proto = tf.train.Example(features=tf.train.Features(feature=feature))
        return proto.SerializeToString()

    def test_examples_are_written_read_and_parsed(self, tmp_path):
        n = 20
        rng = np.random.default_rng(0)
        feature0 = rng.choice([False, True], n)
        feature1 = rng.integers(0, 5, n)
        strings = np.array([b"cat", b"dog", b"chicken", b"horse", b"goat"])
        feature2 = strings[feature1]
        feature3 = rng.standard_normal(n)
        features = tf.data.Dataset.from_tensor_slices((feature0, feature1, feature2, feature3))

        def tf_serialize_example(f0, f1, f2, f3):
            string = tf.py_function(
                lambda *f: self.serialize_example(*(x.numpy() for x in f)),
                (f0, f1, f2, f3),
                tf.string,
            )
            return tf.reshape(string, ())

        filename = str(tmp_path / "test.tfrecord")
        with tf.io.TFRecordWriter(filename) as writer:
            for record in features.map(tf_serialize_example):
                writer.write(record.numpy())

        raw = tf.data.TFRecordDataset([filename])
        parsed = raw.map(lambda proto: tf.io.parse_single_example(proto, self.FEATURES))
        for i, example in enumerate(parsed):
            assert example["feature0"] == int(feature0[i])
            assert example["feature1"].dtype == tf.int64
            assert example["feature2"].numpy() == feature2[i]
            assert example["feature3"].numpy() == np.float32(feature3[i])
        assert i == n - 1

        batched = raw.batch(n).map(lambda protos: tf.io.parse_example(protos, self.FEATURES))
        assert next(iter(batched))["feature1"].numpy().tolist() == feature1.tolist()

    def test_features_of_any_length_are_sparse_or_ragged(self):
        records = [tf.io.make_example({"ids": ids, "w": [b"x"]}) for ids in ([1, 2], [], [3])]
        sparse = tf.io.parse_example(tf.stack(records), {"ids": tf.io.VarLenFeature(tf.int64)})
        assert sparse["ids"].indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0]]
        assert sparse["ids"].dense_shape.numpy().tolist() == [3, 2]
        dense = tf.sparse.to_dense(sparse["ids"], default_value=-1)
        assert dense.numpy().tolist() == [[1, 2], [-1, -1], [3, -1]]
        ragged = tf.io.parse_example(records, {"ids": tf.io.RaggedFeature(tf.int64)})
        assert ragged["ids"].to_list() == [[1, 2], [], [3]]
        single = tf.io.parse_single_example(records[0], {"ids": tf.io.VarLenFeature(tf.int64)})
        assert single["ids"].values.numpy().tolist() == [1, 2]
        ds = tf.data.Dataset.from_tensors(records).map(
            lambda r: tf.io.parse_example(r, {"ids": tf.io.VarLenFeature(tf.int64)})
        )
        assert tf.sparse.to_dense(next(iter(ds))["ids"]).numpy().tolist() == [
            [1, 2],
            [0, 0],
            [3, 0],
        ]

    def test_batches_of_features_of_files(self, tmp_path):
        path = str(tmp_path / "x.tfrecord")
        records = [tf.io.make_example({"ids": list(range(n)), "y": [n]}) for n in range(4)]
        writer = tf.data.experimental.TFRecordWriter(path)
        writer.write(tf.data.Dataset.from_tensor_slices(records))
        features = {"ids": tf.io.VarLenFeature(tf.int64), "y": tf.io.FixedLenFeature([], tf.int64)}
        batches = tf.data.experimental.make_batched_features_dataset(
            path, 2, features, tf.data.TFRecordDataset, label_key="y", num_epochs=1, shuffle=False
        )
        parsed = [(tf.sparse.to_dense(x["ids"]).numpy().tolist(), y.numpy()) for x, y in batches]
        assert [ids for ids, _ in parsed] == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]
        assert [y.tolist() for _, y in parsed] == [[0, 1], [2, 3]]
        parse = tf.data.experimental.parse_example_dataset(features, num_parallel_calls=2)
        (again,) = tf.data.TFRecordDataset(path).batch(4).apply(parse)
        assert isinstance(again["ids"], tf.SparseTensor)
        assert again["ids"].dense_shape.numpy().tolist() == [4, 3]

    def test_images_in_records(self, flowers, tmp_path):
        names = sorted(tf.io.gfile.glob(str(flowers / "*/0.jpg")))
        filename = str(tmp_path / "images.tfrecords")
        with tf.io.TFRecordWriter(filename) as writer:
            for label, name in enumerate(names):
                image_string = tf.io.gfile.GFile(name, "rb").read()
                height, width, depth = tf.io.decode_jpeg(image_string).shape
                feature = {
                    "size": tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[height, width, depth])
                    ),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                    "raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image_string])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
        description = {
            "size": tf.io.FixedLenFeature([3], tf.int64),
            "label": tf.io.FixedLenFeature([], tf.int64),
            "raw": tf.io.FixedLenFeature([], tf.string),
        }
        ds = tf.data.TFRecordDataset(filename).map(
            lambda r: tf.io.parse_single_example(r, description)
        )
        for label, features in enumerate(ds):
            assert features["label"] == label
            image = tf.io.decode_jpeg(features["raw"])
            assert image.shape == features["size"].numpy().tolist()


class TestCsv:
    def test_lines_are_parsed_to_features_and_label(self, tmp_path):
        path = tmp_path / "titanic.csv"
        path.write_text("survived,sex,age,fare\n0,male,22.0,7.25\n1,female,,71.5\n")
        lines = tf.data.TextLineDataset(str(path)).skip(1)
        defaults = [0, "", -1.0, 0.0]

        def parse(line):
            survived, *fields = tf.io.decode_csv(line, defaults)
            return dict(zip(("sex", "age", "fare"), fields, strict=True)), survived

        rows = list(lines.map(parse))
        assert [int(label) for _, label in rows] == [0, 1]
        assert rows[1][0]["sex"].numpy() == b"female"
        assert rows[1][0]["age"] == -1
        assert rows[0][0]["fare"].dtype == tf.float32
        survived = lines.filter(lambda line: tf.not_equal(tf.strings.substr(line, 0, 1), "0"))
        assert len(list(survived)) == 1

    def test_columns_in_memory(self):
        columns = {"age": np.array([22.0, 38.0]), "sex": np.array(["male", "female"])}
        ds = tf.data.Dataset.from_tensor_slices((columns, [0, 1])).shuffle(2, seed=0).batch(2)
        features, labels = next(iter(ds))
        ages = dict(zip(features["sex"].numpy(), features["age"].numpy(), strict=True))
        assert ages == {b"male": 22, b"female": 38}
        assert labels.dtype == tf.int32

    def test_a_table_of_files(self, tmp_path):
        for i in range(2):
            rows = "".join(f"{n},{'ab'[n % 2]},{n / 2}\n" for n in range(3 * i, 3 * i + 3))
            (tmp_path / f"part-{i}.csv").write_text(f"id,kind,half\n{rows}")
        batches = tf.data.experimental.make_csv_dataset(
            str(tmp_path / "part-*.csv"),
            batch_size=4,
            label_name="id",
            select_columns=["id", "kind", "half"],
            num_epochs=1,
            shuffle=False,
        )
        (features, labels), (_, rest) = batches
        assert labels.numpy().tolist() == [0, 1, 2, 3]
        assert labels.dtype == tf.int32
        assert features["kind"].numpy().tolist() == [b"a", b"b", b"a", b"b"]
        assert features["half"].dtype == tf.float32
        assert rest.shape == (2,)

        record_defaults = [tf.int64, tf.constant("none"), 0.0]
        path = str(tmp_path / "part-0.csv")
        records = tf.data.experimental.CsvDataset(path, record_defaults, header=True)
        number, kind, half = next(iter(records))
        assert (number.dtype, kind.numpy(), half.dtype) == (tf.int64, b"a", tf.float32)
        selected = tf.data.experimental.CsvDataset(path, [tf.string], header=True, select_cols=[1])
        assert [kind.numpy() for (kind,) in selected] == [b"a", b"b", b"a"]


class TestWindows:
    def test_batches_of_time_steps_and_labels(self):
        range_ds = tf.data.Dataset.range(100)
        batches = range_ds.batch(10, drop_remainder=True)
        pairs = batches.map(lambda batch: (batch[:-1], batch[1:]))
        features, label = next(iter(pairs))
        assert features.numpy().tolist() == list(range(9))
        assert label.numpy().tolist() == list(range(1, 10))
        split = batches.map(lambda batch: (batch[:-5], batch[-5:]))
        assert next(iter(split))[1].numpy().tolist() == [5, 6, 7, 8, 9]

    def test_windows_are_datasets(self):
        def make_window_dataset(ds, window_size=5, shift=1, stride=1):
            windows = ds.window(window_size, shift=shift, stride=stride)
            return windows.flat_map(lambda sub: sub.batch(window_size, drop_remainder=True))

        ds = make_window_dataset(tf.data.Dataset.range(30), window_size=4, shift=5, stride=3)
        assert [w.numpy().tolist() for w in ds.take(2)] == [[0, 3, 6, 9], [5, 8, 11, 14]]
        pairs = tf.data.Dataset.range(4).map(lambda x: {"a": x, "b": -x}).window(2)
        for window in pairs:
            assert isinstance(window["a"], tf.data.Dataset)
            assert len(list(window["b"])) == 2

    def test_a_series_of_shuffled_windows(self):
        series = np.arange(20, dtype=np.float32)
        size = 4
        ds = tf.data.Dataset.from_tensor_slices(tf.expand_dims(series, axis=-1))
        ds = ds.window(size + 1, shift=1, drop_remainder=True)
        ds = ds.flat_map(lambda w: w.batch(size + 1)).shuffle(10, seed=3)
        ds = ds.map(lambda w: (w[:-1], w[-1])).batch(8).prefetch(1)
        for x, y in ds:
            np.testing.assert_array_equal(x[:, -1, 0] + 1, y[:, 0])
        assert sum(len(x) for x, _ in ds) == 16


class TestGenerators:
    def test_counting_up_to_an_argument(self):
        def count(stop):
            i = 0
            while i < stop:
                yield i
                i += 1

        ds = tf.data.Dataset.from_generator(
            count, args=[25], output_types=tf.int32, output_shapes=()
        )
        batches = [b.numpy().tolist() for b in ds.repeat().batch(10).take(3)]
        assert batches[2] == [20, 21, 22, 23, 24, 0, 1, 2, 3, 4]

    def test_series_of_random_length_are_padded(self):
        def gen_series():
            rng = np.random.default_rng(1)
            for i in range(10):
                yield i, rng.normal(size=(rng.integers(0, 10),))

        ds = tf.data.Dataset.from_generator(
            gen_series, output_types=(tf.int32, tf.float32), output_shapes=((), (None,))
        )
        ids, sequences = next(iter(ds.shuffle(20).padded_batch(10, padded_shapes=([], [None]))))
        assert sorted(ids.numpy()) == list(range(10))
        lengths = {i: len(s) for i, s in gen_series()}
        assert sequences.shape[1] == max(lengths.values())
        for i, row in zip(ids.numpy(), sequences.numpy(), strict=True):
            assert not row[lengths[i] :].any()
