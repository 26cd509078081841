"""If the system refuses threads, the consumer does the work: the same elements, one warning."""

import tempfile
from pathlib import Path

import pytest

from scripts import run_script

# Thread limits do not apply to root: the process switches to a user that owns no other process.
PRELUDE = """
import base64, contextlib, ctypes, resource, warnings
from pathlib import Path
from penstock import _core

def threads():
    return len(list(Path("/proc/self/task").iterdir()))

OTHERS = threads()  # of the interpreter and NumPy

def wait_for_idle_threads_to_end():
    for _ in range(5000):
        if threads() <= OTHERS:  # fewer in a child
            return
        time.sleep(0.002)
    raise AssertionError("not within 10 s")

def allow_threads(more):
    "Let `more` threads run at a time from here on."
    wait_for_idle_threads_to_end()
    if os.geteuid() == 0:
        user = 20_000 + os.getpid() % 40_000
        os.setresuid(user, user, 0)
        ctypes.CDLL(None).setfsuid(0)  # modules that are imported later can be read as before
    limit = threads() + more
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

def refuses():
    try:
        thread = threading.Thread(target=int)
        thread.start()
    except RuntimeError:
        return True
    thread.join()
    return False

def plus(x):
    return x + 1

@ps.native
def times(x):
    return x * 2

def seventh(x):
    if x % 7 == 3:
        raise ValueError(f"bad {int(x)}")
    return x

def numbers():
    yield from range(30)

def opened(x):
    return Dataset.range(x * 10, x * 10 + 5).map(seventh)

SEVERAL = dict(num_parallel_calls=3)
PIPELINES = {
    "prefetch": lambda: Dataset.range(30).prefetch(4),
    "prefetch of a function": lambda: Dataset.range(30).map(seventh).prefetch(1),
    "prefetch of a generator": lambda: Dataset.from_generator(numbers).prefetch(2),
    "ps.prefetch": lambda: ps.prefetch(range(30), 2),
    "autotuned prefetch": lambda: Dataset.range(3000).prefetch(ps.AUTOTUNE).batch(1000),
    "map": lambda: Dataset.range(30).map(seventh, **SEVERAL),
    "native map": lambda: Dataset.range(30).map(times, **SEVERAL),
    "map into batches": lambda: Dataset.range(30).map(plus, **SEVERAL).batch(4),
    "autotuned map": lambda: Dataset.range(30).map(plus, num_parallel_calls=ps.AUTOTUNE),
    "unordered map": lambda: Dataset.range(30).map(plus, **SEVERAL, deterministic=False),
    "unordered prefetch": lambda: (
        Dataset.range(30).map(seventh, **SEVERAL, deterministic=False).prefetch(2)
    ),
    "interleave": lambda: Dataset.range(6).interleave(opened, cycle_length=4, **SEVERAL),
    "unordered interleave": lambda: Dataset.range(6).interleave(
        opened, cycle_length=3, num_parallel_calls=2, deterministic=False
    ),
    "shuffle": lambda: Dataset.range(30).map(plus, **SEVERAL).shuffle(10, seed=1).prefetch(2),
    "batch": lambda: Dataset.range(30).batch(4, num_parallel_calls=2),
    "random draws": lambda: Dataset.range(30).map(
        lambda x: ps.random.uniform(()), **SEVERAL
    ).prefetch(3),
    "nested": lambda: (
        Dataset.range(4)
        .prefetch(2)
        .interleave(
            lambda x: opened(x).map(plus, **SEVERAL).prefetch(2), cycle_length=2,
            num_parallel_calls=2,
        )
        .map(times, **SEVERAL)
        .prefetch(ps.AUTOTUNE)
        .batch(3)
        .prefetch(2)
    ),
    "epochs": lambda: (
        Dataset.range(5).map(plus, **SEVERAL).cache().shuffle(5, seed=1).repeat(3).prefetch(2)
    ),
}
NAMES = [name for name in PIPELINES]

def value(x):
    return x.tolist() if hasattr(x, "tolist") else x

def elements(it, most=10**9):
    "Elements and the texts of errors, in order."
    came = []
    while len(came) < most:
        try:
            came.append(value(next(it)))
        except StopIteration:
            break
        except ValueError as error:
            came.append(str(error))
    return came

@contextlib.contextmanager
def warned():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        texts = []
        yield texts
    texts += [str(w.message) for w in shown if issubclass(w.category, RuntimeWarning)]

def begun(name):
    ps.set_seed(5)
    return iter(PIPELINES[name]())
"""


