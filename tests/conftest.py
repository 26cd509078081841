"""Shared configuration of all tests."""

import gc
import importlib.util
import inspect
import os
import re
import signal

import pytest

import penstock as ps
from nightly import NIGHTLY

pytest_plugins = ["installing"]

# An example may be slow on a loaded machine; pytest's timeout ends hanging tests.
if importlib.util.find_spec("hypothesis"):
    from hypothesis import settings

    settings.register_profile("penstock", deadline=None)
    settings.load_profile("penstock")

# These helpers compare with plain asserts.
pytest.register_assert_rewrite("jax_rows", "torch_datasets")

# A shell that starts tests in the background makes them ignore Ctrl-C; its tests need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The beginning of pytest.importorskip's reason.
NOT_INSTALLED = "could not import"

# Read when Keras is imported, which otherwise selects TensorFlow.
os.environ.setdefault("KERAS_BACKEND", "jax")

# The error of a build without a codec.
LACKS_CODEC = re.compile(
    r"needs zlib, and penstock was built without it|built without lib(jpeg|png)"
)
HAS_ALL_CODECS = all(ps.build_info()[name]["native"] for name in ("jpeg", "png", "zlib"))


def pytest_addoption(parser):
    parser.addoption(
        "--frameworks",
        action="store_true",
        help="the frameworks for training must be here: a test that cannot import one fails",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="each test with the first of its cases only, and none that is marked slow",
    )


def pytest_pycollect_makeitem(collector, obj):
    """Collect nothing for a contract test if the class lacks a value for it."""
    needed = getattr(obj, "needs", None) if inspect.isfunction(obj) else None
    return [] if needed and not getattr(collector.obj, needed) else None


def pytest_collection_modifyitems(config, items):
    quick = config.getoption("--quick")
    skipped, tests = [], set()
    for item in items:
        test = item.nodeid.split("[")[0]
        if (item.get_closest_marker("nightly") and not NIGHTLY) or (
            quick and (test in tests or item.get_closest_marker("slow"))
        ):
            skipped.append(item)
        tests.add(test)
    if skipped:
        config.hook.pytest_deselected(items=skipped)
        chosen = set(items).difference(skipped)
        items[:] = [item for item in items if item in chosen]


def fail_without_framework(report, config):
    """Return the report of a skipped test or file as failed, if its framework is required."""
    if report.skipped and config.getoption("--frameworks"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if NOT_INSTALLED in reason:
            report.outcome, report.longrepr = "failed", reason
    return report


def pytest_collection_finish():
    # Twenty thousand tests are very many objects: exclude them from later collections.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return fail_without_framework((yield), collector.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return fail_without_framework((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:
        found = LACKS_CODEC.search(str(error))
        if HAS_ALL_CODECS or not found:
            raise
        pytest.skip(found[0])


@pytest.fixture(autouse=True)
def no_seed_is_left():
    yield
    ps.random.set_seed(None)


@pytest.fixture(autouse=True, scope="session")
def threads_do_not_pile_up():
    yield
    # Several idle threads are kept for the next run; a leaking test would have left hundreds.
    assert len(os.listdir("/proc/self/task")) < 400  # noqa: PTH208
