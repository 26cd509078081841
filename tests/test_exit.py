"""The process exits immediately and silently, with its own exit code, whatever still runs."""

import pytest

from scripts import run_script

LIVE = "it = iter(Dataset.range(1000).map(slow, num_parallel_calls=4)); next(it)\n"

CASES = {
    "prefetch in a global": "it = iter(Dataset.from_generator(endless).prefetch(2)); next(it)",
    "parallel map in a global": LIVE,
    "interleave in a global": """
        def reader(x):
            return Dataset.range(100).map(slow)
        ds = Dataset.range(8).interleave(reader, cycle_length=4, num_parallel_calls=4)
        it = iter(ds)
        next(it)
    """,
    "native threads in a global": """
        it = iter(Dataset.range(10**9).shuffle(100).batch(4).prefetch(10)); next(it)
    """,
    "64 iterators in a global": """
        its = [iter(Dataset.range(10**9).map(lambda x: x).prefetch(2)) for _ in range(64)]
        for it in its: next(it)
    """,
    "a suspended generator": """
        def epochs():
            for x in Dataset.from_generator(endless).prefetch(2):
                yield x
        running = epochs()
        next(running)
    """,
    "a daemon thread that waits": """
        def work():
            for x in Dataset.from_generator(endless).prefetch(2):
                begun.set()
        begun = threading.Event()
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
    """,
    "a daemon thread inside its function": """
        def busy(x):
            begun.set()
            return sum(range(20000))
        def work():
            for x in Dataset.range(10**9).map(busy):
                pass
        begun = threading.Event()
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
    """,
    "several daemon threads on one iterator": """
        it = iter(Dataset.range(10**9).map(lambda x: x, num_parallel_calls=2))
        def work():
            for x in it:
                begun.set()
        begun = threading.Event()
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        begun.wait()
    """,
    "an executor used before": """
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(2)
        pool.submit(int)
    """
    + LIVE.replace("\n", "\n        "),
    "an executor used after": LIVE
    + """
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(2)
        pool.submit(int)
    """.replace("\n        ", "\n"),
    "an iterator that its function refers to": """
        its = []
        its.append(iter(Dataset.range(10**9).map(lambda x: (its, x)[1]).prefetch(2)))
        next(its[0])
    """,
    "a cycle that only the end collects": """
        class Loader:
            def __init__(self):
                self.it = iter(Dataset.range(10**9).map(self.get, num_parallel_calls=2))
            def get(self, x):
                return x
        loader = Loader()
        next(loader.it)
        del loader
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_exit_ends_and_is_silent(name):
    for _ in range(3):  # races
        done = run_script(CASES[name] + "\nprint('end')")
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_exit_code_of_sys_exit_stays():
    done = run_script(LIVE + "sys.exit(3)")
    assert (done.returncode, done.stderr) == (3, "")


def test_uncaught_exception_is_all_that_is_printed():
    done = run_script(LIVE + "raise ValueError('mine')")
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.endswith("ValueError: mine\n")


def test_thread_that_outlives_the_main_one_gets_all_its_elements():
    done = run_script("""
        def work():
            ds = Dataset.range(8).map(slow, num_parallel_calls=4).prefetch(2)
            print([int(x) for x in ds])
        threading.Thread(target=work).start()
    """)
    assert (done.stdout, done.stderr) == (f"{list(range(8))}\n", "")


def test_task_of_an_executor_gets_all_its_elements():
    done = run_script("""
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(2)
        ds = Dataset.range(8).map(slow, num_parallel_calls=4)
        pool.submit(lambda: print(sum(int(x) for x in ds)))
    """)
    assert (done.stdout, done.stderr) == ("28\n", "")


@pytest.mark.parametrize("order", ["before", "after"])
def test_atexit_handlers_may_use_datasets(order):
    handler = "atexit.register(lambda: print([int(x) for x in Dataset.range(3).map(abs)]))\n"
    first, second = (handler, LIVE) if order == "before" else (LIVE, handler)
    done = run_script("import atexit\n" + first + second)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 2]\n", "")


def test_parallel_stage_started_by_the_last_handler_says_why_it_cannot():
    done = run_script("""
        import atexit
        def late():
            try:
                next(iter(Dataset.range(3).map(abs).prefetch(1)))
            except RuntimeError as error:
                print(error)
        atexit.register(late)
        it = iter(Dataset.range(9).map(slow, num_parallel_calls=4)); next(it)
    """)
    assert "Python is exiting" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


STUCK = """
    def stuck(x):
        begun.set()
        while True:
            sum(range(1000))
    begun = threading.Event()
    it = iter(Dataset.range(9).map(stuck, num_parallel_calls=1))
    threading.Thread(target=next, args=(it,), daemon=True).start()
    begun.wait()
"""


def test_waiting_for_a_function_that_computes_can_be_interrupted():
    done = run_script(
        STUCK
        + """
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    """
    )
    assert "KeyboardInterrupt" in done.stderr


# Functions that never return. `it` stays in a global.
BLOCKED = {
    "a generator behind prefetch": """
        it = iter(Dataset.from_generator(lines).prefetch(2)); next(it)
    """,
    "a generator that blocks before its first value": """
        it = iter(Dataset.from_generator(lambda: queue.Queue().get()).prefetch(2))
        threading.Thread(target=next, args=(it,), daemon=True).start()
    """,
    "a generator in a daemon thread": """
        it = iter(Dataset.from_generator(lines))
        threading.Thread(target=list, args=(it,), daemon=True).start()
        begun.wait()
    """,
    "a generator that blocks where it is closed": """
        def never_closed():
            try:
                while True:
                    yield 0
            finally:
                wait()
        it = iter(Dataset.from_generator(never_closed).prefetch(2)); next(it)
    """,
    "ps.prefetch": "it = iter(ps.prefetch(lines)); next(it)",
    "ps.prefetch over a socket": """
        import socket
        ours, theirs = socket.socketpair()
        theirs.send(b"x")
        def received():
            while True:
                yield ours.recv(1)
        it = iter(ps.prefetch(received)); next(it)
    """,
    "parallel map": "it = iter(Dataset.range(9).map(later, num_parallel_calls=2)); next(it)",
    "parallel filter": """
        it = iter(Dataset.range(9).filter(lambda x: later(x) == 0, num_parallel_calls=2)); next(it)
    """,
    "map before prefetch": "it = iter(Dataset.range(9).map(later).prefetch(2)); next(it)",
    "interleave": """
        ds = Dataset.range(4).interleave(
            lambda x: Dataset.from_generator(lines), cycle_length=2, num_parallel_calls=2)
        it = iter(ds); next(it)
    """,
    "a function of interleave": """
        ds = Dataset.range(4).interleave(
            lambda x: Dataset.from_tensors(later(x)), cycle_length=2, num_parallel_calls=2)
        it = iter(ds.prefetch(1))
        threading.Thread(target=next, args=(it,), daemon=True).start()
        begun.wait()
    """,
    "from_indexable": """
        class Rows:
            def __len__(self):
                return 9
            def __getitem__(self, i):
                return later(i)
        it = iter(Dataset.from_indexable(Rows()).prefetch(1)); next(it)
    """,
    "a coroutine": """
        async def never(x):
            if x:
                await asyncio.Event().wait()
            return x
        it = iter(Dataset.range(9).map(never, num_parallel_calls=2)); next(it)
    """,
    "a coroutine that blocks its loop": """
        async def never(x):
            return later(x)
        it = iter(Dataset.range(1, 9).map(never, num_parallel_calls=2))
        threading.Thread(target=next, args=(it,), daemon=True).start()
        begun.wait()
    """,
    "a coroutine that cannot be cancelled": """
        async def never(x):
            while x:
                try:
                    await asyncio.sleep(100)
                except asyncio.CancelledError:
                    pass
            return x
        it = iter(Dataset.range(9).map(never, num_parallel_calls=2)); next(it)
    """,
    "a function that iterates another dataset": """
        def inner(x):
            return int(next(iter(Dataset.range(x, 9).map(later, num_parallel_calls=1))))
        it = iter(Dataset.range(9).map(inner, num_parallel_calls=2)); next(it)
    """,
    "an iterator in a cycle": """
        class Loader:
            def __init__(self):
                self.it = iter(Dataset.range(9).map(self.get, num_parallel_calls=2))
            def get(self, x):
                return later(x)
        loader = Loader(); next(loader.it); del loader
    """,
    "an iterator in a suspended generator": """
        def epochs():
            yield from Dataset.from_generator(lines).prefetch(2)
        running = epochs(); next(running)
    """,
    "an iterator that is closing": """
        it = iter(Dataset.from_generator(lines).prefetch(2)); next(it)
        threading.Thread(target=it.close, daemon=True).start()
    """,
    "an iterator that a handler closes": """
        import atexit
        atexit.register(lambda: it.close())
        it = iter(Dataset.from_generator(lines).prefetch(2)); next(it)
    """,
    "functions that return while Python is torn down": """
        def doze(x):
            if x:
                time.sleep(0.45 + x / 100)
            return x
        it = iter(Dataset.range(40).map(doze, num_parallel_calls=40)); next(it)
    """,
    "DataLoader threads": """
        class Rows:
            def __len__(self):
                return 9
            def __getitem__(self, i):
                return later(i)
        it = iter(ps.DataLoader(Rows(), num_workers=2, worker_method="thread")); next(it)
    """,
}


ENDINGS = {
    "": (0, []),
    "sys.exit(3)": (3, []),
    "raise ValueError('mine')": (1, ["ValueError: mine"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", BLOCKED)
def test_functions_that_never_return_do_not_keep_the_process_alive(name, ending):
    done = run_script(
        """
        import asyncio, queue
        begun = threading.Event()
        def wait():
            begun.set()
            queue.Queue().get()
        def later(x):
            if x:
                wait()
            return x
        def lines():
            yield 0
            wait()
        """
        + BLOCKED[name]
        + f"""
        print("not flushed by the program")
        {ending}
        """
    )
    code, last = ENDINGS[ending]
    assert (done.returncode, done.stdout) == (code, "not flushed by the program\n")
    assert done.stderr.splitlines()[-1:] == last
    assert done.stderr.count("Traceback") == len(last)
