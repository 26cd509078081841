"""Counters with stable names: of an iterator, of all iterators as text, and on a port."""

import gc
import re
import socket
import threading
import urllib.error
import urllib.request

import pytest

import penstock as ps
from scripts import run_script

NAMES = {
    *(
        "elements_total",
        "errors_total",
        "retries_total",
        "busy_seconds_total",
        "wait_seconds_total",
    ),
    *("buffer_elements", "buffer_limit_elements", "parallel_calls"),
}
LINE = re.compile(r'penstock_(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (-?[\d.e+-]+)')


def parsed(text):
    """Return the contents of sample lines: names, labels, and values."""
    found = []
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = LINE.fullmatch(line).groups()
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)
            found.append((name, dict(pairs), float(value)))
    return found


def named(name):
    options = ps.Options()
    options.dataset_name = name
    return ps.Dataset.range(10).map(abs, 2, name="size").batch(5).with_options(options)


def test_an_iterator_has_counters_of_its_stages():
    it = iter(named("one"))
    assert it.metrics() == []
    list(it)
    batch, calls, source = it.metrics()
    assert set(batch) == NAMES | {"dataset", "path", "kind", "name", "function"}
    assert (batch["elements_total"], calls["elements_total"], source["elements_total"]) == (
        2,
        10,
        10,
    )
    assert calls["parallel_calls"] == 2
    assert (calls["dataset"], calls["name"], calls["function"]) == ("one", "size", "abs")
    assert batch["path"] == "0"


def test_errors_are_counted():
    def odd(x):
        if x % 2 == 0:
            raise ValueError(x)
        return x

    it = iter(ps.Dataset.range(10).map(odd, on_error="skip"))
    assert len(list(it)) == 5
    assert it.metrics()[1]["errors_total"] == 5


def test_the_text_has_all_datasets_and_parses():
    first, second = iter(named('a "quoted"\\ name\n')), iter(named("two"))
    next(first), list(second)
    text = ps.metrics.prometheus()
    samples = [
        each for each in parsed(text) if each[1].get("dataset") in (r"a \"quoted\"\\ name\n", "two")
    ]
    assert {name for name, _, _ in samples} == NAMES
    batches = {
        labels["dataset"]: value
        for name, labels, value in samples
        if name == "elements_total" and labels["kind"] == "batch"
    }
    assert batches == {r"a \"quoted\"\\ name\n": 1, "two": 2}
    for name in NAMES:
        assert text.count(f"# TYPE penstock_{name} ") == text.count(f"# HELP penstock_{name} ") == 1


def counted(metric, /, **labels):
    """Return the only value of a metric with these labels, or None if there is none."""
    samples = parsed(ps.metrics.prometheus())
    found = [v for name, own, v in samples if name == metric and labels.items() <= own.items()]
    assert len(found) <= 1, found
    return found[0] if found else None


def left(it):
    """Drop an iterator after its first element, in a cycle that the collector finds."""
    next(it)
    ps.metrics.prometheus()
    cycle = [it]
    cycle.append(cycle)


ENDS = {
    "whole": list,
    "shown": lambda it: list(ps.progress(it)),
    "closed": lambda it: (next(it), it.close()),
    "dropped": lambda it: (next(it), ps.metrics.prometheus()),
    "collected": left,
}


@pytest.mark.parametrize("how", ENDS)
def test_epochs_of_a_named_dataset_have_one_label(how):
    for _ in range(3):
        ENDS[how](iter(named(how)))  # a new object in each epoch
        gc.collect()
    each = 2 if how in ("whole", "shown") else 1
    assert counted("elements_total", dataset=how, kind="batch") == 3 * each
    it = iter(named(how))
    next(it)
    assert counted("elements_total", dataset=how, kind="batch") == 3 * each + 1
    assert counted("parallel_calls", dataset=how, name="size") == 2
    it.close()
    it.close()
    assert counted("elements_total", dataset=how, kind="batch") == 3 * each + 1


