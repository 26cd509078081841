"""The process ends at once, with its own exit code and without a word, whatever still runs."""

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
        time.sleep(SECONDS)
    begun = threading.Event()
    it = iter(Dataset.range(9).map(stuck, num_parallel_calls=1))
    threading.Thread(target=next, args=(it,), daemon=True).start()
    begun.wait()
"""


def test_waiting_for_a_function_can_be_interrupted():
    done = run_script(
        STUCK.replace("SECONDS", "1000")
        + """
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    """
    )
    assert "KeyboardInterrupt" in done.stderr


# Copies what is written to stderr, and lets `told` know of the message.
LISTENING = """
    told = threading.Event()
    read, write = os.pipe()
    shown = os.dup(2)
    os.dup2(write, 2)
    def listen():
        text = b""
        while b"penstock: " not in text or not text.endswith(b"\\n"):
            text += os.read(read, 4096)
        os.write(shown, text)
        os.dup2(shown, 2)
        told.set()
    threading.Thread(target=listen, daemon=True).start()
"""


def test_functions_that_do_not_end_are_named_with_their_elements():
    done = run_script(
        LISTENING
        + """
    from penstock import _core
    _core.set_exit_patience(0.02)
    left = threading.Semaphore(0)
    def stuck(name, number):
        if number == 1:
            left.release()
            told.wait()
        return number
    def lines():
        yield 0
        left.release()
        told.wait()
    pairs = Dataset.from_tensor_slices((np.array(["a.jpg", "b.jpg"], dtype=object), [0, 1]))
    its = [
        iter(pairs.map(stuck, num_parallel_calls=1, name="decode")),
        iter(pairs.map(stuck).prefetch(2)),
        iter(Dataset.from_generator(lines).prefetch(2)),
    ]
    for it in its:
        threading.Thread(target=list, args=(it,), daemon=True).start()
    for _ in its:
        left.acquire()
    """
    )
    # The threads that were asking may have something to say, too.
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("penstock: ")]
    assert "the process waits for a function that is still running in stage " in line
    assert "map(stuck, name='decode'), element 1 ('b.jpg', 1)" in line
    assert "map(stuck), element 1 ('b.jpg', 1)" in line
    assert "from_generator(lines), element 1" in line
    assert done.returncode == 0
