"""Batches of comma-separated files, with inferred columns."""

from programs import case
from programs.files import written

PLAIN = b"a,b,c\n1,2.5,x\n2,3,y\n3,,z\n"


def batches(tf, folder, *texts, size=2, **options):
    names = written(folder, **{f"f{i}": text for i, text in enumerate(texts)})
    options = {"num_epochs": 1, "shuffle": False} | options
    return tf.data.experimental.make_csv_dataset(names, size, **options)


@case()
def csv_columns(tf, folder):
    return batches(tf, folder, PLAIN)


@case()
def csv_columns_for_ever(tf, folder):
    return batches(tf, folder, PLAIN, num_epochs=None)


@case()
def csv_columns_twice(tf, folder):
    return batches(tf, folder, PLAIN, num_epochs=2)


@case()
def csv_label(tf, folder):
    return batches(tf, folder, PLAIN, label_name="b")


@case()
def csv_unknown_label(tf, folder):
    return batches(tf, folder, PLAIN, label_name="q")


@case()
def csv_chosen_columns(tf, folder):
    return batches(tf, folder, PLAIN, select_columns=["c", "a"])


@case()
def csv_numbers_of_columns(tf, folder):
    return batches(tf, folder, PLAIN, select_columns=[2, 0])


@case()
def csv_a_column_twice(tf, folder):
    return batches(tf, folder, PLAIN, select_columns=["a", "a"])


@case()
def csv_given_names(tf, folder):
    return batches(tf, folder, b"1,x\n2,y\n", header=False, column_names=["n", "t"])


@case()
def csv_names_for_a_header(tf, folder):
    return batches(tf, folder, b"a,b\n1,x\n2,y\n", column_names=["n", "t"])


@case()
def csv_no_names(tf, folder):
    return batches(tf, folder, b"1,x\n", header=False)


@case()
def csv_equal_names(tf, folder):
    return batches(tf, folder, b"a,a\n1,2\n")


@case()
def csv_wide_numbers(tf, folder):
    return batches(tf, folder, b"a,b,c,d\n1,1,1.5,\n99999999999,1e40,x,\n")


@case()
def csv_names_of_numbers(tf, folder):
    return batches(tf, folder, b"a,b\ninf,nan\n")


@case()
def csv_numbers_with_blanks(tf, folder):
    return batches(tf, folder, b"a,b\n 1, 2.5\n")


@case(differs="(`1_000`)", spec=False)
def csv_number_with_an_underscore(tf, folder):
    return batches(tf, folder, b"a\n1_000\n")


@case()
def csv_value_for_nothing(tf, folder):
    return batches(tf, folder, b"a,b\nNA,1\n2,NA\n", na_value="NA")


@case()
def csv_given_types(tf, folder):
    defaults = [tf.int64, tf.float32, tf.string]
    return batches(tf, folder, b"a,b,c\n1,2,3\n", column_defaults=defaults)


@case()
def csv_quoted_names(tf, folder):
    return batches(tf, folder, b'a,"b\nc"\n1,"x,\ny"\n')


@case()
def csv_header_alone(tf, folder):
    return batches(tf, folder, b"a,b\n")


@case()
def csv_without_even_a_header(tf, folder):
    return batches(tf, folder, b"")


@case()
def csv_unlike_headers(tf, folder):
    return batches(tf, folder, b"a,b\n1,2\n", b"a,c\n1,2\n")


@case()
def csv_too_few_fields_to_look_at(tf, folder):
    return batches(tf, folder, b"a,b\n1\n")


@case()
def csv_a_look_at_one_record(tf, folder):
    return batches(tf, folder, b"a\n1\nx\n2\n", size=1, num_rows_for_inference=1)


@case(differs="`batch` keeps the elements it had collected")
def csv_record_that_fails(tf, folder):
    return batches(tf, folder, b"a\n1\nx\n2\n", num_rows_for_inference=1)


@case()
def csv_files_in_turn(tf, folder):
    return batches(tf, folder, b"a\n1\n2\n5\n", b"a\n3\n4\n", size=9, num_parallel_reads=2)


@case()
def csv_files_one_by_one(tf, folder):
    return batches(tf, folder, b"a\n1\n2\n5\n", b"a\n3\n4\n", size=9)


@case(ordered=False)
def csv_shuffled(tf, folder):
    return batches(tf, folder, b"a\n1\n2\n5\n", b"a\n3\n4\n", size=1, shuffle=True)
