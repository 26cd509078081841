"""set_seed: when a seed is read, and by which pipelines."""

import pytest

import penstock as ps


def noise(x):
    return float(ps.random.uniform((), dtype="float64"))


@pytest.fixture(autouse=True)
def unseeded():
    yield
    ps.set_seed(None)


def noises():
    return ps.Dataset.range(4).map(noise)


def test_an_iterator_takes_its_seed_when_it_is_made():
    ps.set_seed(7)
    wanted = [list(noises()), list(noises())]
    ds = noises()
    ps.set_seed(7)
    a = iter(ds)
    ps.set_seed(7)
    b = iter(ds)
    c = iter(ds)
    assert [list(c), list(b), list(a)] == [wanted[1], wanted[0], wanted[0]]


def test_an_iterator_has_its_seed_whatever_is_set_before_it_starts():
    ps.set_seed(7)
    wanted = list(noises())
    ps.set_seed(7)
    it = iter(noises())
    ps.set_seed(8)
    assert list(it) == wanted
    ps.set_seed(7)
    it = iter(noises())
    ps.set_seed(None)
    assert list(it) == wanted


def test_iterators_count_the_passes_over_a_dataset_when_they_are_made():
    ds = ps.Dataset.range(20).shuffle(20, seed=3)
    first, second = list(ds), list(ds)
    again = ps.Dataset.range(20).shuffle(20, seed=3)
    a, b = iter(again), iter(again)
    assert list(b) == second
    assert list(a) == first


@pytest.mark.parametrize("reshuffles", [True, False])
def test_what_has_a_seed_of_its_own_takes_none(reshuffles):
    ps.set_seed(7)
    wanted = list(noises())
    ps.set_seed(7)
    ps.Dataset.range(3).shuffle(3, seed=1, reshuffle_each_iteration=reshuffles)
    assert list(noises()) == wanted


def test_a_look_at_the_elements_takes_none():
    ps.set_seed(7)
    wanted = list(noises())
    ps.set_seed(7)
    ds = noises()
    assert ds.element_spec.shape == ()
    assert list(ds) == wanted


RANGE = ps.Dataset.range(6)
TAKES = {
    "an iterator that is not used": lambda folder: iter(RANGE),
    "a loop": lambda folder: list(RANGE),
    "reduce": lambda folder: RANGE.reduce(0, lambda a, b: a + b),
    "save": lambda folder: RANGE.save(folder / "saved"),
    "shuffle": lambda folder: RANGE.shuffle(3),
    "shuffle in one order": lambda folder: RANGE.shuffle(3, reshuffle_each_iteration=False),
    "list_files": lambda folder: ps.Dataset.list_files(str(folder)),
}
TAKES_NONE = {
    "a seeded shuffle": lambda folder: RANGE.shuffle(3, seed=1),
    "files in order": lambda folder: ps.Dataset.list_files(str(folder), shuffle=False),
    "mixing": lambda folder: ps.Dataset.sample_from_datasets([RANGE, RANGE]),
    "random": lambda folder: ps.Dataset.random(),
    "an operation": lambda folder: ps.random.uniform(()),
    "a DataLoader": lambda folder: list(ps.DataLoader([1, 2, 3], shuffle=True)),
    "a length": lambda folder: len(RANGE.batch(2)),
    "a spec": lambda folder: noises().element_spec,
    "a fingerprint": lambda folder: noises().fingerprint(),
}


@pytest.mark.parametrize("name", TAKES)
def test_who_takes_one_seed(name, tmp_path):
    ps.set_seed(7)
    _, wanted = list(noises()), list(noises())
    ps.set_seed(7)
    kept = TAKES[name](tmp_path)
    assert list(noises()) == wanted, kept


@pytest.mark.parametrize("name", TAKES_NONE)
def test_who_takes_none(name, tmp_path):
    ps.set_seed(7)
    wanted = list(noises())
    ps.set_seed(7)
    kept = TAKES_NONE[name](tmp_path)
    assert list(noises()) == wanted, kept


