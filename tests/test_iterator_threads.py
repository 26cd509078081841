"""Several threads close, restore, read and save one iterator at the same time."""

import contextlib
import threading
import time

import penstock as ps
from scripts import run_script


# After an interleave, a restored run starts threads immediately, which call a user function.
def test_methods_of_one_iterator_in_six_threads_all_return():
    done = run_script("""
        import random

        sys.setswitchinterval(1e-5)

        def nap(x):
            time.sleep(0.0005)
            return x

        it = iter(Dataset.range(10**6).interleave(
            lambda x: Dataset.range(5).map(nap), cycle_length=2, num_parallel_calls=2))
        next(it)
        state = it.get_state()
        methods = [
            lambda: next(it, None), it.close, lambda: it.set_state(state), it.get_state, it.stats,
            lambda: [x for x, _ in zip(it, range(3))],
        ]

        def work(number):
            rng = random.Random(number)
            for _ in range(80):
                try:
                    rng.choice(methods)()
                except ValueError as error:
                    assert "get_state: the iterator is closed" in str(error), error

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        it.set_state(state)
        print(int(next(it)))
        it.close()
        assert next(it, None) is None
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_a_state_and_a_profile_get_in_beside_a_tight_loop():
    # The loop is almost always inside, except for moments in which it holds the GIL.
    it = iter(ps.Dataset.range(10**12).map(lambda x: time.sleep(0.0005) or x))
    inside = []

    def enter():
        inside.append(it.get_state())
        with contextlib.suppress(ValueError), ps.profile(it):  # perhaps nothing was taken
            inside.append(None)

    thread = threading.Thread(target=enter)
    thread.start()
    limit = time.monotonic() + 60
    for _ in it:
        if len(inside) == 2:
            break
        assert time.monotonic() < limit
    thread.join()
    it.close()


def test_a_signal_handler_may_use_the_iterator_that_its_thread_waits_for():
    done = run_script("""
        inside, go = threading.Event(), threading.Event()

        def stand(x):
            if x == 1:
                inside.set()
                go.wait()
            return x

        it = iter(Dataset.range(10).map(stand))
        assert next(it) == 0
        thread = threading.Thread(target=lambda: print(int(next(it))))
        thread.start()
        inside.wait()

        def handle(*_):
            go.set()  # what comes then is for the thread that is inside
            thread.join()
            print(int(next(it)))

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        it.get_state()
        print(int(next(it)))
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n2\n3\n", "")


def test_one_thread_wakes_for_each_element_of_a_shared_iterator():
    done = run_script("""
        import resource
        n = 2000
        ds = Dataset.range(n).map(lambda x: x + 1, num_parallel_calls=2).prefetch(4)
        it, got, begin = iter(ds), [], threading.Barrier(100)

        def work():
            begin.wait()
            for x in it:
                got.append(int(x))

        threads = [threading.Thread(target=work) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Each time that a thread went to sleep.
        slept = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        print(sorted(got) == list(range(1, n + 1)), slept < 25 * n, slept)
    """)
    assert done.stdout.split()[:2] == ["True", "True"], (done.stdout, done.stderr)


def test_a_close_that_waits_for_a_function_can_be_interrupted():
    done = run_script("""
        begun, go = threading.Event(), threading.Event()

        def stuck(x):
            begun.set()
            go.wait()
            return x

        for ds in (
            Dataset.range(3).map(stuck, num_parallel_calls=2),
            Dataset.range(3).map(stuck).prefetch(2),
            Dataset.range(2).interleave(
                lambda x: Dataset.range(3).map(stuck), cycle_length=2, num_parallel_calls=2),
        ):
            begun.clear()
            go.clear()
            it = iter(ds)
            threading.Thread(target=next, args=(it, None)).start()
            begun.wait()
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            try:
                it.close()
                print("closed")
            except KeyboardInterrupt:
                print(next(it, "over"))
            go.set()
            it.close()
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n" * 3, "")
