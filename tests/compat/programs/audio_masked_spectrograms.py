"""Spectrograms with bands of time and frequency masked, transcripts as ids, batched by length."""

import tensorflow as tf

CHARACTERS = list("abcdefghijklmnopqrstuvwxyz' ")
TRANSCRIPTS = ["go on", "it's late", "yes", "turn the light off"]


class VectorizeChar:
    def __init__(self, max_len=12):
        self.vocab = ["-", "#", "<", ">"] + CHARACTERS
        self.max_len = max_len
        self.char_to_idx = {ch: i for i, ch in enumerate(self.vocab)}

    def __call__(self, text):
        text = text.lower()[: self.max_len - 2]
        text = "<" + text + ">"
        pad_len = self.max_len - len(text)
        return [self.char_to_idx.get(ch, 1) for ch in text] + [0] * pad_len


def features(length):
    t = tf.range(length, dtype=tf.float32)
    wave = tf.sin(t * 0.3) + 0.5 * tf.cos(t * 0.05)
    stfts = tf.signal.stft(wave, frame_length=50, frame_step=25, fft_length=64)
    x = tf.math.pow(tf.abs(stfts), 0.5)
    means = tf.math.reduce_mean(x, 1, keepdims=True)
    stddevs = tf.math.reduce_std(x, 1, keepdims=True)
    return (x - means) / stddevs


def mask_band(x, start, width, axis):
    size = tf.shape(x)[axis]
    inside = tf.logical_and(tf.range(size) >= start, tf.range(size) < start + width)
    shape = [-1, 1] if axis == 0 else [1, -1]
    return tf.where(tf.reshape(inside, shape), tf.zeros_like(x), x)


def random_mask(x):
    start = tf.random.uniform([], 0, tf.shape(x)[0] - 2, dtype=tf.int32)
    return mask_band(x, start, 2, axis=0)


def results(folder):
    lengths = tf.constant([200, 350, 120, 500])
    vectorizer = VectorizeChar()
    text_ds = tf.data.Dataset.from_tensor_slices([vectorizer(t) for t in TRANSCRIPTS])
    audio_ds = tf.data.Dataset.from_tensor_slices(lengths).map(features)
    ds = tf.data.Dataset.zip((audio_ds, text_ds))
    ds = ds.map(lambda x, y: {"source": x, "target": y})
    batch = next(iter(ds.padded_batch(4, padded_shapes={"source": [None, None], "target": [12]})))
    masked = audio_ds.map(lambda x: mask_band(mask_band(x, 1, 2, 0), 5, 10, 1))
    zeros = audio_ds.map(random_mask).map(lambda x: tf.math.count_nonzero(x, axis=1) == 0)
    labels = ds.map(lambda d: tf.boolean_mask(d["target"], d["target"] > 0))
    decoded = ["".join(vectorizer.vocab[i] for i in label.numpy()) for label in labels]
    lens = ds.map(lambda d: (tf.shape(d["source"])[0], tf.math.count_nonzero(d["target"])))
    inverse = tf.signal.inverse_stft(
        tf.signal.stft(tf.sin(tf.range(100.0)), 20, 5),
        20,
        5,
        window_fn=tf.signal.inverse_stft_window_fn(5),
    )
    return {
        "source": batch["source"],
        "target": batch["target"],
        "masked": [tf.reduce_sum(tf.abs(x)) for x in masked],
        "zeros": [tf.reduce_sum(tf.cast(z, tf.int32)) for z in zeros],
        "decoded": decoded,
        "lengths": list(lens.as_numpy_iterator()),
        "inverse": inverse[20:60],
        "spec": [s.dtype.name for s in tf.nest.flatten(ds.element_spec)],
    }
