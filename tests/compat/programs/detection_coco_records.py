"""COCO-like records: a variable number of coordinates as sparse features, decoded and batched."""

import numpy as np
import tensorflow as tf

KEYS = ["ymin", "xmin", "ymax", "xmax"]


def int64_list_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def bytes_list_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))


def float_list_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def create_records(path):
    rng = np.random.default_rng(16)
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(5):
            n = [2, 0, 3, 1, 4][i]
            low = rng.uniform(0, 0.4, (n, 2))
            high = low + rng.uniform(0.05, 0.5, (n, 2))
            pixels = rng.integers(0, 256, (12 + i, 16, 3), dtype=np.uint8)
            feature = {
                "image/height": int64_list_feature([12 + i]),
                "image/width": int64_list_feature([16]),
                "image/source_id": bytes_list_feature([str(100 + i).encode("utf8")]),
                "image/encoded": bytes_list_feature([tf.io.encode_png(pixels).numpy()]),
                "image/object/class/label": int64_list_feature(rng.integers(1, 90, n).tolist()),
                "image/object/is_crowd": int64_list_feature((np.arange(n) % 2).tolist()),
                "image/object/class/text": bytes_list_feature([b"thing"] * n),
            }
            for key, values in zip(KEYS, [low[:, 0], low[:, 1], high[:, 0], high[:, 1]]):
                feature[f"image/object/bbox/{key}"] = float_list_feature(values.tolist())
            writer.write(
                tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
            )


class ExampleDecoder:
    def __init__(self):
        self._keys_to_features = {
            "image/encoded": tf.io.FixedLenFeature((), tf.string),
            "image/source_id": tf.io.FixedLenFeature((), tf.string, ""),
            "image/height": tf.io.FixedLenFeature((), tf.int64, -1),
            "image/width": tf.io.FixedLenFeature((), tf.int64, -1),
            "image/object/class/label": tf.io.VarLenFeature(tf.int64),
            "image/object/class/text": tf.io.VarLenFeature(tf.string),
            "image/object/is_crowd": tf.io.VarLenFeature(tf.int64),
            **{f"image/object/bbox/{key}": tf.io.VarLenFeature(tf.float32) for key in KEYS},
        }

    def decode(self, serialized_example):
        parsed_tensors = tf.io.parse_single_example(serialized_example, self._keys_to_features)
        for k in parsed_tensors:
            if isinstance(parsed_tensors[k], tf.SparseTensor):
                if parsed_tensors[k].dtype == tf.string:
                    parsed_tensors[k] = tf.sparse.to_dense(parsed_tensors[k], default_value="")
                else:
                    parsed_tensors[k] = tf.sparse.to_dense(parsed_tensors[k], default_value=0)
        image = tf.io.decode_image(parsed_tensors["image/encoded"], channels=3)
        image.set_shape([None, None, 3])
        boxes = tf.stack([parsed_tensors[f"image/object/bbox/{key}"] for key in KEYS], axis=-1)
        is_crowds = tf.cond(
            tf.greater(tf.shape(parsed_tensors["image/object/is_crowd"])[0], 0),
            lambda: tf.cast(parsed_tensors["image/object/is_crowd"], dtype=tf.bool),
            lambda: tf.zeros_like(parsed_tensors["image/object/class/label"], dtype=tf.bool),
        )
        return {
            "image": image,
            "source_id": parsed_tensors["image/source_id"],
            "height": parsed_tensors["image/height"],
            "groundtruth_classes": parsed_tensors["image/object/class/label"],
            "groundtruth_is_crowd": is_crowds,
            "groundtruth_boxes": boxes,
        }


def pad_to_fixed_size(data, pad_value, output_shape):
    max_num_instances = output_shape[0]
    dimension = output_shape[1]
    data = tf.reshape(data, [-1, dimension])
    num_instances = tf.shape(data)[0]
    assert_length = tf.Assert(
        tf.less_equal(num_instances, max_num_instances), ["too many objects", num_instances]
    )
    with tf.control_dependencies([assert_length]):
        pad_length = max_num_instances - num_instances
    paddings = pad_value * tf.ones([pad_length, dimension])
    padded_data = tf.concat([data, paddings], axis=0)
    return tf.reshape(padded_data, output_shape)


def results(folder):
    path = str(folder / "coco.tfrecord")
    create_records(path)
    decoded = tf.data.TFRecordDataset(path).map(ExampleDecoder().decode)
    nonempty = decoded.filter(lambda d: tf.shape(d["groundtruth_boxes"])[0] > 0)

    def prepare(d):
        keep = tf.where(tf.logical_not(d["groundtruth_is_crowd"]))[:, 0]
        boxes = tf.gather(d["groundtruth_boxes"], keep)
        classes = tf.cast(tf.gather(d["groundtruth_classes"], keep), tf.float32)
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        return (
            pad_to_fixed_size(boxes, -1, [4, 4]),
            pad_to_fixed_size(classes, -1, [4, 1]),
            tf.reduce_sum(area),
            tf.strings.to_number(d["source_id"], tf.int64),
        )

    batch = next(iter(nonempty.map(prepare).batch(4)))
    sizes = decoded.map(lambda d: tf.shape(d["image"]))
    crowded = decoded.map(lambda d: tf.reduce_sum(tf.cast(d["groundtruth_is_crowd"], tf.int32)))
    padded = decoded.map(lambda d: d["groundtruth_classes"]).padded_batch(
        5, padding_values=np.int64(-7)
    )
    return {
        "batch": batch,
        "sizes": list(sizes),
        "crowded": list(crowded),
        "classes": next(iter(padded)),
        "count": len(list(nonempty)),
        "first": {key: value for key, value in next(iter(decoded)).items() if key != "image"},
        "spec": {key: spec.dtype.name for key, spec in decoded.element_spec.items()},
    }