def test_epochs_of_a_dataset_without_a_name_have_one_label():
    ds = ps.Dataset.range(6).batch(2, name="mine")
    for _ in range(2):
        list(ds)
    it = iter(ds)
    next(it)
    assert counted("elements_total", name="mine") == 7
    numbers = {
        labels["dataset"]
        for _, labels, _ in parsed(ps.metrics.prometheus())
        if labels.get("name") == "mine"
    }
    assert len(numbers) == 1
    del it, ds
    gc.collect()
    assert counted("elements_total", name="mine") is None


def test_iterators_at_the_same_time_are_added_up():
    ds = named("both")
    first, second = iter(ds), iter(ds)
    next(first), next(second)
    assert counted("elements_total", dataset="both", kind="batch") == 2
    assert counted("parallel_calls", dataset="both", name="size") == 4


def test_elements_that_penstock_inspects_are_not_counted():
    ds = named("looked").map(lambda x: x + 1)
    ds.element_spec
    ds.lint()
    assert "looked" not in ps.metrics.prometheus()


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "localhost"])
def test_the_address_is_chosen(host):
    it = iter(named("addressed"))
    next(it)
    with ps.metrics.serve(host=host) as server:
        with urllib.request.urlopen(server.url) as answer:
            assert 'dataset="addressed"' in answer.read().decode()
        request = "GET /metrics HTTP/1.1\r\nHost: trainer.example\r\n\r\n"
        status = asked(server, request)[0].split()[1]
    assert status == ("200" if host == "0.0.0.0" else "403")


@pytest.mark.parametrize("host", ["", None, 5])
def test_a_host_is_a_nonempty_string(host):
    with pytest.raises(TypeError, match="serve: host must be a str"):
        ps.metrics.serve(host=host)


def test_a_child_process_begins_without_counters():
    done = run_script("""
        ps.metrics.prometheus()
        it = iter(Dataset.range(6).batch(2, name="mine"))
        next(it)
        child = os.fork()
        if child == 0:
            os._exit("mine" in ps.metrics.prometheus())
        print(os.waitpid(child, 0)[1])
    """)
    assert done.stdout == "0\n"


def test_counters_are_read_while_others_iterate():
    ds = named("busy").repeat(500)
    seen = []

    def look():
        while not done:
            seen.extend(value for name, labels, value in parsed(ps.metrics.prometheus()))

    done = []
    reader = threading.Thread(target=look)
    reader.start()
    assert sum(1 for _ in ds) == 1000
    done.append(True)
    reader.join()
    assert seen


def test_the_text_is_served():
    it = iter(named("served"))
    next(it)
    with ps.metrics.serve() as server:
        assert server.url == f"http://127.0.0.1:{server.port}/metrics"
        with urllib.request.urlopen(server.url) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert 'dataset="served"' in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/none")
        with pytest.raises(OSError, match="in use"):
            ps.metrics.serve(server.port)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(server.url)
    with pytest.raises(ValueError, match=r"serve: port must be in \[0, 65535\], got 70000"):
        ps.metrics.serve(70000)


@pytest.mark.parametrize("port", ["9400", None, 1.5, True])
def test_a_port_is_an_int(port):
    with pytest.raises(TypeError, match=f"serve: port must be an int, got {port!r}"):
        ps.metrics.serve(port)


def test_a_name_that_is_no_text_does_not_hide_the_others():
    others = [iter(named("\udcff")), iter(named("plain"))]
    for it in others:
        next(it)
    with ps.metrics.serve() as server, urllib.request.urlopen(server.url) as answer:
        text = answer.read().decode()
    assert 'dataset="\\\\udcff"' in text
    assert 'dataset="plain"' in text


