"""Rows of a SQLite database, joined, normalized, and split by a hash of their key."""

import sqlite3

import tensorflow as tf


def make_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE users (id INTEGER, name TEXT, age REAL, active INTEGER)")
        connection.execute("CREATE TABLE orders (user_id INTEGER, amount REAL)")
        users = [(i, f"user{i}", 20.5 + 3 * i, i % 2) for i in range(8)]
        connection.executemany("INSERT INTO users VALUES (?, ?, ?, ?)", users)
        orders = [(i % 5, 10.0 * i) for i in range(12)]
        connection.executemany("INSERT INTO orders VALUES (?, ?)", orders)
    connection.close()


def results(folder):
    path = str(folder / "shop.sqlite3")
    make_database(path)
    users = tf.data.experimental.SqlDataset(
        "sqlite",
        path,
        "SELECT id, name, age, active FROM users ORDER BY id",
        (tf.int64, tf.string, tf.float64, tf.bool),
    )
    totals = tf.data.experimental.SqlDataset(
        driver_name="sqlite",
        data_source_name=path,
        query="SELECT u.name, SUM(o.amount), COUNT(*) FROM users u JOIN orders o "
        "ON o.user_id = u.id GROUP BY u.id ORDER BY u.id",
        output_types=(tf.string, tf.float64, tf.int32),
    )
    ages = users.map(lambda id, name, age, active: tf.cast(age, tf.float32))
    count, total, square = ages.reduce(
        (0.0, 0.0, 0.0), lambda s, x: (s[0] + 1.0, s[1] + x, s[2] + tf.square(x))
    )
    mean = total / count
    std = tf.sqrt(square / count - mean**2)

    def is_test(id, name, age, active):
        return tf.strings.to_hash_bucket_fast(name, 4) == 0

    test = users.filter(is_test)
    train = users.filter(lambda *row: not is_test(*row))
    buckets = ages.map(
        lambda age: tf.searchsorted(tf.constant([25.0, 35.0]), [age], side="right")[0]
    )
    actives = users.filter(lambda id, name, age, active: active)
    return {
        "users": list(users),
        "totals": [(n.numpy(), float(t), int(c)) for n, t, c in totals],
        "mean": mean,
        "std": std,
        "normalized": [(age - mean) / std for age in ages],
        "test": [name.numpy() for _, name, _, _ in test],
        "train": len(list(train)),
        "buckets": [int(b) for b in buckets],
        "actives": [int(id) for id, *_ in actives],
        "types": [spec.dtype.name for spec in users.element_spec],
    }
