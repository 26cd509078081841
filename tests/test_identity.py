"""The identity of a function covers its code and references when its stage is built."""

import heapq
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import penstock as ps
from penstock.digest import identity_of
from states import state_of

BASE = ps.Dataset.range(40)
STEP = 1
UNCOUNTED = ps.ignored(1)


def digest(value):
    return identity_of(value).digest


def adding(table):
    return lambda x: np.add(x, table)


def sorting(table):
    return lambda x: x + np.sort(table)[0]


def appending(table):
    def first(x):
        a = []
        a.append(table[0])
        return x + a[0]

    return first


def storing(table):
    def first(x):
        row = np.zeros(1)
        row[0] = table[0]
        return x + row[0]

    return first


def remembering(table):
    memory = {}

    def remember(x):
        return memory.setdefault(int(x), x + table[0])

    return remember


class Looked:
    def __init__(self, table):
        self._data = {"table": table}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._data[name]

    def __call__(self, x):
        return x + self.table[0]


def helper_of_a_module(table):
    module = types.ModuleType("a_module_of_the_program")
    module.table = table
    exec("def first(x): return x + table[0]", vars(module))
    scope = {"__name__": "a_program", "module": module}
    return eval("lambda x: module.first(x)", scope)


def imported_helper(table):
    module = types.ModuleType("a_module_of_the_program")
    module.table = table
    exec("def first(x): return x + table[0]", vars(module))
    scope = {"__name__": "a_program", "first": module.first}
    return eval("lambda x: first(x)", scope)


def made_by_a_library(table):
    def first(x):
        return x + table[0]

    first.__module__ = "numpy"  # as for a decorator that does not set __wrapped__
    scope = {"__name__": "a_program", "first": first}
    return eval("lambda x: first(x)", scope)


CAPTURED = [
    *(adding, sorting, appending, storing, remembering, Looked),
    *(helper_of_a_module, imported_helper, made_by_a_library),
]


@pytest.mark.parametrize("make", CAPTURED)
def test_a_changed_table_is_detected_whatever_else_the_function_does(make):
    state = state_of(BASE.map(make(np.array([1, 2]))))
    iter(BASE.map(make(np.array([1, 2])))).set_state(state)
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(BASE.map(make(np.array([3, 2])))).set_state(state)


def pushing(heap):
    def push(x):
        heapq.heappush(heap, int(x))
        return x

    return push


def test_a_function_is_examined_when_its_stage_is_built():
    push = pushing([])
    one, other = BASE.map(push, name="push"), BASE.map(push)
    state = state_of(one, 5)
    for ds in (one, other, BASE.map(pushing([]))):
        iter(ds).set_state(state)
    assert other.fingerprint() == BASE.map(pushing([])).fingerprint()
    words = r"set_state: .*: map\(push, name='again'\): the function has changed \(heap\);"
    with pytest.raises(ps.StateError, match=words):
        iter(BASE.map(push, name="again")).set_state(state)


def test_a_stage_that_is_moved_keeps_the_identity_of_its_function():
    rows = Rows()
    ds = ps.Dataset.from_indexable(rows)
    fresh = state_of(ps.Dataset.from_indexable(Rows()).take(3))
    _ = list(ds)
    iter(ds.take(3)).set_state(fresh)


class Rows:
    def __init__(self):
        self.seen = []

    def __len__(self):
        return 5

    def __getitem__(self, i):
        self.seen.append(int(i))
        return i


def test_a_loader_examines_its_dataset_when_it_is_created():
    loader, other = (ps.DataLoader(rows, batch_size=2) for rows in (Rows(), Rows()))
    batches = iter(loader)
    next(batches)
    other.load_state_dict(loader.state_dict())
    assert [batch.tolist() for batch in other] == [[2, 3], [4]]


# --- included and excluded parts ---


def test_attributes_do_not_count_as_global_variables_of_the_same_name(monkeypatch):
    def function(x):
        return x.STEP

    before = digest(function)
    monkeypatch.setitem(globals(), "STEP", 2)
    assert digest(function) == before
    assert digest(lambda x: x + STEP) != digest(eval("lambda x: x + STEP", {"STEP": 1}))


def test_the_lines_that_a_handler_covers_are_compared():
    texts = (
        "def f(x):\n try:\n  g(x)\n  h(x)\n except ValueError: pass\n",
        "def f(x):\n g(x)\n try:\n  h(x)\n except ValueError: pass\n",
    )
    found = [_function(text) for text in texts]
    assert digest(found[0]) != digest(found[1])


def test_the_kinds_of_parameters_are_compared():
    found = [_function(f"def f({arguments}): return a, b") for arguments in ("a, b", "a, *, b")]
    assert digest(found[0]) != digest(found[1])


def _function(text):
    scope = {"__name__": "a_program"}
    exec(text, scope)
    return scope["f"]


def test_reference_cycles_of_different_shape_differ():
    one, other = [1, []], [1, []]
    one[1].append(one)
    other[1].append(other[1])
    assert digest(one) != digest(other)


class Text(str):
    __slots__ = ("mark",)


