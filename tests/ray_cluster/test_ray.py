"""distribute on a real Ray cluster: killed workers and nodes, errors, states, memory."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

# Must precede the import of Ray: workers can import this module, and a killed node is noticed soon.
os.environ |= {
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
}
ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

KILLS = int(os.environ.get("PENSTOCK_KILLS", "12"))
NODES = int(os.environ.get("PENSTOCK_NODE_KILLS", "1"))
# With many kills requested, nothing else uses the CPUs.
RECOVERY_SECONDS = 5.0 if "PENSTOCK_KILLS" in os.environ else 60.0
STORE = {"object_store_memory": 100 << 20}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 4 * KILLS + 10 * NODES)]


@pytest.fixture(scope="module")
def cluster():
    """Start a head node without CPUs, and two nodes with one each."""
    head = {"num_cpus": 0, "include_dashboard": False, **STORE}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    made.nodes = [made.add_node(num_cpus=1, **STORE) for _ in range(2)]
    ray.init(address=made.address, log_to_driver=False)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def with_process(x):
    time.sleep(0.002)
    return x, os.getpid()


def fails(x):
    if x == 21:
        raise KeyError("21 is no key")
    return x


def dies(x):
    if x == 21:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


class Reader:
    """Checks that elements equal those of `Dataset.counter`, and measures the longest wait."""

    def __init__(self, it):
        self.it = it
        self.expected = 0
        self.longest = 0.0
        self.process = 0

    def take(self, count):
        for _ in range(count):
            began = time.monotonic()
            element, self.process = next(self.it)
            if self.expected > 0:
                self.longest = max(self.longest, time.monotonic() - began)
            assert int(element) == self.expected
            self.expected += 1


def test_killed_workers_lose_and_repeat_nothing(cluster):
    seed = random.randrange(10**6)
    print("seed", seed)
    draw = random.Random(seed)
    work = ps.Dataset.counter().map(with_process).distribute(num_workers=2, split=8)
    killed = 0
    before = set()
    with iter(work) as it:
        reader = Reader(it)
        while killed < KILLS:
            reader.take(draw.randrange(10, 60))
            if (process := int(reader.process)) in before:  # it made the element before it died
                continue
            os.kill(process, signal.SIGKILL)
            before.add(process)
            killed += 1
        reader.take(200)
        lost = it.stats()[0]["retries"]
        print(f"{killed} kills, longest wait {reader.longest:.2f} s, {lost} lost")
        assert lost >= killed - 1
    assert reader.longest <= RECOVERY_SECONDS


def test_killed_nodes_lose_and_repeat_nothing(cluster):
    draw = random.Random(5)
    work = ps.Dataset.counter().map(with_process).distribute(num_workers=2, split=8)
    with iter(work) as it:
        reader = Reader(it)
        for _ in range(NODES):
            reader.take(200)
            node = cluster.nodes.pop(draw.randrange(len(cluster.nodes)))
            cluster.remove_node(node, allow_graceful=False)
            reader.take(200)
            cluster.nodes.append(cluster.add_node(num_cpus=1, **STORE))
            reader.take(200)
        print(f"{NODES} nodes, longest wait {reader.longest:.2f} s")
    assert reader.longest <= RECOVERY_SECONDS


@pytest.mark.parametrize("deterministic", [True, False])
def test_the_elements_are_those_of_one_process(cluster, deterministic):
    ds = ps.Dataset.range(300).shuffle(90).map(lambda x: (x, ps.random.uniform((3,)))).batch(4)
    it = iter(ds.distribute(num_workers=2, deterministic=deterministic))
    alone = iter(ds)
    alone.set_state(it.get_state())
    expected = [(x.tolist(), draws.tolist()) for x, draws in alone]
    got = [(x.tolist(), draws.tolist()) for x, draws in it]
    assert got == expected if deterministic else sorted(got) == sorted(expected)


def test_a_state_of_ray_workers_goes_on_without_them(cluster):
    ds = ps.Dataset.range(100).shuffle(50).map(lambda x: x * 3).batch(3)
    it = iter(ds.distribute(num_workers=2))
    first = [next(it).tolist() for _ in range(7)]
    state = it.get_state()
    rest = [batch.tolist() for batch in it]
    alone = iter(ds)
    alone.set_state(state)
    assert [batch.tolist() for batch in alone] == rest
    assert sorted(itertools.chain(*first, *rest)) == [3 * x for x in range(100)]
    assert len(state) < 4096


def test_arrays_lie_in_the_store_of_ray(cluster):
    ds = ps.Dataset.range(4).map(lambda x: np.full(10**6, x))
    for i, array in enumerate(ds.distribute(num_workers=1)):
        assert (array == i).all()
        assert not array.flags.owndata
        assert not array.flags.writeable


def test_an_exception_is_itself_with_its_place(cluster):
    it = iter(ps.Dataset.range(50).map(fails).distribute(num_workers=2, split=4))
    assert [int(next(it)) for _ in range(21)] == list(range(21))
    with pytest.raises(KeyError, match="21 is no key") as error:
        next(it)
    notes = "\n".join(error.value.__notes__)
    assert "map(fails), element 21" in notes
    assert "distribute: in Ray worker" in notes
    assert [int(x) for x in it] == list(range(22, 50))


def test_an_element_that_kills_workers_is_a_worker_error(cluster):
    it = iter(ps.Dataset.range(50).map(dies).distribute(num_workers=1, split=4))
    with pytest.raises(ps.WorkerError, match=r"lease 5, elements 20 to 23 .* with 5 workers"):
        list(it)


class Unloadable:
    """An object that can be pickled but not unpickled."""

    def __reduce__(self):
        return int, ("no number",)


def test_workers_that_cannot_start_are_a_worker_error(cluster):
    held = Unloadable()
    it = iter(ps.Dataset.range(5).map(lambda x: (held, x)[1]).distribute(num_workers=1))
    for _ in range(2):
        with pytest.raises(ps.WorkerError, match="worker 0 did not start, 5 times in a row"):
            next(it)


def test_more_workers_than_there_is_room_for_wait_for_it(cluster):
    assert len(list(ps.Dataset.range(40).distribute(num_workers=9, split=2))) == 40


def test_stages_and_torch_come_after_it(cluster):
    ds = ps.Dataset.range(60).shuffle(30).map(lambda x: x * 2)
    it = iter(ds.distribute(num_workers=2, split=4).map(lambda x: x + 1).batch(8).prefetch(2))
    first = [next(it).tolist() for _ in range(3)]
    state = it.get_state()
    rest = [batch.tolist() for batch in it]
    alone = iter(ds.map(lambda x: x + 1).batch(8))
    alone.set_state(state)
    assert [batch.tolist() for batch in alone] == rest
    assert sorted(itertools.chain(*first, *rest)) == [2 * x + 1 for x in range(60)]
    assert len(state) < 2048


CONSUMER = """
import os, sys, ray, penstock as ps
address, index, log, slow = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
ray.init(address=address, log_to_driver=False)
def noted(x):
    import os, time
    with open(log, "a") as out:
        out.write(f"{x}\\n")
    time.sleep(0.01)
    return x * 3