def run(code, timeout=60):
    done = run_script(PRELUDE + code, timeout=timeout)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def _limits_hold():
    done = run_script(
        PRELUDE
        + """
allow_threads(1)
held = threading.Event()
thread = threading.Thread(target=held.wait)
thread.start()
print(refuses())
held.set()
"""
    )
    if "True" not in done.stdout:  # not Linux, other processes of the user, or no permission
        pytest.skip("the limit on threads does not hold here: " + done.stderr[-200:])


@pytest.mark.slow
def test_errors_that_nobody_took_keep_no_pass_of_a_data_loader():
    run("""
import gc, weakref
warnings.simplefilter("ignore")
allow_threads(0)
class Fails:
    def __len__(self):
        return 500
    def __getitem__(self, i):
        if i % 50 == 49:
            raise LookupError(i)
        return i
for taken in range(50, 500, 30):
    batches = iter(ps.DataLoader(Fails(), None, num_workers=3))
    for _ in range(taken):
        with contextlib.suppress(LookupError):
            next(batches)
    gone = weakref.ref(batches)
    del batches
    gc.collect()
    assert gone() is None
""")


@pytest.mark.slow
def test_elements_errors_and_their_order_are_as_with_threads():
    run("""
expected = {name: elements(begun(name)) for name in NAMES}
allow_threads(0)
assert refuses()
for name in NAMES:
    it = begun(name)
    with warned() as texts:
        came = elements(it)
    if "unordered" in name:
        came, expected[name] = (sorted(x, key=str) for x in (came, expected[name]))
    assert came == expected[name], (name, came, expected[name])
    assert len(texts) == 1, (name, texts)
    for part in "refused a thread", "ulimit -u", "pids limit", "Resource temporarily unavailable":
        assert part in texts[0], texts
    it.close()
""")


@pytest.mark.slow
def test_the_warning_names_the_stage_and_each_iterator_has_its_own():
    told = run("""
allow_threads(0)
for _ in range(2):
    for ds in (
        Dataset.range(3).map(plus, num_parallel_calls=2, name="more"),
        Dataset.range(3).prefetch(1),
        Dataset.range(3).map(times, num_parallel_calls=2).prefetch(1),
    ):
        with warned() as texts:
            it = iter(ds)
            assert len(list(it)) == 3
        print(len(texts), texts[0].partition(": ")[0])
""")
    lines = ["1 map(plus, name='more')", "1 prefetch", "1 prefetch"]
    assert told.splitlines() == 2 * lines


STATES = """
def saved_in_the_middle(name):
    it = begun(name)
    first = elements(it, 4)
    state = it.get_state()
    return first, state, elements(it)

def restored(name, state):
    it = begun(name)
    it.set_state(state)
    return elements(it)
"""
ORDERED = "[name for name in NAMES if 'unordered' not in name and name != 'ps.prefetch']"


@pytest.mark.slow
def test_states_are_the_same_with_threads_and_without():
    run(
        STATES
        + f"""
warnings.simplefilter("ignore")
names = {ORDERED}
with_threads = {{name: saved_in_the_middle(name) for name in names}}
read, write = os.pipe()
child = os.fork()
if child == 0:  # without threads: saves, and goes on from the states of the parent
    allow_threads(0)
    assert refuses()
    out = {{}}
    for name in names:
        first, state, rest = saved_in_the_middle(name)
        other_first, other_state, other_rest = with_threads[name]
        assert (first, rest) == (other_first, other_rest), name
        assert restored(name, other_state) == other_rest, name
        assert restored(name, state) == rest, name
        out[name] = base64.b64encode(state).decode()
    os.write(write, repr(out).encode())
    os._exit(0)
os.close(write)
text = b""
while part := os.read(read, 1 << 16):
    text += part
assert os.waitpid(child, 0)[1] == 0
for name, state in eval(text).items():
    assert restored(name, base64.b64decode(state)) == with_threads[name][2], name
"""
    )


def test_a_state_of_elements_out_of_order_is_restored_without_threads():
    run("""
warnings.simplefilter("ignore")
gate = threading.Event()
def held(x):
    if x == 0:
        gate.wait(60)
    return x
ds = Dataset.range(12).map(held, num_parallel_calls=3, deterministic=False)
it = iter(ds)
first = [int(next(it)) for _ in range(5)]
assert 0 not in first
state = it.get_state()
gate.set()
rest = sorted(int(x) for x in it)
it.close()
child = os.fork()
if child == 0:
    allow_threads(0)
    again = iter(ds)
    again.set_state(state)
    came = [int(x) for x in again]
    assert came == rest, (came, rest)
    third = iter(ds)
    third.set_state(state)
    came = [int(next(third)) for _ in range(2)]
    state = third.get_state()
    fourth = iter(ds)
    fourth.set_state(state)
    assert came + [int(x) for x in fourth] == rest
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""")