def test_subclasses_of_simple_types_are_compared_by_value_and_attributes():
    texts = [Text("a"), Text("a"), Text("b"), Text("a")]
    for text, mark in zip(texts, (1, 1, 1, 2), strict=True):
        text.mark = mark
    one, same, *others = map(digest, texts)
    assert one == same
    assert one not in others


class Listing(dict):
    def items(self):
        raise AssertionError("code of the program runs")

    __iter__ = keys = values = __len__ = items


def test_examining_a_container_runs_no_code_of_its_class():
    assert digest(Listing(a=object())) != digest(Listing(a=object(), b=1))


def test_a_function_of_one_program_is_the_same_in_every_process(tmp_path):
    script = textwrap.dedent("""
        import dataclasses, enum, functools, logging, re, threading
        import numpy as np, penstock as ps
        from penstock.digest import identity_of
        class Color(enum.Flag): A = 1; B = 2
        names = {"a", "b", ("x", "y"), frozenset("pq"), frozenset("qrs")}
        table = {frozenset("abc"): object()}
        def even(n): return n == 0 or odd(n - 1)
        def odd(n): return n != 0 and even(n - 1)
        def wrapped(function):
            @functools.wraps(function)
            def call(*args): return function(*args)
            return call
        @wrapped
        def named(x): return x in {"q", "w", "e"}, names, table, Color.A | Color.B, Settings
        class Base:
            lock = threading.Lock()
            kinds = {"k": {"1", "2", "3"}}
            def add(self, x): return super().__repr__(), self.kinds
        @dataclasses.dataclass
        class Settings(Base):
            a: int = 1
            log: object = dataclasses.field(default_factory=lambda: logging.getLogger("x"))
            def __call__(self, x): return self.add(x), self.a
        async def waiting(x): return (i for i in range(3)), threading.current_thread()
        many = [named, Settings(), Settings().add, functools.partial(named, 3), even, waiting,
                functools.lru_cache(named), np.vectorize(named), lambda x: re.match("a", x)]
        for each in many: print(identity_of(each).digest.hex())
    """)
    found = []
    for i in range(3):
        path = tmp_path / f"program{i}.py"
        path.write_text("\n" * i + script)
        done = subprocess.run(
            [sys.executable, path],
            env={"PYTHONHASHSEED": str(i), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(done.stdout.split())
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == len(found[0]) == 9


# --- large values ---


def test_every_byte_of_a_captured_array_is_compared():
    one = np.zeros(1 << 23)
    before = identity_of(adding(one))
    one[1 << 22 | 12345] = 1
    assert before.exact
    assert digest(adding(one)) != before.digest


def test_memory_mapped_arrays_are_sampled_in_states_and_read_whole_in_caches(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros(1 << 20))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r+")
    before, print_ = identity_of(adding(mapped)), BASE.map(adding(mapped)).fingerprint()
    mapped[12345] = 1
    assert not before.exact
    assert digest(adding(mapped)) == before.digest
    assert BASE.map(adding(mapped)).fingerprint() != print_
    mapped[-1] = 1
    assert digest(adding(mapped)) != before.digest


def test_many_objects_are_sampled_in_states_and_compared_fully_in_caches():
    rows = [types.SimpleNamespace(number=i) for i in range(30_000)]
    before, print_ = identity_of(adding(rows)), BASE.map(adding(rows)).fingerprint()
    rows[1].number = -1
    assert not before.exact
    assert digest(adding(rows)) == before.digest
    assert BASE.map(adding(rows)).fingerprint() != print_
    rows.append(rows[0])
    assert digest(adding(rows)) != before.digest


# --- what is excluded ---


def test_ignored_values_are_not_compared():
    def noting(log):
        return lambda x: log.value.append(int(x)) or x

    log = ps.ignored([])
    state = state_of(BASE.map(noting(log)), 3)
    assert log.value[:3] == [0, 1, 2]
    iter(BASE.map(noting(log))).set_state(state)
    log.value = "another value"
    iter(BASE.map(noting(log))).set_state(state)
    assert BASE.map(noting(log)).fingerprint() == BASE.map(noting(ps.ignored(1))).fingerprint()


def test_attributes_and_defaults_can_be_ignored():
    class Shift:
        def __init__(self, by, folder):
            self.by, self.folder = by, ps.ignored(folder)

        def __call__(self, x, step=UNCOUNTED):
            return x + self.by, self.folder.value

    one, same, other = Shift(1, "a"), Shift(1, "b"), Shift(2, "a")
    UNCOUNTED.value += 1
    assert digest(one) == digest(same) != digest(other)


def test_an_ignored_function_can_be_called():
    def shifted(x, rng):
        return x + 1

    async def waiting(x):
        return x + 1

    for function in (shifted, waiting, ps.native(lambda x: x + 1)):
        ds = ps.Dataset.range(3).map(ps.ignored(function))
        assert [int(x) for x in ds] == [1, 2, 3]
        iter(ps.Dataset.range(3).map(ps.ignored(len))).set_state(state_of(ds))
    assert repr(ps.ignored(3)) == "ignored(3)"
