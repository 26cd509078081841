"""Sources over files of comma-separated values."""

from programs import case
from programs.files import written


def rows(tf, folder, data, defaults=None, **options):
    if defaults is None:
        defaults = [tf.int64, tf.cast([0.5], tf.float32), tf.stack([b"-"])]
    names = written(folder, a=data)
    return tf.data.experimental.CsvDataset(names, defaults, **options)


@case()
def csv_rows(tf, folder):
    return rows(tf, folder, b"1,2.5,a\n-2,,\n3,4,b")


@case()
def csv_quoted(tf, folder):
    return rows(tf, folder, b'1,"2.5","a,""b"""\n2,1,"two\nlines"\r\n')


@case()
def csv_with_blanks(tf, folder):
    return rows(tf, folder, b" 1 , 2 , a \n")


@case()
def csv_with_an_empty_line(tf, folder):
    return rows(tf, folder, b"1,2,a\n\n2,3,b\n")


@case()
def csv_without_a_required_value(tf, folder):
    return rows(tf, folder, b"1,2,a\n,3,b\n3,4,c\n")


@case()
def csv_with_too_few_fields(tf, folder):
    return rows(tf, folder, b"1,2,a\n2,3\n3,4,c\n")


@case()
def csv_with_too_many_fields(tf, folder):
    return rows(tf, folder, b"1,2,a\n2,3,b,c\n3,4,c\n")


@case()
def csv_with_no_number(tf, folder):
    return rows(tf, folder, b"1,2,a\none,3,b\n3,4,c\n")


@case()
def csv_with_a_quote_in_the_middle(tf, folder):
    return rows(tf, folder, b'1,2,a"b\n2,3,c\n')


@case()
def csv_without_quotes(tf, folder):
    return rows(tf, folder, b'1,2,"a"\n', use_quote_delim=False)


@case()
def csv_with_a_header(tf, folder):
    return rows(tf, folder, b"i,x,s\n1,2,a\n", header=True)


@case()
def csv_of_some_columns(tf, folder):
    defaults = [tf.int64, tf.stack([b"-"])]
    return rows(tf, folder, b"1,2,a\n2,3,\n", defaults, select_cols=[0, 2])


@case()
def csv_without_some_columns(tf, folder):
    defaults = [tf.int64, tf.stack([b"-"])]
    return rows(tf, folder, b"1,2,a\n2,3,\n", defaults, exclude_cols=[1])


@case()
def csv_with_another_delimiter(tf, folder):
    return rows(tf, folder, b"1;2;a\n", field_delim=";")


@case()
def csv_with_a_value_for_nothing(tf, folder):
    return rows(tf, folder, b"1,NA,NA\n", na_value="NA")


@case()
def csv_of_nothing(tf, folder):
    return rows(tf, folder, b"")
