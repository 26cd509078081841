"""Log-mel spectrograms and MFCCs of tones, normalized with statistics of the data."""

import numpy as np
import tensorflow as tf

RATE = 8000
TOLERANCE = 2e-3


def tone(frequency, seconds=0.25):
    t = tf.range(int(RATE * seconds), dtype=tf.float32) / RATE
    envelope = tf.exp(-3.0 * t)
    return envelope * tf.sin(2.0 * np.pi * tf.cast(frequency, tf.float32) * t)


def mel_matrix():
    return tf.signal.linear_to_mel_weight_matrix(
        num_mel_bins=20,
        num_spectrogram_bins=129,
        sample_rate=RATE,
        lower_edge_hertz=80.0,
        upper_edge_hertz=3600.0,
    )


def log_mel(waveform):
    stfts = tf.signal.stft(waveform, frame_length=256, frame_step=128, fft_length=256)
    spectrograms = tf.abs(stfts)
    mel_spectrograms = tf.tensordot(spectrograms, mel_matrix(), 1)
    mel_spectrograms.set_shape(spectrograms.shape[:-1].concatenate(mel_matrix().shape[-1:]))
    return tf.math.log(mel_spectrograms + 1e-3)


def power_to_db(magnitude, ref=1.0, amin=1e-10, top_db=60.0):
    log_spec = 10.0 * tf.math.log(tf.maximum(amin, magnitude)) / tf.math.log(10.0)
    log_spec -= 10.0 * tf.math.log(tf.maximum(amin, ref)) / tf.math.log(10.0)
    return tf.maximum(log_spec, tf.reduce_max(log_spec) - top_db)


def results(folder):
    ds = tf.data.Dataset.from_tensor_slices([220, 440, 880, 1760]).map(tone)
    mels = ds.map(log_mel, num_parallel_calls=2).cache()
    mfccs = mels.map(lambda mel: tf.signal.mfccs_from_log_mel_spectrograms(mel)[..., :13])
    frames = ds.map(lambda wave: tf.signal.frame(wave, 400, 160, pad_end=True))
    energy = frames.map(lambda f: tf.sqrt(tf.reduce_mean(tf.square(f), axis=-1)))
    total = mels.reduce(tf.zeros(20), lambda s, mel: s + tf.reduce_sum(mel, axis=0))
    count = mels.reduce(0, lambda n, mel: n + tf.shape(mel)[0])
    mean = total / tf.cast(count, tf.float32)
    normalized = mels.map(lambda mel: (mel - mean) / 2.0)
    window = tf.signal.hann_window(16)
    spectra = ds.map(lambda wave: tf.abs(tf.signal.rfft(wave[:256])))
    return {
        "matrix": tf.reduce_sum(mel_matrix(), axis=1),
        "mels": tf.stack(list(mels)),
        "mfccs": tf.stack(list(mfccs)) / 10.0,
        "frames": [f.shape.as_list() for f in frames],
        "energy": list(energy),
        "count": count,
        "mean": mean,
        "normalized": next(iter(normalized.batch(4))),
        "window": window,
        "hamming": tf.signal.hamming_window(8),
        "peaks": [tf.argmax(s) for s in spectra],
        "db": power_to_db(next(iter(spectra)))[:40],
    }
