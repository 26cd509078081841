"""CSV of several kinds: CsvDataset with defaults, decode_csv over lines, compressed files."""

import gzip

import tensorflow as tf

COLUMNS = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
SPECIES = ["setosa", "versicolor", "virginica"]
FIELD_DEFAULTS = [[0.0], [0.0], [0.0], [0.0], [0]]


def write_files(folder):
    lines = [f"{5 + i / 10},{3 + i / 7:.4f},{1.1 * i:.2f},0.{i},{i % 3}" for i in range(9)]
    (folder / "iris.csv").write_text("120,4,setosa,versicolor,virginica\n" + "\n".join(lines))
    with gzip.open(folder / "iris.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    rows = ['1,"Smith, Jane",3.5,', '2,"O""Neil",,x', "3,Li,4.25,y", ",,,"]
    (folder / "people.csv").write_text("id,name,score,tag\r\n" + "\r\n".join(rows) + "\r\n")
    (folder / "tabs.tsv").write_text("a\t1\tNA\nb\t-2\t7\n")


def parse_line(line):
    fields = tf.io.decode_csv(line, FIELD_DEFAULTS)
    features = dict(zip(COLUMNS, fields))
    label = features.pop("species")
    return features, label


def results(folder):
    write_files(folder)
    iris = tf.data.TextLineDataset(str(folder / "iris.csv")).skip(1).map(parse_line)
    features, labels = next(iter(iris.batch(9)))
    packed = iris.map(lambda f, y: (tf.stack(list(f.values()), axis=-1), y))
    people = tf.data.experimental.CsvDataset(
        str(folder / "people.csv"), [tf.constant([-1], tf.int64), "nobody", 0.0, "-"], header=True
    )
    chosen = tf.data.experimental.CsvDataset(
        [str(folder / "iris.csv.gz")],
        record_defaults=[tf.float64, tf.int32],
        select_cols=[1, 4],
        compression_type="GZIP",
    )
    tabs = tf.data.experimental.CsvDataset(
        str(folder / "tabs.tsv"),
        [tf.string, tf.int32, tf.constant([9.5])],
        field_delim="\t",
        na_value="NA",
    )
    required = tf.data.experimental.CsvDataset(
        str(folder / "people.csv"), [tf.int32] * 4, header=True
    )
    try:
        next(iter(required))
        error = None
    except tf.errors.InvalidArgumentError as e:
        error = type(e).__name__
    names = tf.gather(tf.constant(SPECIES), labels)
    counts = iris.reduce(
        tf.zeros([3], tf.int32), lambda n, e: n + tf.one_hot(e[1], 3, dtype=tf.int32)
    )
    grouped = iris.group_by_window(
        key_func=lambda f, y: tf.cast(y, tf.int64),
        reduce_func=lambda key, window: window.batch(3),
        window_size=3,
    )
    return {
        "features": features,
        "labels": labels,
        "names": names,
        "packed": tf.stack([x for x, _ in packed]),
        "people": list(people),
        "chosen": list(chosen),
        "tabs": [[field.numpy() for field in row] for row in tabs],
        "error": error,
        "counts": counts,
        "grouped": [(tf.reduce_mean(f["sepal_width"]), y) for f, y in grouped],
        "columns": tf.io.decode_csv(["1,a", "2,b"], [[0], [""]]),
        "quotes": tf.io.decode_csv("x|'y'", [[""], [""]], field_delim="|", use_quote_delim=False),
    }
