"""Sources over files."""

import gzip
import zlib

import numpy as np

from programs import case


def written(folder, **contents):
    """Write files; return their names."""
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return [str(folder / name) for name in contents]


@case(differs="A carriage return")
def text_with_all_ends_of_lines(tf, folder):
    return tf.data.TextLineDataset(written(folder, a=b"one\ntwo\r\n\nfour\rfive\r\r\nlast"))


@case()
def text_with_a_last_newline(tf, folder):
    return tf.data.TextLineDataset(written(folder, a=b"one\n", b=b"\n", c=b""))


@case()
def text_that_ends_with_a_return(tf, folder):
    return tf.data.TextLineDataset(written(folder, a=b"one\r"))


@case()
def text_of_one_name(tf, folder):
    return tf.data.TextLineDataset(written(folder, a=b"1\n2\n")[0])


@case()
def text_of_a_dataset_of_names(tf, folder):
    names = np.array([name.encode() for name in written(folder, a=b"1\n2\n", b=b"3\n")])
    return tf.data.TextLineDataset(tf.data.Dataset.from_tensor_slices(names))


@case(differs="Each error is raised once")
def text_with_a_missing_file(tf, folder):
    names = written(folder, a=b"1\n2\n", b=b"3\n")
    return tf.data.TextLineDataset([names[0], str(folder / "missing"), names[1]])


@case()
def text_of_two_files_at_a_time(tf, folder):
    names = written(folder, a=b"a1\na2\na3\na4\n", b=b"b1\n", c=b"c1\nc2\n")
    return tf.data.TextLineDataset(names, num_parallel_reads=2)


@case()
def text_gzip(tf, folder):
    names = written(folder, a=gzip.compress(b"one\ntwo\n"))
    return tf.data.TextLineDataset(names, compression_type="GZIP")


@case()
def text_zlib(tf, folder):
    names = written(folder, a=zlib.compress(b"one\ntwo\n"))
    return tf.data.TextLineDataset(names, compression_type="ZLIB")


@case(differs="at the call")
def text_of_an_unknown_compression(tf, folder):
    return tf.data.TextLineDataset(written(folder, a=b""), compression_type="LZ9")


@case()
def fixed_records(tf, folder):
    return tf.data.FixedLengthRecordDataset(written(folder, a=b"HHaabbF", b=b"HHccF"), 2, 2, 1)


@case(differs="whole records")
def fixed_records_with_a_rest(tf, folder):
    return tf.data.FixedLengthRecordDataset(written(folder, a=b"aabbc", b=b"ddee"), 2)


@case()
def fixed_records_of_nothing(tf, folder):
    return tf.data.FixedLengthRecordDataset(written(folder, a=b""), 2)


@case(differs="at the call")
def fixed_records_of_no_bytes(tf, folder):
    return tf.data.FixedLengthRecordDataset(written(folder, a=b"abc"), 0)


def records(tf, folder, *contents):
    name = str(folder / "records")
    with tf.io.TFRecordWriter(name) as writer:
        for data in contents:
            writer.write(data)
    return name


@case()
def tf_records(tf, folder):
    return tf.data.TFRecordDataset(records(tf, folder, b"one", b"", b"\0\xff"))


@case()
def tf_records_of_nothing(tf, folder):
    return tf.data.TFRecordDataset(records(tf, folder))


@case()
def tf_records_cut_off(tf, folder):
    name = records(tf, folder, b"one", b"two")
    data = (folder / "records").read_bytes()
    (folder / "records").write_bytes(data[:-2])
    return tf.data.TFRecordDataset([name])


@case(differs="the record after it")
def tf_records_damaged(tf, folder):
    name = records(tf, folder, b"one", b"two", b"three")
    data = bytearray((folder / "records").read_bytes())
    data[13] ^= 1
    (folder / "records").write_bytes(data)
    return tf.data.TFRecordDataset([name])


@case(differs="**Values are NumPy's.**")
def files_that_match(tf, folder):
    written(folder, b=b"", a=b"", c=b"")
    ds = tf.data.Dataset.list_files(str(folder / "[ab]"), shuffle=False)
    return ds.map(lambda name: tf.strings.substr(name, -1, 1))


@case(ordered=False, differs="**Values are NumPy's.**")
def files_that_match_in_any_order(tf, folder):
    written(folder, b=b"", a=b"")
    ds = tf.data.Dataset.list_files(str(folder / "*"))
    return ds.map(lambda name: tf.strings.substr(name, -1, 1))


@case(differs="Exception types")
def files_of_which_there_are_none(tf, folder):
    return tf.data.Dataset.list_files(str(folder / "none*"))