def test_an_interrupted_call_is_made_again():
    run("""
allow_threads(0)
warnings.simplefilter("ignore")
calls = []
def interrupted(x):
    calls.append(int(x))
    if len(calls) in (1, 4):
        raise KeyboardInterrupt
    return x
for ds in (
    Dataset.range(6).map(interrupted).prefetch(2),
    Dataset.range(6).map(interrupted, **SEVERAL),
    Dataset.range(6).map(interrupted, **SEVERAL).batch(3).prefetch(1).unbatch(),
    Dataset.range(1).interleave(
        lambda _: Dataset.range(6).map(interrupted), cycle_length=2, num_parallel_calls=1),
    Dataset.range(6).map(interrupted).map(plus, **SEVERAL).map(lambda x: x - 1),
):
    calls.clear()
    came, interrupts = [], 0
    it = iter(ds)
    while True:
        try:
            came.append(int(next(it)))
        except KeyboardInterrupt:
            interrupts += 1
        except StopIteration:
            break
    assert (came, interrupts) == (list(range(6)), 2), (came, interrupts, calls)
""")


@pytest.mark.slow
def test_an_interrupt_while_a_state_is_restored_leads_to_no_wrong_data():
    told = run("""
interrupt = False
def opens(x):
    if interrupt:
        raise KeyboardInterrupt
    return Dataset.range(x, x + 3)
def several():  # none overtakes another, but that it may makes each state exact
    ds = Dataset.range(0, 30, 10).map(int, num_parallel_calls=1, deterministic=False)
    return ds.interleave(opens, cycle_length=2)
warnings.simplefilter("ignore")
child = os.fork()
for number, ds in enumerate((several().prefetch(1), several().map(plus, **SEVERAL))):
    if child == 0 and number == 0:
        allow_threads(0)
    interrupt = False
    it = iter(ds)
    first = [int(next(it)) for _ in range(3)]
    time.sleep(0.05)  # states of old ones are due again
    first.append(int(next(it)))
    first.append(int(next(it)))
    state, rest = it.get_state(), sorted(int(x) for x in it)
    it.close()
    if child:
        continue
    it = iter(ds)
    it.set_state(state)
    interrupt = True
    try:
        next(it)
    except KeyboardInterrupt:
        print("interrupted")
    interrupt = False
    try:
        assert sorted(int(x) for x in it) == rest
    except RuntimeError as error:
        print(error)
        assert list(it) == []
    again = iter(ds)
    again.set_state(state)
    assert sorted(int(x) for x in again) == rest
sys.stdout.flush()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""")
    lines = told.splitlines()
    assert lines[0] == "interrupted"
    for line in lines:
        assert line == "interrupted" or "KeyboardInterrupt came while the state" in line, line
    assert len(lines) in (3, 4), lines


@pytest.mark.slow
def test_some_threads_do_the_work_of_those_that_are_missing():
    run("""
allow_threads(2)
for name in NAMES:
    it = begun(name)
    with warned() as texts:
        elements(it)
    assert len(texts) <= 1, texts
    it.close()
it = iter(Dataset.range(100).map(plus, num_parallel_calls=8))
with warned() as texts:
    assert [int(x) for x in it] == list(range(1, 101))
assert len(texts) == 1, texts
""")


@pytest.mark.slow
def test_threads_that_left_and_cannot_come_back_leave_their_work_to_the_consumer():
    run("""
_core.set_parking_patience(0.02)
its = [
    iter(Dataset.range(10**6).prefetch(2)),
    iter(Dataset.range(10**6).map(times, num_parallel_calls=3)),
    iter(Dataset.range(10**6).map(plus, num_parallel_calls=3)),
    iter(Dataset.range(10**6).map(plus, num_parallel_calls=3, deterministic=False)),
]
came = [[value(next(it)) for _ in range(3)] for it in its]
allow_threads(0)  # when all have left
assert refuses()
with warned() as texts:
    for it, some in zip(its, came):
        some += [value(next(it)) for _ in range(500)]
assert len(texts) == len(its), texts
expected = [[i * 2 ** (n == 1) + (n > 1) for i in range(503)] for n in range(4)]
came[3].sort()
assert came == expected
for it, some in zip(its, came):
    state = it.get_state()
    it.close()
""")


@pytest.mark.slow
def test_what_runs_in_line_is_called_no_earlier_than_a_thread_would():
    run("""
allow_threads(0)
warnings.simplefilter("ignore")
calls = []
def counted(x):
    calls.append(int(x))
    return x
it = iter(Dataset.range(1000).map(counted).prefetch(2))
next(it)
assert len(calls) <= 3, calls
it = iter(Dataset.range(1000).map(counted, num_parallel_calls=2))
calls.clear()
next(it)
assert len(calls) == 1, calls
stages = {stage["kind"]: stage for stage in it.stats()}
assert (stages["parallel_map"]["parallelism"], stages["parallel_map"]["elements"]) == (1, 1), stages
it.close()  # in the middle
assert list(it) == []
""")


