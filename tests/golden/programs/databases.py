"""Rows of SQLite databases."""

import sqlite3

from programs import case


def rows(tf, folder, query, types):
    path = str(folder / "rows.db")
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (i INTEGER, f REAL, s TEXT, b BLOB)")
    values = [(1, 1.5, "x", b"\0\xff"), (2, None, "ä", b"z"), (300, 2.5, None, None)]
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", values)
    database.commit()
    database.close()
    return tf.data.experimental.SqlDataset("sqlite", path, query, types)


@case()
def sql_rows(tf, folder):
    return rows(tf, folder, "SELECT i, i, s FROM t", (tf.int32, tf.int64, tf.string))


@case()
def sql_blobs(tf, folder):
    return rows(tf, folder, "SELECT b FROM t", (tf.string,))


@case()
def sql_one_column(tf, folder):
    return rows(tf, folder, "SELECT i FROM t", tf.int32)


@case()
def sql_numbers_as_strings(tf, folder):
    return rows(tf, folder, "SELECT i, f FROM t", (tf.string, tf.string))


@case()
def sql_numbers_as_booleans(tf, folder):
    return rows(tf, folder, "SELECT i - 2 FROM t", (tf.bool,))


@case()
def sql_whole_numbers(tf, folder):
    return rows(tf, folder, "SELECT 2 * f FROM t", (tf.int64,))


@case()
def sql_of_a_dict(tf, folder):
    return rows(tf, folder, "SELECT i, s FROM t", {"a": tf.int64, "b": tf.string})


@case()
def sql_without_rows(tf, folder):
    return rows(tf, folder, "SELECT i FROM t WHERE i > 1000", (tf.int64,))


@case()
def sql_another_driver(tf, folder):
    return tf.data.experimental.SqlDataset("mysql", "x", "SELECT 1", (tf.int64,))


@case(differs="`SqlDataset` reports values that do not fit", spec=False)
def sql_texts_as_numbers(tf, folder):
    return rows(tf, folder, "SELECT s FROM t", (tf.int64,))


@case(differs="`SqlDataset` reports values that do not fit", spec=False)
def sql_parts_of_numbers(tf, folder):
    return rows(tf, folder, "SELECT f FROM t", (tf.int64,))


@case(differs="one error for a query that fails", spec=False)
def sql_wrong_query(tf, folder):
    return rows(tf, folder, "SELECT q FROM t", (tf.int64,))


@case(differs="one error for a query that fails", spec=False)
def sql_too_many_columns(tf, folder):
    return rows(tf, folder, "SELECT i, s FROM t", (tf.int64,))
