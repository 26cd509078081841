"""Keras' utility for folders of sounds; its validation data split in half, one channel selected."""

import wave

import numpy as np
import tensorflow as tf

RATE = 1000


def write_wav(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((samples * 32767).astype("<i2").tobytes())


def squeeze(audio, labels):
    audio = tf.squeeze(audio, axis=-1)
    return audio, labels


def make_spec_ds(ds):
    return ds.map(
        map_func=lambda audio, label: (tf.abs(tf.signal.stft(audio, 64, 32)), label),
        num_parallel_calls=tf.data.AUTOTUNE,
    )


def results(folder):
    for label, name in enumerate(["left", "right"]):
        (folder / name).mkdir()
        for i in range(5):
            t = np.arange(300 + 20 * i) / RATE
            write_wav(folder / name / f"{i}.wav", 0.4 * np.sin(2 * np.pi * 50 * (label + 1) * t))
    train_ds, val_ds = tf.keras.utils.audio_dataset_from_directory(
        directory=folder,
        batch_size=2,
        validation_split=0.4,
        seed=0,
        output_sequence_length=400,
        subset="both",
    )
    label_names = np.array(train_ds.class_names)
    train_ds = train_ds.map(squeeze, tf.data.AUTOTUNE)
    val_ds = val_ds.map(squeeze, tf.data.AUTOTUNE)
    test_ds = val_ds.shard(num_shards=2, index=0)
    val_ds = val_ds.shard(num_shards=2, index=1)
    ordered = tf.keras.utils.audio_dataset_from_directory(
        str(folder), shuffle=False, batch_size=4, label_mode="int"
    )
    loudness = []
    for audio, labels in train_ds:
        for row, label in zip(audio, labels):
            spectrum = tf.abs(tf.signal.rfft(row))
            loudness.append(int(tf.argmax(spectrum) > 30) == int(label))
    sounds, ids = next(iter(ordered))
    spectrograms, _ = next(iter(make_spec_ds(ordered.map(squeeze))))
    return {
        "names": label_names,
        "sizes": [len(train_ds), len(val_ds), len(test_ds)],
        "agree": loudness,
        "shapes": [a.shape.as_list() for a, _ in train_ds],
        "sounds": sounds,
        "ids": ids,
        "spectrograms": spectrograms,
    }
