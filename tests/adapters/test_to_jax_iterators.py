"""Iterators of Dataset.to_jax: positions, prefetched batches, ends, memory over many iterators."""

import gc
import threading

import numpy as np
import pytest

import penstock as ps
from ends import ENDS, end
from process import busy, reads_memory, resident
from scripts import Gate, run_script, wait_until

jax = pytest.importorskip("jax")

from jax_rows import rows  # noqa: E402  # imports jax

Dataset = ps.Dataset


def tell(batch):
    leaves = jax.tree.leaves(batch)
    return [leaf.tolist() for leaf in leaves]


class TestPosition:
    @pytest.mark.parametrize("prefetch", ["auto", 0, 1, 5])
    @pytest.mark.parametrize(
        "how", [{}, {"pad": True}, {"drop_remainder": False}, {"global_batch": 4}], ids=str
    )
    def test_is_that_of_the_consumer_at_every_step(self, prefetch, how):
        shuffled = rows(18).shuffle(18, seed=3, reshuffle_each_iteration=False)
        batches = shuffled.batch(4).repeat(2).to_jax(prefetch=prefetch, **how)
        whole = [tell(b) for b in batches]
        it = iter(batches)
        for step in range(len(whole) + 1):
            state = it.get_state()
            with iter(batches) as again:
                again.set_state(state)
                assert [tell(b) for b in again] == whole[step:]
            with iter(batches) as again:
                again.load_state_dict(it.state_dict())
                assert [tell(b) for b in again] == whole[step:]
            got = next(it, None)
            assert (got is None) == (step == len(whole))

    @pytest.mark.parametrize("saved", ["auto", 0, 4])
    @pytest.mark.parametrize("restored", ["auto", 0, 4])
    def test_of_a_state_saved_with_another_prefetch(self, saved, restored):
        it = iter(rows().batch(2).to_jax(prefetch=saved))
        next(it)
        other = iter(rows().batch(2).to_jax(prefetch=restored))
        other.set_state(it.get_state())
        assert next(other)["n"].tolist() == [2, 3]

    def test_has_statistics(self):
        it = iter(rows().batch(2).to_jax())
        next(it)
        assert {"batch", "prefetch"} <= {stage["kind"] for stage in it.stats()}


class TestAhead:
    @staticmethod
    def begin(prefetch):
        begun = [threading.Event() for _ in range(6)]

        def load(batch):
            begun[batch[0] // 2].set()
            return batch

        return begun, iter(Dataset.range(12).batch(2).map(load).to_jax(prefetch=prefetch))

    @pytest.mark.parametrize(("prefetch", "ahead"), [("auto", 2), (1, 1), (3, 3)])
    def test_batches_are_loaded_while_the_loop_is_busy(self, prefetch, ahead):
        begun, it = self.begin(prefetch)
        with it:
            for step in range(3):
                assert next(it).tolist() == [2 * step, 2 * step + 1]
                assert begun[min(step + ahead, 5)].wait(60)  # without a call of next()

    def test_nothing_is_loaded_before_it_is_asked_for(self):
        begun, it = self.begin(0)
        assert not begun[0].is_set()
        for step in range(5):
            next(it)
            assert begun[step].is_set()
            assert not begun[step + 1].is_set()


class TestEnds:
    def endless(self):
        return Dataset.counter().batch(4).to_jax(prefetch=3)

    @pytest.mark.parametrize("how", ENDS)
    def test_threads_end(self, how):
        before = threading.active_count()
        end(iter(self.endless()), 1, how)
        gc.collect()
        # Idle threads are kept for the next run for a while: none of them is still in a run.
        wait_until(lambda: not busy())
        assert threading.active_count() <= before + 4

    def test_close_while_next_waits(self):
        gate = Gate()
        it = iter(Dataset.range(4).batch(2).map(gate).to_jax())
        got = []
        consumer = threading.Thread(target=lambda: got.extend(it))
        consumer.start()
        assert gate.inside.wait(60)
        closer = threading.Thread(target=it.close)
        closer.start()
        consumer.join(60)
        assert not consumer.is_alive()
        gate.open.set()
        closer.join(60)
        assert got == []

    def test_arrays_outlive_the_iterator_and_the_dataset(self):
        with iter(Dataset.range(64).batch(32).to_jax()) as it:
            kept = list(it)
        del it
        gc.collect()
        list(Dataset.range(6400).batch(32))  # would overwrite freed memory
        assert [k.tolist() for k in kept] == [list(range(32)), list(range(32, 64))]

    def test_ctrl_c_in_a_waiting_next_is_answered_and_loses_nothing(self):
        run = run_script(
            """
            inside = threading.Event()
            def wait(batch):
                if batch[0] == 4 and not inside.is_set():
                    inside.set()
                    time.sleep(0.5)
                return batch
            import jax
            jax.devices()
            threading.Thread(
                target=lambda: (inside.wait(), time.sleep(0.1), os.kill(os.getpid(), signal.SIGINT))
            ).start()
            it = iter(Dataset.range(12).batch(4).map(wait).to_jax())
            got = []
            while True:
                try:
                    got.append(next(it).tolist())
                except KeyboardInterrupt:
                    got.append("interrupt")
                except StopIteration:
                    break
            print(got)
            """
        )
        assert run.stdout.strip() == str(
            [[0, 1, 2, 3], "interrupt", [4, 5, 6, 7], [8, 9, 10, 11]]
        ), run.stderr


@reads_memory
class TestMemory:
    def test_is_flat_over_a_thousand_iterators(self):
        batches = Dataset.range(64).batch(16).to_jax()

        def run(times):
            for _ in range(times):
                it = iter(batches)
                next(it)

        run(100)
        gc.collect()
        before, threads = resident(), threading.active_count()
        run(1000)
        gc.collect()
        assert resident() - before < 16 << 20
        assert threading.active_count() <= threads + 4

    def test_is_flat_over_ten_epochs(self):
        pixels = np.zeros((256, 64, 64), np.float32)
        batches = Dataset.from_tensor_slices(pixels).shuffle(256, seed=1).batch(32).to_jax()
        for _ in range(3):
            sizes = [len(batch) for batch in batches]
        gc.collect()
        before = resident()
        for _ in range(10):
            for batch in batches:
                sizes.append(batch.shape[0])
        assert set(sizes) == {32}
        assert resident() - before < 16 << 20  # an epoch has 4 MiB
