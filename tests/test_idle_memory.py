"""The memory of batches is returned to the system soon after the last iterator is freed."""

import platform

import pytest

from process import reads_memory
from scripts import run_script


@pytest.mark.slow
@reads_memory
def test_buffers_are_given_back_when_nobody_uses_them():
    done = run_script("""
        sys.path.insert(0, "tests")
        from process import resident
        from scripts import wait_until
        MB = 1 << 20
        ones = ps.native(lambda x: ps.cast(x, np.float32) + np.ones(MB, np.float32))
        list(Dataset.range(2).map(ones).batch(2))
        before = resident()
        it = iter(Dataset.range(32).map(ones).batch(8).prefetch(4))
        kept = list(it)
        assert resident() > before + 100 * MB, "the test holds nothing"
        del kept
        it.close()
        wait_until(lambda: resident() < before + 40 * MB, 15)
        """)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@reads_memory
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="looks at glibc's malloc")
@pytest.mark.timeout(150)
def test_memory_that_functions_have_freed_returns_to_the_system():
    done = run_script(
        """
        import ctypes

        sys.path.insert(0, "tests")
        from process import resident
        from scripts import wait_until
        MB = 1 << 20

        class Rows:
            def __len__(self):
                return 4000

            def __getitem__(self, i):
                return np.full(30_000, i, np.float32)  # by NumPy, with the C library's malloc

        loader = ps.DataLoader(Rows(), batch_size=256, num_workers=4)
        before = resident()
        it = iter(loader)
        kept = [next(it) for _ in range(8)]
        assert resident() > before + 150 * MB, "the test holds nothing"
        del kept, it
        wait_until(lambda: threading.active_count() == 1, 30)
        left = resident()
        ctypes.CDLL(None).malloc_trim(0)
        assert left - resident() < 20 * MB, "the allocator kept what it could return"
        """,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