import time
ds = ps.Dataset.range(300).map(noted)
work = ds.distribute(
    num_workers=2, split=4, lease_timeout=8.0,
    shared=True, name=log, num_consumers=2, consumer_index=index,
)
for x in work.shard_evenly(2, index):
    print(int(x), flush=True)
    time.sleep(slow)
"""


def consumer(cluster, index, log, slow=0.0):
    return subprocess.Popen(
        [sys.executable, "-c", CONSUMER, cluster.address, str(index), str(log), str(slow)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_share_a_job(cluster, tmp_path):
    log = tmp_path / "calls"
    running = [consumer(cluster, index, log) for index in range(2)]
    for index, process in enumerate(running):
        came, _ = process.communicate(timeout=100)
        assert [int(line) for line in came.split()] == [3 * x for x in range(index, 300, 2)]
    assert sorted(int(line) for line in log.read_text().split()) == list(range(300))


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_consumer_takes_nothing_with_it(cluster, tmp_path, victim):
    log = tmp_path / "calls"
    running = [consumer(cluster, index, log, slow=0.01) for index in range(2)]
    lines = [running[victim].stdout.readline() for _ in range(10)]
    running[victim].kill()
    running[victim].communicate()
    assert [int(line) for line in lines] == [3 * x for x in range(victim, 20, 2)]
    came, _ = running[1 - victim].communicate(timeout=100)
    assert [int(line) for line in came.split()] == [3 * x for x in range(1 - victim, 300, 2)]


def test_a_killed_coordinator_is_replaced(cluster, tmp_path):
    work = (
        ps.Dataset.range(200)
        .map(with_process)
        .distribute(
            num_workers=2,
            split=4,
            shared=True,
            name="replaced",
            num_consumers=1,
            consumer_index=0,
            lease_timeout=8.0,
        )
    )
    with iter(work) as it:
        first = [int(next(it)[0]) for _ in range(50)]
        ray.kill(ray.get_actor("penstock.distribute replaced", namespace="penstock"))
        assert first + [int(x) for x, _ in it] == list(range(200))


def test_killed_workers_of_a_shared_job(cluster):
    work = (
        ps.Dataset.range(600)
        .map(with_process)
        .distribute(
            num_workers=2,
            split=8,
            shared=True,
            name="kills",
            num_consumers=1,
            consumer_index=0,
        )
    )
    got = []
    with iter(work) as it:
        for element, process in it:
            got.append(int(element))
            if len(got) in (100, 300):
                os.kill(int(process), signal.SIGKILL)
    assert got == list(range(600))


def test_options_that_distribute_decides_are_refused():
    with pytest.raises(TypeError, match="max_restarts is decided by distribute"):
        ps.Dataset.range(3).distribute(num_workers=1, max_restarts=3)


def test_ctrl_c_ends_the_wait_and_the_next_call_goes_on(cluster):
    program = f"""
import os, signal, threading, time, ray, penstock as ps
ray.init(address={cluster.address!r}, log_to_driver=False)
def slow(x):
    time.sleep(1.0 if x == 3 else 0.0)
    return x
it = iter(ps.Dataset.range(6).map(slow).distribute(num_workers=1, split=3))
got = [int(next(it)) for _ in range(3)]
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(it)
except KeyboardInterrupt:
    print("interrupted")
print(got + [int(x) for x in it])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.split("\n")[:2] == ["interrupted", "[0, 1, 2, 3, 4, 5]"], done.stderr


def test_actors_end_with_the_iterator(cluster):
    it = iter(ps.Dataset.counter().map(with_process).distribute(num_workers=2))
    processes = {int(next(it)[1]) for _ in range(100)}
    it.close()
    for process in processes:
        deadline = time.monotonic() + 60
        while not ended(process):
            assert time.monotonic() < deadline, f"actor {process} goes on"
            time.sleep(0.02)


def ended(process):
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"
