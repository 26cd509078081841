"""Spoken commands: WAV files with labels from their paths, waveforms padded, spectrograms."""

import os

import numpy as np
import tensorflow as tf

RATE = 1600
COMMANDS = np.array(["down", "go", "up"])


def write_files(folder):
    for label, name in enumerate(COMMANDS):
        (folder / name).mkdir()
        for i in range(3):
            t = np.arange(RATE - 200 * i) / RATE
            wave = 0.5 * np.sin(2 * np.pi * (100 * (label + 1) + 7 * i) * t)
            contents = tf.audio.encode_wav(wave[:, None].astype(np.float32), RATE)
            tf.io.write_file(str(folder / name / f"{i}_nohash_0.wav"), contents)


def decode_audio(audio_binary):
    audio, _ = tf.audio.decode_wav(contents=audio_binary)
    return tf.squeeze(audio, axis=-1)


def get_label(file_path):
    parts = tf.strings.split(input=file_path, sep=os.path.sep)
    return parts[-2]


def get_waveform_and_label(file_path):
    label = get_label(file_path)
    audio_binary = tf.io.read_file(file_path)
    waveform = decode_audio(audio_binary)
    return waveform, label


def get_spectrogram(waveform):
    input_len = RATE
    waveform = waveform[:input_len]
    zero_padding = tf.zeros([RATE] - tf.shape(waveform), dtype=tf.float32)
    waveform = tf.cast(waveform, dtype=tf.float32)
    equal_length = tf.concat([waveform, zero_padding], 0)
    spectrogram = tf.signal.stft(equal_length, frame_length=255, frame_step=128)
    spectrogram = tf.abs(spectrogram)
    return spectrogram[..., tf.newaxis]


def get_spectrogram_and_label_id(audio, label):
    spectrogram = get_spectrogram(audio)
    label_id = tf.argmax(label == COMMANDS)
    return spectrogram, label_id


def results(folder):
    write_files(folder)
    filenames = sorted(tf.io.gfile.glob(str(folder) + "/*/*"))
    files_ds = tf.data.Dataset.from_tensor_slices(filenames)
    waveform_ds = files_ds.map(get_waveform_and_label, num_parallel_calls=tf.data.AUTOTUNE)
    spectrogram_ds = waveform_ds.map(
        map_func=get_spectrogram_and_label_id, num_parallel_calls=tf.data.AUTOTUNE
    )
    waveform, label = next(iter(waveform_ds))
    spectrograms, ids = next(iter(spectrogram_ds.batch(9)))
    loudest = tf.argmax(tf.reduce_mean(spectrograms[..., 0], axis=1), axis=1)
    shuffled = tf.random.shuffle(filenames)
    return {
        "waveform": waveform,
        "label": label,
        "lengths": [w.shape[0] for w, _ in waveform_ds],
        "spectrograms": spectrograms,
        "ids": ids,
        "loudest": loudest,
        "files": len(tf.io.gfile.listdir(str(folder / "go"))),
        "shuffled": sorted(os.path.basename(str(f)) for f in shuffled.numpy())[:3],
        "small": tf.image.resize(spectrograms, [32, 32])[0, ::8, ::8, 0],
    }