def test_a_run_is_refused_where_the_stack_is_short():
    told = run("""
allow_threads(1)  # for the thread with a short stack
warnings.simplefilter("ignore")
def deep(ds, n):
    for _ in range(n):
        ds = ds.skip(0)
    return ds
AHEAD = {
    "prefetch": lambda ds: ds.prefetch(1),
    "map": lambda ds: ds.map(times, **SEVERAL),
}
def outcome(ahead, n):
    it = iter(ahead(deep(ahead(deep(Dataset.range(1), n)), n)))
    try:
        return int(next(it))
    except RecursionError as error:
        assert "stages deep" in str(error) and "threading.stack_size" in str(error), error
        return "refused"
def work():
    for name, ahead in AHEAD.items():
        print(name, [outcome(ahead, n) for n in range(20, 400, 35)])
threading.stack_size(1 << 20)
thread = threading.Thread(target=work)
thread.start()
thread.join()
""")
    for line in told.splitlines():
        assert line.endswith(", 'refused']"), told
        assert "[0, 0" in line, told


@pytest.mark.slow
def test_a_thread_that_closes_its_own_iterator_does_not_wait_for_itself():
    run("""
warnings.simplefilter("ignore")
allow_threads(1)  # that of prefetch: there is none to close the run
closed = threading.Event()
def closes(x):
    if x == 1:
        it.close()
        closed.set()
    return x
options = ps.Options()
options.stall_seconds = 0  # what looks for stalls is a thread, too
it = iter(Dataset.range(10).map(closes).prefetch(2).with_options(options))
next(it)
assert closed.wait(60)
assert list(it) == []
wait_for_idle_threads_to_end()
""")


@pytest.mark.slow
def test_files_are_written_and_read():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        run(f"""
warnings.simplefilter("ignore")
folder = {folder!r}
allow_threads(0)
ds = Dataset.range(30).map(plus, num_parallel_calls=3).prefetch(2)
expected = list(range(1, 31))
ds.save(folder + "/saved")
assert [int(x) for x in Dataset.load(folder + "/saved")] == expected
for kept in ds.cache(folder + "/cached"), ds.snapshot(folder + "/snapshot"), ds.cache():
    for _ in range(2):
        assert [int(x) for x in kept] == expected
for name in "ab":
    Path(folder, name).write_text("".join(f"{{name}}{{i}}\\n" for i in range(5)))
lines = Dataset.from_tensor_slices([folder + "/a", folder + "/b"]).interleave(
    ps.TextLineDataset, cycle_length=2, num_parallel_calls=2)
assert [x.decode()[1] for x in lines] == [c for c in "01234" for _ in "ab"]
""")


@pytest.mark.slow
def test_data_loader():
    run("""
allow_threads(0)
warnings.filterwarnings("ignore", "This DataLoader will create 3")  # on a small machine
expected = [list(range(i, i + 4)) for i in range(0, 20, 4)]
for more in (
    dict(num_workers=1),
    dict(num_workers=3),
    dict(num_workers=1, timeout=5),  # nobody else makes what is waited for
    dict(num_workers=3, timeout=5),
    dict(num_workers=3, in_order=False),
):
    loader = ps.DataLoader(list(range(20)), batch_size=4, **more)
    with warned() as texts:
        came = [np.asarray(batch).tolist() for batch in loader]
    assert came == expected, (more, came)
    assert len(texts) == 1, (more, texts)
""")


@pytest.mark.slow
def test_no_job_is_left_behind_when_threads_are_refused_beside_others():
    run("""
allow_threads(6)
warnings.simplefilter("ignore")
go = threading.Event()
def work():
    go.wait(60)
    for _ in range(20):
        with iter(Dataset.range(20).map(plus, num_parallel_calls=3).prefetch(2)) as it:
            assert [int(x) for x in it] == list(range(1, 21))
users = [threading.Thread(target=work) for _ in range(3)]
for thread in users:
    thread.start()
go.set()
for thread in users:
    thread.join()
""")


@pytest.mark.parametrize("more", [1, 2, 3])
def test_a_map_that_changes_sides_goes_on_with_the_threads_that_it_gets(more):
    told = run(f"""
_core.change_sides(1)
ds = Dataset.range(20_000).map(times, num_parallel_calls=3)
with warned():
    it = iter(ds)
    first = next(it)
    it.close()
allow_threads({more})
with warned():
    print(elements(iter(ds)) == list(range(0, 40_000, 2)))
""")
    assert told == "True\n"
