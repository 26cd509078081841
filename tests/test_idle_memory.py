"""Memory of batches goes back to the system soon after the last iterator is gone."""

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
        wait_until(lambda: resident() < before + 40 * MB)
        """)
    assert done.returncode == 0, done.stderr
