"""Training interrupted and resumed: a step and an iterator in a checkpoint, with a manager."""

import tensorflow as tf


def make_dataset():
    return tf.data.Dataset.range(20).map(lambda x: x * x).batch(2)


def train(folder, steps, crash=False):
    iterator = iter(make_dataset())
    ckpt = tf.train.Checkpoint(step=tf.Variable(1), iterator=iterator)
    manager = tf.train.CheckpointManager(ckpt, str(folder / "tf_ckpts"), max_to_keep=3)
    ckpt.restore(manager.latest_checkpoint)
    restored = bool(manager.latest_checkpoint)
    seen = []
    for _ in range(steps):
        example = next(iterator)
        seen.append(example.numpy().tolist())
        ckpt.step.assign_add(1)
        if int(ckpt.step) % 2 == 0 and not crash:
            manager.save()
    return restored, int(ckpt.step), seen, [p.rsplit("/")[-1] for p in manager.checkpoints]


def results(folder):
    range_ds = tf.data.Dataset.range(20)
    iterator = iter(range_ds)
    ckpt = tf.train.Checkpoint(step=tf.Variable(0), iterator=iterator)
    manager = tf.train.CheckpointManager(ckpt, str(folder / "my_ckpt"), max_to_keep=3)
    before = [next(iterator).numpy() for _ in range(5)]
    save_path = manager.save()
    after = [next(iterator).numpy() for _ in range(5)]
    ckpt.restore(manager.latest_checkpoint)
    again = [next(iterator).numpy() for _ in range(5)]
    ckpt.step.assign(7)
    path = ckpt.save(str(folder / "other" / "named"))
    ckpt.step.assign(0)
    status = ckpt.restore(path)
    status.assert_consumed()
    runs = [train(folder, 3), train(folder, 2, crash=True), train(folder, 3)]
    return {
        "before": before,
        "after": after,
        "again": again,
        "name": save_path.rsplit("/")[-1],
        "same": save_path == manager.latest_checkpoint,
        "step": int(ckpt.step),
        "runs": runs,
        "latest": tf.train.latest_checkpoint(str(folder / "tf_ckpts")).rsplit("/")[-1],
    }
