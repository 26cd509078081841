"""Selection and order of elements: take, skip, shard, repeat, shuffle, enumerate."""

import numpy as np

from programs import case


def numbers(tf, n=5):
    return tf.data.Dataset.range(n)


def unknown(tf):
    return numbers(tf).filter(lambda x: x >= 0)


def infinite(tf):
    return numbers(tf, 3).repeat()


DIFFERENT = {
    "known_take_all_by_another_name": "Bugs that are not reproduced",
    "infinite_take_all_by_another_name": "Bugs that are not reproduced",
    "unknown_skip_all": "More is known in advance",
    "unknown_skip_all_by_another_name": "More is known in advance",
    "infinite_skip_all": "More is known in advance",
    "infinite_skip_all_by_another_name": "More is known in advance",
}
for _name, _make in {"known": numbers, "unknown": unknown, "infinite": infinite}.items():
    for _stage, _function in {
        "take_2": lambda ds: ds.take(2),
        "take_0": lambda ds: ds.take(0),
        "take_9": lambda ds: ds.take(9),
        "take_all": lambda ds: ds.take(-1),
        "take_all_by_another_name": lambda ds: ds.take(-5),
        "skip_2": lambda ds: ds.skip(2),
        "skip_0": lambda ds: ds.skip(0),
        "skip_9": lambda ds: ds.skip(9),
        "skip_all": lambda ds: ds.skip(-1),
        "skip_all_by_another_name": lambda ds: ds.skip(-2),
        "shard_3_1": lambda ds: ds.shard(3, 1),
        "repeat_0": lambda ds: ds.repeat(0),
        "repeat_2": lambda ds: ds.repeat(2),
        "repeat_for_ever": lambda ds: ds.repeat(-1),
        "repeat_for_ever_by_another_name": lambda ds: ds.repeat(-3),
        "enumerate_from_3": lambda ds: ds.enumerate(3),
        "prefetch": lambda ds: ds.prefetch(2),
        "cache": lambda ds: ds.cache(),
        "batch_2": lambda ds: ds.batch(2),
        "batch_2_dropping": lambda ds: ds.batch(2, drop_remainder=True),
        "doubled": lambda ds: ds.concatenate(ds),
        "beside_itself": lambda ds: ds.zip((ds, ds.skip(1))),
    }.items():

        def _program(tf, make=_make, stage=_function):
            return stage(make(tf))

        _program.__name__ = f"{_name}_{_stage}"
        globals()[_program.__name__] = case(differs=DIFFERENT.get(_program.__name__, ""))(_program)


@case()
def shard_more_than_there_are(tf):
    return numbers(tf, 3).shard(5, 4)


@case()
def shard_of_no_shards(tf):
    return numbers(tf).shard(0, 0)


@case()
def shard_too_far(tf):
    return numbers(tf).shard(2, 2)


@case()
def shard_before_the_first(tf):
    return numbers(tf).shard(2, -1)


@case()
def repeat_nothing_for_ever(tf):
    return numbers(tf, 0).repeat()


@case()
def repeat_what_is_filtered_away(tf):
    return numbers(tf).filter(lambda x: x < 0).repeat()


@case()
def enumerate_from_the_start(tf):
    return tf.data.Dataset.from_tensor_slices(np.array([b"a", b"b"])).enumerate()


@case()
def enumerate_pairs(tf):
    return tf.data.Dataset.zip((numbers(tf), numbers(tf))).enumerate()


@case(ordered=False)
def shuffle_all(tf):
    return numbers(tf).shuffle(5)


@case(ordered=False)
def shuffle_some(tf):
    return numbers(tf).shuffle(2, seed=1)


@case()
def shuffle_one_at_a_time(tf):
    return numbers(tf).shuffle(1)


@case()
def shuffle_none_at_a_time(tf):
    return numbers(tf).shuffle(0)


@case(ordered=False, most=15)
def shuffle_and_repeat(tf):
    return numbers(tf).shuffle(9, seed=1).repeat(3)


@case()
def shuffle_nothing(tf):
    return numbers(tf, 0).shuffle(3).repeat()


@case()
def prefetch_nothing_ahead(tf):
    return numbers(tf).prefetch(0)


@case()
def prefetch_less_than_nothing(tf):
    return numbers(tf).prefetch(-2)


@case()
def options_stay(tf):
    options = tf.data.Options()
    options.deterministic = False
    return numbers(tf).with_options(options).batch(2)


@case()
def asserted_cardinality(tf):
    return unknown(tf).apply(tf.data.experimental.assert_cardinality(5))


@case(differs="Each error is raised once")
def asserted_too_few(tf):
    return unknown(tf).apply(tf.data.experimental.assert_cardinality(3))


@case(differs="Each error is raised once")
def asserted_too_many(tf):
    return unknown(tf).apply(tf.data.experimental.assert_cardinality(7))
