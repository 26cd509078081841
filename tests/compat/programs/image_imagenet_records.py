"""ImageNet-like records: sharded TFRecords, random crops for training, central for evaluation."""

import numpy as np
import tensorflow as tf

CROP_PADDING = 4
IMAGE_SIZE = 16
MEAN_RGB = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STDDEV_RGB = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def _int64_feature(value):
    if not isinstance(value, list):
        value = [value]
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def _float_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def _bytes_feature(value):
    if isinstance(value, type(tf.constant(0))):
        value = value.numpy()
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def write_shards(folder):
    rng = np.random.default_rng(1)
    for shard in range(2):
        path = str(folder / f"train-{shard:05d}-of-00002")
        with tf.io.TFRecordWriter(path) as writer:
            for i in range(3):
                pixels = rng.integers(0, 256, (24 + 4 * i, 40, 3), dtype=np.uint8)
                feature = {
                    "image/encoded": _bytes_feature(tf.io.encode_png(pixels)),
                    "image/class/label": _int64_feature(3 * shard + i + 1),
                    "image/class/text": _bytes_feature(b"class %d" % i),
                    "image/object/bbox/ymin": _float_feature([0.1, 0.2][: i + 1]),
                    "image/object/bbox/xmin": _float_feature([0.1, 0.3][: i + 1]),
                    "image/object/bbox/ymax": _float_feature([0.6, 0.8][: i + 1]),
                    "image/object/bbox/xmax": _float_feature([0.7, 0.9][: i + 1]),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())


def parse_record(raw_record):
    keys_to_features = {
        "image/encoded": tf.io.FixedLenFeature((), tf.string, ""),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64, -1),
        "image/class/text": tf.io.FixedLenFeature([], dtype=tf.string, default_value=""),
        "image/object/bbox/ymin": tf.io.VarLenFeature(dtype=tf.float32),
        "image/object/bbox/xmin": tf.io.VarLenFeature(dtype=tf.float32),
        "image/object/bbox/ymax": tf.io.VarLenFeature(dtype=tf.float32),
        "image/object/bbox/xmax": tf.io.VarLenFeature(dtype=tf.float32),
    }
    parsed = tf.io.parse_single_example(raw_record, keys_to_features)
    label = tf.cast(tf.reshape(parsed["image/class/label"], shape=[]), dtype=tf.int32) - 1
    sides = [parsed[f"image/object/bbox/{c}"].values for c in ("ymin", "xmin", "ymax", "xmax")]
    bbox = tf.concat([tf.expand_dims(side, 0) for side in sides], 0)
    bbox = tf.transpose(tf.expand_dims(bbox, 0), [0, 2, 1])
    return tf.reshape(parsed["image/encoded"], shape=[]), label, bbox


def distorted_crop(image_bytes, bbox, seed):
    image = tf.image.decode_png(image_bytes, channels=3)
    begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        tf.shape(image),
        bounding_boxes=bbox,
        seed=seed,
        min_object_covered=0.1,
        aspect_ratio_range=[0.75, 1.33],
        area_range=[0.3, 1.0],
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    offset_y, offset_x, _ = tf.unstack(begin)
    height, width, _ = tf.unstack(size)
    cropped = tf.image.crop_to_bounding_box(image, offset_y, offset_x, height, width)
    cropped = tf.image.random_flip_left_right(cropped)
    return tf.image.resize([cropped], [IMAGE_SIZE, IMAGE_SIZE], method="bilinear")[0]


def central_crop(image_bytes):
    image = tf.image.decode_png(image_bytes, channels=3)
    shape = tf.shape(image)
    image_height, image_width = shape[0], shape[1]
    ratio = IMAGE_SIZE / (IMAGE_SIZE + CROP_PADDING)
    smaller = tf.cast(tf.minimum(image_height, image_width), tf.float32)
    padded_center_crop_size = tf.cast(ratio * smaller, tf.int32)
    offset_height = ((image_height - padded_center_crop_size) + 1) // 2
    offset_width = ((image_width - padded_center_crop_size) + 1) // 2
    image = tf.image.crop_to_bounding_box(
        image, offset_height, offset_width, padded_center_crop_size, padded_center_crop_size
    )
    return tf.image.resize(image, (IMAGE_SIZE, IMAGE_SIZE))


def normalize(image):
    offset = tf.constant(MEAN_RGB, shape=[1, 1, 3])
    image -= offset
    scale = tf.constant(STDDEV_RGB, shape=[1, 1, 3])
    image /= scale
    return image


def results(folder):
    write_shards(folder)
    shards = tf.data.Dataset.list_files(str(folder / "train-*"), shuffle=False)
    records = shards.interleave(
        lambda path: tf.data.TFRecordDataset(path, buffer_size=8 * 1024 * 1024),
        cycle_length=2,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )
    parsed = records.map(parse_record)
    evaluation = parsed.map(lambda image, label, _: (normalize(central_crop(image)), label))
    images, labels = next(iter(evaluation.batch(6, drop_remainder=True)))
    seeds = tf.data.Dataset.range(100).map(lambda i: tf.stack([i, i + 1]))
    training = tf.data.Dataset.zip((parsed.repeat(3), seeds))
    training = training.map(lambda record, seed: distorted_crop(record[0], record[2], seed))
    crops = next(iter(training.batch(18)))
    return {
        "images": images,
        "labels": labels,
        "boxes": [bbox for _, _, bbox in parsed],
        "crops shape": crops.shape.as_list(),
        "crops type": crops.dtype.name,
        "crops within": bool(tf.reduce_min(crops) >= 0) and bool(tf.reduce_max(crops) <= 255),
        "crops differ": len({float(tf.reduce_mean(crop)) for crop in crops}) == 18,
    }