def test_the_order_of_a_shuffle_follows_from_its_iterator_or_from_when_it_was_built():
    def orders(built, iterated, reshuffles):
        ps.set_seed(built)
        ds = ps.Dataset.range(20).shuffle(20, reshuffle_each_iteration=reshuffles)
        ps.set_seed(iterated)
        return [int(x) for x in ds]

    assert orders(1, 5, True) == orders(2, 5, True) != orders(1, 6, True)
    assert orders(1, 5, False) == orders(1, 6, False) != orders(2, 5, False)


def test_restoring_takes_none():
    ds = noises()
    ps.set_seed(7)
    it = iter(ds)
    next(it)
    state = it.get_state()
    rest, after = list(it), list(ds)
    ps.set_seed(7)
    it = iter(ds)
    it.set_state(state)
    assert list(it) == rest
    assert list(ds) == after


@pytest.mark.parametrize("form", ["plain", "native", "rng", "parallel"])
@pytest.mark.parametrize("before", ["nothing", "shuffle", "seeded shuffle", "map", "filter"])
def test_draws_after_shard_evenly_do_not_depend_on_the_number_of_shards(before, form):
    def drawn(x, rng=None):
        noise = ps.random.uniform((), dtype="float64") if rng is None else rng.random()
        return x, noise

    def plain(x):
        return drawn(x)

    source = {
        "nothing": ps.Dataset.range(16),
        "shuffle": ps.Dataset.range(16).shuffle(16),
        "seeded shuffle": ps.Dataset.range(16).shuffle(4, seed=3),
        "map": ps.Dataset.range(16).map(lambda x: x + 1),
        "filter": ps.Dataset.range(21).filter(lambda x: x % 4 != 0),
    }[before]
    function = {"native": ps.native(plain), "rng": drawn}.get(form, plain)
    calls = 2 if form == "parallel" else None

    def of_shards(count):
        found = []
        for index in range(count):
            ps.set_seed(7)
            ds = source.shard_evenly(count, index, "drop").map(function, num_parallel_calls=calls)
            found += [(int(x), float(y)) for x, y in ds]
        return sorted(found)

    wanted = dict(of_shards(1))
    assert len(wanted) == len(set(wanted.values())) >= 15
    for count in (2, 4):
        found = of_shards(count)
        assert len(found) == len(wanted) - len(wanted) % count
        assert all(wanted[x] == y for x, y in found)


def test_draws_for_records_of_whole_files_do_not_depend_on_the_number_of_shards(tmp_path):
    names = [tmp_path / f"{i}.txt" for i in range(6)]
    for i, name in enumerate(names):
        name.write_text("".join(f"{i}-{j}\n" for j in range(3)))

    def of_shards(count):
        found = []
        for index in range(count):
            ps.set_seed(7)
            ds = ps.TextLineDataset(names).shard_evenly(count, index, by="files")
            found += [(str(x), y) for x, y in ds.map(lambda x: (x, noise(x)))]
        return sorted(found)

    assert of_shards(1) == of_shards(2) == of_shards(3)


def seeded_after(look):
    """Return the draws of later passes if `look` runs before them."""
    ps.set_seed(7)
    ds, shuffled = noises(), ps.Dataset.range(20).shuffle(20, seed=3)
    look(shuffled)
    return list(ds), list(shuffled)


def test_watching_a_loop_takes_no_seed():
    def watch(_):
        with ps.profile([1, 2]) as watch:
            list(watch)

    assert seeded_after(watch) == seeded_after(lambda _: None)


def test_building_a_csv_dataset_takes_no_seed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,x\n2,y\n")

    def build(_):
        ps.experimental.make_csv_dataset(path, 2, num_epochs=1, shuffle=False)

    assert seeded_after(build) == seeded_after(lambda _: None)
