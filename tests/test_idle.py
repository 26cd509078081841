"""The cost of idle iterators: no wake-ups, and after a while no threads."""

from pathlib import Path

import pytest

from scripts import run_script

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="looks at threads in /proc"
)

PRELUDE = """
from pathlib import Path
from penstock import _core

OTHERS = {task.name for task in Path("/proc/self/task").iterdir()}  # of the interpreter and NumPy

def tasks():
    return {task.name for task in Path("/proc/self/task").iterdir()} - OTHERS

def wait_for(condition):
    for _ in range(5000):
        if condition():
            return
        time.sleep(0.002)
    raise AssertionError("not within 10 s")

def plus(x):
    return x + 1

def endless_numbers():
    i = 0
    while True:
        yield i
        i += 1
"""


def run(code):
    done = run_script(PRELUDE + code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_threads_that_wait_for_room_do_not_wake():
    threads, woken = run("""
datasets = [
    Dataset.range(10**12).map(plus, num_parallel_calls=4).prefetch(2),
    Dataset.from_generator(endless_numbers).prefetch(2),
    Dataset.range(10**12).interleave(
        lambda x: Dataset.range(10**12).map(plus), cycle_length=3, num_parallel_calls=2),
    Dataset.range(10**12).shuffle(10).batch(2).prefetch(2),
]
its = [iter(ds) for ds in datasets for _ in range(4)]
# A budget that is used up: they wait for it, too.
options = ps.Options()
options.memory_limit = 1000
big = Dataset.range(10**12).map(lambda x: np.zeros(10**4), num_parallel_calls=2).prefetch(4)
its += [iter(big.with_options(options)) for _ in range(2)]
for it in its:
    next(it)

def switches():
    found = {}
    for task in tasks():
        try:
            text = Path("/proc/self/task", task, "status").read_text()
        except OSError:
            continue
        found[task] = int(text.split("voluntary_ctxt_switches:")[1].split()[0])
    return found

before = switches()
while True:  # until all is filled, and the thread that looks for stalls has ended
    time.sleep(1.5)
    now = switches()
    if now == before:
        break
    before = now
time.sleep(0.5)
after = switches()
print(len(before), sum(after.get(task, count) != count for task, count in before.items()))
""")
    assert int(threads) > 16
    assert int(woken) == 0


def test_iterators_of_quick_functions_hold_few_threads():
    (threads,) = run("""
its = [
    iter(Dataset.range(10**12).map(plus, num_parallel_calls=15).prefetch(2)) for _ in range(16)
]
for _ in range(3):
    for it in its:
        next(it)
print(len(tasks()))
""")
    assert int(threads) < 16 * 8  # they may have 17 each


@pytest.mark.slow
def test_threads_of_iterators_that_nobody_asks_end_and_come_back():
    out = run("""
_core.set_parking_patience(0.02)
n = 300
its = [
    iter(Dataset.range(n).map(lambda x, i=i: x + i, num_parallel_calls=4).prefetch(2))
    for i in range(16)
]
its += [
    iter(Dataset.range(n).map(lambda x, i=i: x + i, num_parallel_calls=3).batch(1).unbatch())
    for i in range(16, 24)
]
native = Dataset.range(n).batch(1).unbatch().prefetch(1)
its += [iter(native.map(ps.native(lambda x, i=i: x + i), num_parallel_calls=2))
        for i in range(24, 28)]
loose = [
    iter(Dataset.range(n).map(plus, num_parallel_calls=3, deterministic=False).prefetch(1))
    for _ in range(4)
]
got = [[] for _ in its]
free = [[] for _ in loose]
for part in range(5):
    for it, mine in zip(its + loose, got + free):
        mine.extend(int(next(it)) for _ in range(n // 5))
    wait_for(lambda: not tasks() or part == 4)
    print(len(tasks()) if part < 4 else 0)
print(got == [[i + x for x in range(n)] for i in range(len(its))])
print([sorted(mine) for mine in free] == [[x + 1 for x in range(n)] for _ in loose])
for it in its:
    assert next(it, None) is None
""")
    assert out == ["0"] * 5 + ["True"] * 2


def test_a_thread_with_something_of_the_user_stays():
    out = run("""
_core.set_parking_patience(0.02)
local = threading.local()
made = []
ran = set()

def opens(x):
    if not hasattr(local, "connection"):
        local.connection = object()
        made.append(threading.get_ident())
    return x

def generator():
    while True:
        ran.add(threading.get_ident())
        yield 1

its = [
    iter(Dataset.range(10**6).map(opens, num_parallel_calls=2)),
    iter(Dataset.from_generator(generator).prefetch(2)),
    iter(Dataset.range(10**6).map(lambda x: (ran_inline.add(threading.get_ident()), x)[1])
         .prefetch(2)),
]
ran_inline = set()
for _ in range(3):
    for it in its:
        for _ in range(300):
            next(it)
    time.sleep(0.2)
print(len(made) == len(set(made)), len(made) <= 3, len(ran), len(ran_inline))
for it in its:
    it.close()
""")
    assert out == ["True", "True", "1", "1"]
