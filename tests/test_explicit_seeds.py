"""Explicit seeds: draws depend on seed, epoch and element, not on the stage's position."""

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

Dataset = ps.Dataset
N = 40


@pytest.fixture(autouse=True)
def unseeded():
    yield
    ps.set_seed(None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Create a folder of images and masks with equal names, and two files with as many records."""
    folder = tmp_path_factory.mktemp("pairs")
    for kind in ("images", "masks"):
        for label in ("a", "b"):
            (folder / kind / label).mkdir(parents=True)
        for i in range(N):
            (folder / kind / "ab"[i % 2] / f"{i:02d}.txt").write_text(str(i))
        with ps.io.TFRecordWriter(str(folder / f"{kind}.tfrecord")) as writer:
            for i in range(N):
                writer.write(b"%d" % i * (1 + 9 * (kind == "images")))
        (folder / f"{kind}.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(N)))
    return folder


def number(x):
    return int(Path(str(x)).name.removesuffix(".txt"))


# One stage of each kind: rebuilding it must produce the same order.
ORDERS = {
    "shuffle": lambda: Dataset.range(N).shuffle(N, seed=1),
    "small buffer": lambda: Dataset.range(N).shuffle(5, seed=1),
    "buffer of rows": lambda: Dataset.range(N)._then(
        "shuffle", buffer_size=9, seed=1, reshuffle_each_iteration=True, fused=False
    ),
    "one order": lambda: Dataset.range(N).shuffle(N, seed=1, reshuffle_each_iteration=False),
    "after map": lambda: Dataset.range(N).map(lambda x: x).shuffle(N, seed=1),
    "after a parallel map": lambda: (
        Dataset.range(N).map(lambda x: x, num_parallel_calls=2).shuffle(N, seed=1)
    ),
    "before map": lambda: Dataset.range(N).shuffle(N, seed=1).map(lambda x: x),
    "generator": lambda: Dataset.from_generator(lambda: iter(range(N))).shuffle(N, seed=1),
    "epochs": lambda: Dataset.range(N).shuffle(N, seed=1).repeat(3),
    "global_shuffle": lambda: Dataset.range(N).global_shuffle(seed=1),
    "epochs of global_shuffle": lambda: Dataset.range(N).global_shuffle(seed=1).repeat(2),
    "one order of global_shuffle": lambda: Dataset.range(N).global_shuffle(
        seed=1, reshuffle_each_iteration=False
    ),
    "shuffle_and_repeat": lambda: Dataset.range(N).apply(
        ps.experimental.shuffle_and_repeat(N, 2, seed=1)
    ),
    "opened by flat_map": lambda: Dataset.range(4).flat_map(
        lambda x: Dataset.range(10).shuffle(10, seed=1).map(lambda y: 10 * x + y)
    ),
    "sample_from_datasets": lambda: Dataset.sample_from_datasets(
        [Dataset.range(N), Dataset.range(100, 100 + N)], seed=1
    ),
    "sample_from_datasets again": lambda: Dataset.sample_from_datasets(
        [Dataset.range(N), Dataset.range(100, 100 + N)], seed=1, rerandomize_each_iteration=True
    ).repeat(2),
    "random": lambda: Dataset.random(seed=1).take(N),
    "random again": lambda: (
        Dataset.random(seed=1, rerandomize_each_iteration=True).take(N).repeat(2)
    ),
    "rejection_resample": lambda: (
        Dataset.range(400)
        .rejection_resample(lambda x: x % 4 // 3, [0.5, 0.5], [0.75, 0.25], seed=1)
        .map(lambda label, x: x)
    ),
}
# The same for two sources whose elements correspond.
PAIRS = {
    "list_files": lambda folder, kind: Dataset.list_files(f"{folder}/{kind}/*/*", seed=1),
    "TFRecordDataset": lambda folder, kind: (
        ps.TFRecordDataset(f"{folder}/{kind}.tfrecord")
        .map(lambda x: int(x) if kind == "masks" else int(x[: len(x) // 10]))
        .shuffle(N, seed=1)
    ),
    "make_csv_dataset": lambda folder, kind: ps.experimental.make_csv_dataset(
        f"{folder}/{kind}.csv", 1, num_epochs=2, shuffle_buffer_size=N, shuffle_seed=1
    ).map(lambda row: row["x"][0]),
}


def different(make):
    """Return the number of positions at which two datasets differ."""
    return sum(x != y for x, y in Dataset.zip(make(), make()).as_numpy_iterator())


@pytest.mark.parametrize("kind", ORDERS)
def test_two_with_equal_seeds_have_the_same_order(kind):
    make = ORDERS[kind]
    alone = [int(x) for x in make()]
    pairs = [(int(x), int(y)) for x, y in Dataset.zip(make(), make())]
    assert pairs == [(x, x) for x in alone]
    assert len(alone) >= N
    assert alone != sorted(alone)


@pytest.mark.parametrize("kind", PAIRS)
def test_corresponding_sources_stay_aligned(folder, kind):
    make = functools.partial(PAIRS[kind], folder)
    numbers = [(number(x), number(y)) for x, y in Dataset.zip(make("images"), make("masks"))]
    assert all(x == y for x, y in numbers)
    assert {x for x, _ in numbers} == set(range(N))
    assert numbers != sorted(numbers)


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("seeds", [(None, 7), (7, 8)], ids=str)
def test_set_seed_does_not_change_it(kind, seeds):
    found = []
    for seed in seeds:
        ps.set_seed(seed)
        found.append([int(x) for x in ORDERS[kind]()])
    assert found[0] == found[1]


LATER = {
    "map": lambda ds: ds.map(lambda x: x),
    "batch": lambda ds: ds.batch(7).unbatch(),
    "prefetch": lambda ds: ds.prefetch(2),
    "repeat": lambda ds: ds.repeat(2),
    "repeat without end": lambda ds: ds.repeat(),
    "two repeats": lambda ds: ds.repeat(2).repeat(),
    "concatenate": lambda ds: ds.concatenate(Dataset.range(3)),
    "zip": lambda ds: Dataset.zip(ds, ds.take(10**6)).map(lambda x, y: x),
    "take": lambda ds: ds.take(10**6),
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("kind", ["shuffle", "small buffer", "global_shuffle", "random again"])
def test_a_later_stage_does_not_change_it(kind, later):
    alone = [int(x) for x in ORDERS[kind]().take(N)]
    with_more = LATER[later](ORDERS[kind]())
    assert [int(x) for x in itertools.islice(with_more, N)] == alone


def test_epochs_have_different_orders():
    for make in (
        lambda: Dataset.range(N).shuffle(N, seed=1).repeat(2).repeat(3),
        lambda: Dataset.range(N).shuffle(N, seed=1).repeat().take(2 * N).repeat(3),
        lambda: Dataset.range(6).flat_map(lambda x: Dataset.range(N).shuffle(N, seed=1)),
    ):
        rows = [row.tobytes() for row in make().batch(N)]
        assert len(rows) == len(set(rows)) == 6
    ds = Dataset.range(N).shuffle(N, seed=1)
    passes = [tuple(int(x) for x in ds) for _ in range(5)]
    assert len(set(passes)) == 5


IMAGES = np.arange(16 * 6 * 6 * 3).reshape(16, 6, 6, 3).astype("u1")
OPERATIONS = {
    "random_flip_left_right": lambda x: ps.image.random_flip_left_right(x, seed=3),
    "random_flip_up_down": lambda x: ps.image.random_flip_up_down(x, seed=3),
    "random_crop": lambda x: ps.image.random_crop(x, (3, 3, 3), seed=3),
    "random_resized_crop": lambda x: ps.image.random_resized_crop(x, (4, 4), seed=3),
    "random_brightness": lambda x: ps.image.random_brightness(x, 0.2, seed=3),
    "random_contrast": lambda x: ps.image.random_contrast(x, 0.2, 1.8, seed=3),
    "random_saturation": lambda x: ps.image.random_saturation(x, 0.2, 1.8, seed=3),
    "random_hue": lambda x: ps.image.random_hue(x, 0.4, seed=3),
    "uniform": lambda x: ps.random.uniform((4,), seed=5),
    "integers": lambda x: ps.random.uniform((4,), 0, 10**6, np.int64, seed=5),
    "normal": lambda x: ps.random.normal((4,), seed=5),
    "shuffle": lambda x: ps.random.shuffle(np.arange(20), seed=5),
}


def alike(pairs):
    pairs = [tuple(map(np.asarray, pair)) for pair in pairs]
    assert len(pairs) == len(IMAGES)
    assert len({x.tobytes() for x, _ in pairs}) > 1  # not all elements draw alike
    return all(np.array_equal(x, y) for x, y in pairs)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("form", [lambda f: f, ps.native], ids=["python", "native"])
def test_operations_of_one_seed_draw_alike(name, form):
    operation = OPERATIONS[name]
    ds = Dataset.from_tensor_slices(IMAGES)
    both = Dataset.zip(ds, ds)
    one_map = both.map(form(lambda x, y: (operation(x), operation(y))))
    assert alike(one_map)
    mapped = [ds.map(form(lambda x: operation(x))), ds.map(form(lambda x: operation(x + 0)))]
    assert alike(Dataset.zip(mapped[0], mapped[1]))
    assert alike(Dataset.zip(mapped[0], one_map.map(lambda x, y: y)))
    assert alike(Dataset.zip(mapped[0], ds.shuffle(9, seed=1).map(form(lambda x: operation(x)))
        .batch(1).unbatch())) is False  # fmt: skip


@pytest.mark.parametrize("name", ["random_flip_left_right", "random_crop", "uniform", "shuffle"])
def test_the_form_of_a_call_does_not_change_its_draws(name):
    operation = OPERATIONS[name]

    async def waits(x):
        return operation(x)

    ds = Dataset.from_tensor_slices(IMAGES)
    plain = ds.map(operation)
    for other in (
        ds.map(ps.native(operation)),
        ds.map(operation, num_parallel_calls=3),
        ds.map(ps.native(operation), num_parallel_calls=3),
        ds.map(waits),
        ds.map(waits, num_parallel_calls=3),
        ds.map(lambda x: x).map(operation).prefetch(1),
        ds.map(lambda x: (ps.random.uniform(()), operation(x))[1]),
        ds.filter(lambda x: ps.random.uniform(()) < 2).map(operation),
    ):
        assert alike(Dataset.zip(plain, other))


def seeded_noise(x):
    return ps.random.uniform((2,), seed=5)


def test_worker_processes_draw_the_same():
    ds = Dataset.from_tensor_slices(IMAGES)
    assert alike(Dataset.zip(ds.map(seeded_noise), ds.map(seeded_noise, executor="process")))


def test_an_image_and_its_mask_are_cropped_alike():
    masks = IMAGES[..., :1] + 0

    def crop(image, mask):
        return (
            ps.image.random_crop(image, (3, 3, 3), seed=3)[..., :1],
            ps.image.random_crop(mask, (3, 3, 1), seed=3),
        )

    ds = Dataset.from_tensor_slices((IMAGES, masks))
    assert alike(ds.map(crop))
    assert alike(ds.map(ps.native(crop)))


def test_seeds_elements_and_epochs_draw_differently():
    def drawn(seed, ds):
        return [float(x) for x in ds.map(lambda x: ps.random.uniform((), seed=seed))]

    assert drawn(1, Dataset.range(9)) == drawn(1, Dataset.range(9)) != drawn(2, Dataset.range(9))
    before = Dataset.range(9).repeat(2).repeat(3)
    assert len(set(drawn(1, before))) == 54
    assert len(set(drawn(1, Dataset.range(9).repeat().take(18).repeat(3)))) == 54
    noisy = Dataset.range(9).map(lambda x: ps.random.uniform((), seed=1))
    assert len({float(x) for x in noisy.repeat(2).repeat(3)}) == 54
    inside = Dataset.range(4).flat_map(lambda x: noisy)
    assert len({float(x) for x in inside}) == 36


@pytest.mark.parametrize("form", [lambda f: f, ps.native], ids=["python", "native"])
def test_operations_without_a_seed_draw_differently_at_each_call(form):
    def draws(x):
        return (
            ps.random.uniform(()),
            ps.random.uniform((), seed=5),
            ps.random.uniform(()),
            ps.random.uniform((), seed=5),
        )

    ps.set_seed(7)
    found = np.array([list(map(float, row)) for row in Dataset.range(50).map(form(draws))])
    assert len({*found[:, 0], *found[:, 2]}) == 100
    assert (found[:, 1] == found[:, 3]).all()
    ps.set_seed(7)
    without = Dataset.range(50).map(form(lambda x: (ps.random.uniform(()), ps.random.uniform(()))))
    assert [list(map(float, row)) for row in without] == found[:, [0, 2]].tolist()


@pytest.mark.parametrize("stage", ["filter", "take_while", "scan", "flat_map"])
def test_functions_of_other_stages_draw_by_their_element(stage):
    def noise():
        return ps.random.uniform((), dtype="float64", seed=5)

    wanted = [float(x) for x in Dataset.range(30).map(lambda x: noise())]
    ds = Dataset.range(30)
    seen = []
    if stage == "scan":
        ds = ds.scan(0.0, lambda state, x: (state, noise()))
        seen = [float(x) for x in ds]
    elif stage == "flat_map":
        seen = [float(x) for x in ds.flat_map(lambda x: Dataset.from_tensors(noise()))]
    else:
        list(getattr(ds, stage)(lambda x: seen.append(noise()) is None))
    assert seen == wanted


def test_a_generator_draws_by_its_element():
    def noises():
        for _ in range(9):
            yield ps.random.uniform((), seed=5), ps.random.uniform((), seed=5)

    first, second = ([tuple(map(float, pair)) for pair in Dataset.from_generator(noises)]
        for _ in range(2))  # fmt: skip
    assert first == second
    assert all(x == y for x, y in first)
    assert len({x for x, _ in first}) == 9


def test_a_scope_does_not_change_it():
    def in_scope(x):
        with ps.random.key(1):
            return ps.random.uniform((), seed=5), ps.random.uniform(())

    pairs = [tuple(map(float, pair)) for pair in Dataset.range(9).map(in_scope)]
    wanted = [float(x) for x in Dataset.range(9).map(lambda x: ps.random.uniform((), seed=5))]
    assert [x for x, _ in pairs] == wanted
    assert len({y for _, y in pairs}) == 1
    outside = float(ps.random.uniform((), seed=5))
    with ps.random.key(1):
        assert float(ps.random.uniform((), seed=5)) == outside


def test_datasets_inside_functions_take_no_seed_from_set_seed():
    def opens(x):
        shuffled = Dataset.range(5).shuffle(5, reshuffle_each_iteration=False)
        return Dataset.from_tensors(np.array([int(y) for y in shuffled] + [len(list(shuffled))]))

    def noises():
        return [float(x) for x in Dataset.range(4).map(lambda x: ps.random.uniform(()))]

    ps.set_seed(7)
    list(Dataset.range(1))
    wanted = noises()
    for calls in (None, 2):
        ps.set_seed(7)
        ds = Dataset.range(6).interleave(opens, num_parallel_calls=calls)
        found = [row.tolist() for row in ds]
        assert noises() == wanted
        ps.set_seed(7)
        assert [row.tolist() for row in ds] == found
        assert len({tuple(row) for row in found}) > 1
