"""Forecasting of several series: shifted targets, store ids, filled gaps, splits, options."""

import datetime

import numpy as np
import tensorflow as tf

CONTEXT, HORIZON = 6, 2


def write_series(folder):
    start = datetime.date(2020, 1, 1)
    for store in range(3):
        lines = ["date,sales"]
        for i in range(15):
            value = "" if (i + store) % 7 == 3 else f"{10 * store + i * 1.5:.1f}"
            lines.append(f"{start + datetime.timedelta(days=i)},{value}")
        (folder / f"store_{store}.csv").write_text("\n".join(lines) + "\n")


def parse(line):
    date, sales = tf.io.decode_csv(line, [tf.constant([""]), tf.constant([np.nan])])
    parts = tf.strings.to_number(tf.strings.split(date, "-"), out_type=tf.int32)
    return {"month": parts[1], "day": parts[2], "sales": sales}


def forward_fill(last, row):
    sales = tf.where(tf.math.is_nan(row["sales"]), last, row["sales"])
    return sales, {**row, "sales": sales}


def read_store(path):
    store = tf.strings.regex_replace(path, r".*store_(\d+)\.csv", r"\1")
    rows = tf.data.TextLineDataset(path).skip(1).map(parse).scan(0.0, forward_fill)
    windows = rows.window(CONTEXT + HORIZON, shift=HORIZON, drop_remainder=True)
    windows = windows.flat_map(
        lambda w: tf.data.Dataset.zip(
            {"sales": w["sales"].batch(CONTEXT + HORIZON), "day": w["day"].batch(CONTEXT + HORIZON)}
        )
    )
    number = tf.strings.to_number(store, tf.int64)
    return windows.map(lambda w: split(w, number))


def split(window, store):
    past, future = window["sales"][:CONTEXT], window["sales"][CONTEXT:]
    scale = tf.maximum(tf.reduce_mean(tf.abs(past)), 1.0)
    inputs = {"past": past / scale, "store": store, "weekday": tf.math.floormod(window["day"], 7)}
    return inputs, future / scale, scale


def results(folder):
    write_series(folder)
    files = tf.data.Dataset.list_files(str(folder / "store_*.csv"), shuffle=False)
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 2
    options.autotune.enabled = True
    ds = files.interleave(read_store, cycle_length=3, block_length=2).with_options(options)
    inputs, future, scale = next(iter(ds.batch(100)))
    naive = ds.map(lambda x, y, s: tf.reduce_mean(tf.abs(y - x["past"][-1]) * s))
    lagged = tf.data.Dataset.zip(tuple(tf.data.Dataset.range(10).skip(lag) for lag in (0, 1, 7)))
    joined = ds.concatenate(ds.take(1))
    return {
        "inputs": inputs,
        "future": future,
        "scale": scale,
        "naive": list(naive),
        "lagged": [[int(x) for x in row] for row in lagged],
        "joined": joined.reduce(0, lambda n, *_: n + 1),
        "deterministic": ds.options().deterministic,
        "stores": [int(x["store"]) for x, *_ in ds.take(5)],
        "cardinality": [int(ds.cardinality()), int(lagged.cardinality())],
    }
