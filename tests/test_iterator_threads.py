"""Several threads close, restore, read and save one iterator at the same time."""

from scripts import run_script


# Behind an interleave a restored run has threads at once, which call a function of the user.
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