def asked(server, request):
    """Return the status and the text that a server sends before it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(request.encode())
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, text = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), text.decode()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:9400", 200),
        ("localhost", 200),
        ("LocalHost:80", 200),
        ("[::1]:9400", 200),
        ("evil.example", 403),
        ("evil.example:9400", 403),
        ("127.0.0.1.evil.example", 403),
        ("user@evil.example", 403),
        ("127.0.0.1\r\nHost: evil.example", 403),
        ("[", 403),
        ("", 403),
    ],
)
def test_only_hosts_of_the_loopback_address_are_answered(host, status):
    it = iter(named("hosted"))
    next(it)
    with ps.metrics.serve() as server:
        first, text = asked(server, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n")
    assert first.startswith(f"HTTP/1.1 {status} ")
    assert ("hosted" in text) == (status == 200)


def test_requests_of_other_kinds():
    with ps.metrics.serve() as server:
        host = "HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert asked(server, f"HEAD / {host}") == ("HTTP/1.1 200 OK", "")
        assert asked(server, f"POST / {host}")[0] == "HTTP/1.1 405 Method Not Allowed"
        assert asked(server, f"GET http://evil.example/metrics {host}")[0].endswith("Not Found")
        assert asked(server, "GET /metrics HTTP/1.0\r\n\r\n")[0] == "HTTP/1.1 200 OK"
        assert asked(server, "\r\n\r\n")[0] == "HTTP/1.1 405 Method Not Allowed"
        assert asked(server, f"GET /{'x' * (1 << 14)} {host}") == ("", "")


def test_silent_connections_have_no_threads_and_end_with_the_server():
    before = set(threading.enumerate())
    with ps.metrics.serve() as server:
        silent = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(20)]
        silent[0].sendall(b"GET /metrics HTTP/1.1\r\nHost:")
        assert asked(server, "GET / HTTP/1.0\r\n\r\n")[0] == "HTTP/1.1 200 OK"
        assert len(set(threading.enumerate()) - before) == 1
    assert set(threading.enumerate()) <= before
    for each in silent:
        with each:
            assert each.recv(1) == b""
    server.close()


def test_a_silent_connection_is_closed(monkeypatch):
    monkeypatch.setattr(ps.metrics, "_PATIENCE", 0.05)
    with ps.metrics.serve() as server:
        with socket.create_connection(("127.0.0.1", server.port), 10) as silent:
            assert silent.recv(1) == b""
        assert asked(server, "GET / HTTP/1.0\r\n\r\n")[0] == "HTTP/1.1 200 OK"


def test_the_speed_of_a_loop_is_logged():
    seen = []
    logged = ps.metrics.log(named("logged").repeat(5), seen.append, every=4)
    assert len(logged) == 10
    for _ in range(2):
        assert len(list(logged)) == 10
    assert [numbers["input/elements"] for numbers in seen] == [4, 8, 10, 14, 18, 20]
    for numbers in seen:
        assert all(isinstance(value, (int, float)) for value in numbers.values())
        assert 0 <= numbers["input/wait_share"] <= 1
        assert numbers["input/elements_per_second"] > 0
    assert seen[-1]["input/repeat_0/elements_total"] == 10


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: [1, 2, 3], None),
        (lambda: iter([1, 2, 3]), None),
        (lambda: ps.DataLoader([1, 2, 3]), "input/DataLoader_0/elements_total"),
    ],
)
def test_the_speed_of_any_loop_is_logged(make, key):
    seen = []
    assert len(list(ps.metrics.log(make(), seen.append, every=2))) == 3
    assert [numbers["input/elements"] for numbers in seen] == [2, 3]
    assert key is None or seen[-1][key] == 3


def test_an_error_of_the_callback_is_raised_in_the_loop():
    def fails(numbers):
        raise RuntimeError("no logger")

    with pytest.raises(RuntimeError, match="no logger"):
        list(ps.metrics.log([1, 2], fails, every=1))


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((3, print), TypeError, "log: iterable must be an iterable, got 3"),
        (([1], None), TypeError, "log: callback must be callable, got None"),
        (([1], print, 0), ValueError, "log: every must be >= 1, got 0"),
        (([1], print, 1.5), TypeError, "log: every must be an int"),
    ],
)
def test_wrong_arguments_of_log(arguments, error, said):
    iterable, callback, *every = arguments
    with pytest.raises(error, match=said):
        ps.metrics.log(iterable, callback, **({"every": every[0]} if every else {}))
