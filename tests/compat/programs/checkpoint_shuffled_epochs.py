"""A shuffled and repeated dataset saved mid-epoch: a restored run yields the same remainder."""

import tensorflow as tf


def make_dataset():
    ds = tf.data.Dataset.range(12).shuffle(12, seed=5, reshuffle_each_iteration=True)
    ds = ds.map(lambda x: x + 100, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.repeat(2).batch(5).prefetch(1)


class Trainer:
    def __init__(self, folder):
        self.epoch = tf.Variable(0, dtype=tf.int64, name="epoch")
        self.total = tf.Variable(0.0)
        self.iterator = iter(make_dataset())
        self.checkpoint = tf.train.Checkpoint(
            epoch=self.epoch, total=self.total, iterator=self.iterator
        )
        self.prefix = str(folder / "ckpt")

    def step(self):
        batch = self.iterator.get_next()
        self.total.assign_add(tf.reduce_sum(tf.cast(batch, tf.float32)))
        self.epoch.assign_add(1)
        return batch.numpy().tolist()


def results(folder):
    first = Trainer(folder)
    begun = [first.step() for _ in range(2)]
    path = first.checkpoint.write(first.prefix)
    rest = [first.step() for _ in range(3)]
    second = Trainer(folder)
    second.checkpoint.read(path)
    replayed = [second.step() for _ in range(3)]
    try:
        second.step()
        ended = False
    except tf.errors.OutOfRangeError:
        ended = True
    optional = second.iterator.get_next_as_optional()
    all_of_them = sorted(x for batch in begun + rest for x in batch)
    return {
        "same": rest == replayed,
        "sizes": [len(batch) for batch in begun + rest],
        "all": all_of_them,
        "totals": [first.total.numpy(), second.total.numpy()],
        "epochs": [int(first.epoch), int(second.epoch.numpy())],
        "ended": ended,
        "optional": bool(optional.has_value()),
        "value": first.total.value(),
        "file": path.rsplit("/", 1)[1],
    }
