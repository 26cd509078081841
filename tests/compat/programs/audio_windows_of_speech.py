"""Long recordings cut into overlapping windows, noise mixed in by level, padded batches."""

import numpy as np
import tensorflow as tf

WINDOW = 160
HOP = 80


def write_recordings(folder):
    rng = np.random.default_rng(9)
    for i, length in enumerate([500, 730, 100]):
        samples = (rng.normal(size=length) * 0.2).astype("float32")
        tf.io.write_file(f"{folder}/rec{i}.raw", samples.astype("<f4").tobytes())
        pcm = (samples * 32767).clip(-32768, 32767).astype("<i2")
        tf.io.write_file(f"{folder}/rec{i}.pcm", pcm.tobytes())


def read_float(path):
    return tf.io.decode_raw(tf.io.read_file(path), tf.float32)


def read_pcm(path):
    data = tf.io.decode_raw(tf.io.read_file(path), out_type=tf.int16)
    return tf.cast(data, tf.float32) / 32768.0


def windows(samples):
    count = 1 + tf.maximum(0, tf.size(samples) - WINDOW) // HOP
    padded = tf.pad(samples, [[0, tf.maximum(0, WINDOW - tf.size(samples))]])
    starts = tf.range(count) * HOP
    return tf.data.Dataset.from_tensor_slices(starts).map(lambda s: padded[s : s + WINDOW])


def add_noise(audio, noise, scale=0.5):
    prop = tf.math.reduce_max(audio, axis=0) / tf.math.reduce_max(noise, axis=0)
    return audio + noise * prop * scale


def zero_crossings(frame):
    signs = tf.sign(frame)
    return tf.reduce_sum(tf.cast(signs[1:] * signs[:-1] < 0, tf.int32))


def results(folder):
    write_recordings(folder)
    paths = tf.data.Dataset.list_files(f"{folder}/*.raw", shuffle=False)
    cut = paths.map(read_float).flat_map(windows)
    noise = tf.data.Dataset.from_tensors(tf.sin(tf.range(WINDOW, dtype=tf.float32))).repeat()
    noisy = tf.data.Dataset.zip((cut, noise)).map(add_noise)
    crossing = cut.map(zero_crossings)
    pcm = tf.data.Dataset.list_files(f"{folder}/*.pcm", shuffle=False).map(read_pcm)
    padded = pcm.padded_batch(3, padded_shapes=[800], padding_values=-1.0)
    lengths = pcm.map(lambda x: tf.shape(x)[0])
    emphasized = pcm.map(lambda x: tf.concat([x[:1], x[1:] - 0.97 * x[:-1]], 0))
    rebuilt = tf.signal.overlap_and_add(tf.stack(list(cut.take(3))), HOP)
    return {
        "windows": next(iter(cut.batch(20))),
        "count": len(list(cut)),
        "noisy": [tf.reduce_max(x) for x in noisy],
        "crossings": list(crossing.as_numpy_iterator()),
        "padded": next(iter(padded)),
        "lengths": [int(n) for n in lengths],
        "emphasized": [tf.math.reduce_std(x) for x in emphasized],
        "rebuilt": rebuilt,
    }
