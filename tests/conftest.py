"""What all tests share."""

import os

import pytest

import penstock as ps

pytest_plugins = ["installing"]


@pytest.fixture(autouse=True)
def no_seed_is_left():
    yield
    ps.random.set_seed(None)


@pytest.fixture(autouse=True, scope="session")
def threads_do_not_pile_up():
    yield
    # Some idle ones are kept for the next run; a test that leaked would have left hundreds.
    assert len(os.listdir("/proc/self/task")) < 400  # noqa: PTH208
