"""worker_init and worker_teardown: each worker process calls them once."""

import os
import sys

import pytest

import penstock as ps
from worker_programs import NO_CLOUDPICKLE, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

STATE = {}


def begin():
    STATE[os.getpid()] = STATE.get(os.getpid(), 0) + 1


def ready(x=None):
    return STATE.get(os.getpid(), 0)


def is_ready(x):
    return ready() == 1


def generated():
    yield ready()
    yield ready()


def stages(**options):
    numbers = ps.Dataset.range(6)
    return {
        "map": numbers.map(ready, **options),
        "parallel map": numbers.map(ready, num_parallel_calls=2, **options),
        "filter": numbers.filter(is_ready, **options).map(lambda x: 1),
        "parallel filter": numbers.filter(is_ready, num_parallel_calls=2, **options).map(
            lambda x: 1
        ),
        "from_generator": ps.Dataset.from_generator(generated, **options),
        "prefetch": ps.prefetch(generated, **{k: v for k, v in options.items() if k != "on_error"}),
        "nested": numbers.flat_map(
            lambda _: ps.Dataset.from_generator(generated, **options).take(1)
        ),
    }


NAMES = ["map", "parallel map", "filter", "parallel filter", "from_generator", "prefetch", "nested"]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_called_once_in_each_worker_before_the_first_call(name):
    ds = stages(executor="process", worker_init=begin)[name]
    for _ in range(2):
        assert {int(x) for x in ds} == {1}
    assert os.getpid() not in STATE


def test_stages_with_the_same_function_share_its_call():
    options = {"executor": "process", "worker_init": begin, "num_parallel_calls": 2}
    ds = ps.Dataset.range(8).filter(is_ready, **options).map(ready, **options)
    assert [int(x) for x in ds] == [1] * 8


def test_functions_pickled_by_value_share_their_global_variables(tmp_path):
    code, out, err = run(
        tmp_path,
        "model = {}\n"
        "big = np.arange(100_000)\n"
        "def load(): model['calls'] = model.get('calls', 0) + 1\n"
        "def use(x): return model['calls']\n"
        "def use_array(x): return model['calls'] + big[0]\n"
        "def gen(): yield model['calls']\n"
        "more = dict(executor='process', worker_init=load)\n"
        "numbers = ps.Dataset.range(3)\n"
        "generated = ps.Dataset.from_generator(gen, **more)\n"
        "for ds in (numbers.map(use, **more), numbers.map(use_array, **more), generated):\n"
        "    print(*({int(x) for x in ds} | {int(x) for x in ds}))\n",
    )
    assert (code, out, err) == (0, "1\n1\n1\n", "")


def fails():
    raise OSError("no such model")


@pytest.mark.parametrize("name", ["map", "parallel map", "filter", "from_generator"])
def test_its_exception_is_raised_and_on_error_skips_nothing(name):
    ds = stages(executor="process", worker_init=fails, on_error="skip")[name]
    with pytest.raises(OSError, match="no such model"):
        list(ds)


@pytest.mark.parametrize("name", ["worker_init", "worker_teardown"])
@pytest.mark.parametrize("executor", [None, "thread", "auto"])
def test_threads_reject_it(name, executor):
    options = {name: begin, "executor": executor}
    numbers = ps.Dataset.range(3)
    message = f"{name} needs executor='process', got executor={executor!r}"
    with pytest.raises(ValueError, match=f"map: {message}"):
        numbers.map(ready, **options)
    with pytest.raises(ValueError, match=f"filter: {message}"):
        numbers.filter(is_ready, **options)
    if executor != "auto":
        with pytest.raises(ValueError, match=f"from_generator: {message}"):
            ps.Dataset.from_generator(generated, **options)
    if executor == "thread":
        with pytest.raises(ValueError, match=f"prefetch: {message}"):
            ps.prefetch(generated, **options)


def test_native_functions_reject_it():
    with pytest.raises(ValueError, match="map: worker_init is for worker processes, and a native"):
        ps.Dataset.range(3).map(ps.native(lambda x: x + 1), executor="process", worker_init=begin)


def test_functions_that_cannot_be_pickled_are_named():
    lock = __import__("threading").Lock()
    with pytest.raises(TypeError, match="map: worker_init is sent to worker processes, and"):
        ps.Dataset.range(3).map(ready, executor="process", worker_init=lambda: lock)


def test_other_libraries_names_are_explained():
    with pytest.raises(TypeError, match="worker_init"):
        ps.Dataset.range(3).map(ready, executor="process", worker_init_fn=begin)


def test_states_do_not_depend_on_it():
    plain = ps.Dataset.range(6).map(ready, executor="process")
    given = ps.Dataset.range(6).map(ready, executor="process", worker_init=begin)
    it = iter(plain)
    next(it)
    other = iter(given)
    other.set_state(it.get_state())
    assert len(list(other)) == 5
    it = iter(ps.Dataset.from_generator(generated))
    next(it)
    other = iter(ps.Dataset.from_generator(generated, executor="process", worker_init=begin))
    other.set_state(it.get_state())
    assert len(list(other)) == 1


TEARDOWN = """
def begin():
    print("begin", flush=True)
def finish():
    print("end", flush=True)
def finish_badly():
    raise ValueError("cannot end")
def same(x): return x
def gen(): yield 1
"""


@pytest.mark.parametrize("cloudpickle", [True, False])
def test_the_teardown_is_called_when_the_program_ends(tmp_path, cloudpickle):
    from worker_programs import HEAD

    code, out, err = run(
        tmp_path,
        TEARDOWN + "if __name__ == '__main__':\n"
        "    more = dict(executor='process', worker_init=begin, worker_teardown=finish)\n"
        "    print(len(list(ps.Dataset.range(3).map(same, **more))), flush=True)\n",
        ("" if cloudpickle else NO_CLOUDPICKLE) + HEAD,
    )
    assert (code, out, err) == (0, "begin\n3\nend\n", "")


@pytest.mark.slow
def test_the_teardown_is_called_when_an_idle_worker_ends(tmp_path):
    code, out, err = run(
        tmp_path,
        TEARDOWN + "more = dict(executor='process', worker_init=begin, worker_teardown=finish)\n"
        "print(len(list(ps.Dataset.from_generator(gen, **more))), flush=True)\n"
        "(pid,) = _core.idle_workers()\n"
        "while os.path.exists(f'/proc/{pid}'): time.sleep(0.05)\n"
        "print('gone', flush=True)\n",
    )
    assert (code, out, err) == (0, "begin\n1\nend\ngone\n", "")


def test_a_teardown_that_fails_is_printed_and_the_others_are_called(tmp_path):
    code, out, err = run(
        tmp_path,
        TEARDOWN + "more = dict(executor='process', num_parallel_calls=1)\n"
        "ds = ps.Dataset.range(3).map(same, worker_teardown=finish, **more)\n"
        "ds = ds.map(same, worker_teardown=finish_badly, **more)\n"
        "print(len(list(ds)), flush=True)\n",
    )
    assert code == 0
    assert out.startswith("3\nend")
    assert "ValueError: cannot end" in err


def test_debugging_calls_it_once_in_this_process(tmp_path):
    code, out, err = run(
        tmp_path,
        TEARDOWN + "more = dict(executor='process', worker_init=begin, worker_teardown=finish)\n"
        "with ps.experimental.debug_mode():\n"
        "    print(len(list(ps.Dataset.range(3).map(same, **more))), flush=True)\n"
        "    print(len(list(ps.Dataset.from_generator(gen, **more))), flush=True)\n",
    )
    assert (code, out, err) == (0, "begin\n3\n1\nend\n", "")
