"""Files of a web server with 20 ms latency, compared with obstore's gather of the same ranges.

The server, in a separate process on the loopback address, holds 512 MiB in 1, 8 or 32 files.
penstock reads all files concurrently, as records of 256 KiB. The engine iterates over them without
Python objects, because obstore's gathered buffers do not become objects either. obstore requests
the same ranges, with the same number of concurrent requests as penstock's limit per store; the note
shows its speed with all of them concurrently. obstore is passed the lengths of the files. penstock
knows them from the untimed first pass, and checks in each first response that they are unchanged.

Then the server fails for 3 seconds (every request with 503, a closed connection, no response at
all). The figure is the time from the end of the failure until the rate over half a second is 90 %
of the previous rate. These files have 100 ms latency, so that the CPU does not limit the rate.

Small files in sequence, and one file over a slow connection that all requests share, are compared
with plain threads that use urllib: 32 for the small files and one for the slow connection.

The last figure is the second epoch from `cache_dir`, compared with the same files on the same disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed
from bench.spread import Spread

TOTAL = 512 << 20
RANGE = 4 << 20  # penstock's request size
RECORD = 256 << 10
LATENCY = 0.02  # seconds
LONG_LATENCY = 0.1  # of files whose name contains "slow"
STREAMS = (1, 8, 32)
AT_A_TIME = 64  # concurrent requests: penstock's default
FAULTS = {"503": "every request is answered by 503", "closed": "every connection is closed"}
FAULTS |= {"silence": "no request is answered"}
FAULTY = 3.0  # seconds
ENOUGH = 0.9  # fraction of the previous rate
SMALL_FILES, SMALL_SIZE = 160, 120 << 10
LINE_RATE = 4 << 20  # bytes per second, all responses together
LINE_SIZE = 12 << 20  # bytes of the file whose name contains "line"


async def serve() -> None:
    """Serve ranges of files whose name encodes their size; the bytes are sent without a copy."""
    loop = asyncio.get_running_loop()
    content = memoryview(bytes(range(256)) * (2 * RANGE // 256))
    fault, faulty_until = "", 0.0
    line_free = 0.0  # when the line has sent everything passed to it

    async def send_slowly(connection: socket.socket, body: memoryview) -> None:
        nonlocal line_free
        for at in range(0, len(body), 16 << 10):
            part = body[at : at + (16 << 10)]
            line_free = max(line_free, loop.time()) + len(part) / LINE_RATE
            await asyncio.sleep(line_free - loop.time())
            await loop.sock_sendall(connection, part)

    async def fails(connection: socket.socket) -> bool:
        if loop.time() > faulty_until:
            return False
        if fault == "silence":
            await asyncio.sleep(3600)
        elif fault == "closed":
            raise ConnectionError
        said = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
        await loop.sock_sendall(connection, said)
        return True

    async def answer(connection: socket.socket) -> None:
        nonlocal fault, faulty_until
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with (
            connection,
            contextlib.suppress(ConnectionError),
        ):  # request cancelled
            while head := (await loop.sock_recv(connection, 1 << 16)).decode():
                if asked := re.match(r"GET /fail-(\w+)", head):
                    fault, faulty_until = asked[1], loop.time() + FAULTY
                    await loop.sock_sendall(connection, b"HTTP/1.1 200 OK\r\n\r\n")
                    return
                if await fails(connection):
                    continue
                slow, size = re.match(r"\w+ /(slow|line)?\d+-(\d+)", head).groups()
                size = int(size)
                await asyncio.sleep(LONG_LATENCY if slow == "slow" else LATENCY)
                found = re.search(r"(?i)range: bytes=(\d+)-(\d+)", head)
                begin, last = map(int, found.groups()) if found else (0, size)
                end = min(last + 1, size)
                status = "206 Partial Content" if found else "200 OK"
                said = (
                    f"HTTP/1.1 {status}\r\nContent-Length: {end - begin}\r\n"
                    f'Content-Range: bytes {begin}-{end - 1}/{size}\r\nETag: "1"\r\n'
                    "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n"
                )
                await loop.sock_sendall(connection, said.encode())
                body = content[begin % RANGE :][: end - begin]
                if slow == "line" and not found:
                    body = memoryview(bytes(end))
                if slow == "line":
                    await send_slowly(connection, body)
                elif not head.startswith("HEAD"):
                    await loop.sock_sendall(connection, body)

    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:
        server.setblocking(False)
        print(server.getsockname()[1], flush=True)
        tasks = set()
        while True:
            connection, _ = await loop.sock_accept(server)
            tasks.add(task := asyncio.create_task(answer(connection)))
            task.add_done_callback(tasks.discard)


def gather(url: str, names: list[str], size: int, at_a_time: int) -> Callable[[], None]:
    import obstore
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(url, client_options={"allow_http": True})

    async def everything() -> None:
        slots = asyncio.Semaphore(at_a_time)

        async def one(name: str, at: int) -> object:
            async with slots:
                end = min(at + RANGE, size)
                return await obstore.get_range_async(store, name, start=at, end=end)

        await asyncio.gather(*(one(name, at) for name in names for at in range(0, size, RANGE)))

    return lambda: asyncio.run(everything())


def read(files: list[str], parallel: int | None, size: int = TOTAL) -> Callable[[], None]:
    """Return a function that iterates over the records of files."""
    records = ps.FixedLengthRecordDataset(files, RECORD, num_parallel_reads=parallel)
    passed = records.skip(size // RECORD)
    return lambda: drain(passed)


def of_streams(url: str, streams: int) -> Figure:
    size = TOTAL // streams
    names = [f"{i}-{size}" for i in range(streams)]
    rounds = interleaved(
        {
            "obstore": timed(gather(url, names, size, AT_A_TIME), TOTAL),
            "penstock": timed(read([f"{url}/{name}" for name in names], streams), TOTAL),
            "at once": timed(gather(url, names, size, TOTAL // RANGE), TOTAL),
        }
    )
    speed = {case: 1e-9 / rounds.seconds(case).median for case in rounds.rounds[0]}
    return Figure(
        f"{streams} remote files at a time: speed / obstore's gather",
        rounds.ratio("obstore", "penstock"),
        "x",
        at_least=0.9,
        note=f"{speed['penstock']:.2f} against {speed['obstore']:.2f} GB/s, all at once "
        f"{speed['at once']:.2f} GB/s",
    )


def recovery(url: str, fault: str) -> float:
    """Return the seconds after a fault until the previous rate is reached again."""
    came: list[float] = []
    begin = time.perf_counter()
    measured, end = begin + 2.0, 0.0
    endless = ps.FixedLengthRecordDataset(f"{url}/slow0-{1 << 40}", RECORD)
    for _ in endless:
        came.append(now := time.perf_counter())
        if not end and now > measured + 2.0:
            end = now + FAULTY
            urllib.request.urlopen(f"{url}/fail-{fault}").close()
        if end and now > end + 8.0:
            break
    enough = ENOUGH * sum(measured < at < measured + 2.0 for at in came) / 4.0
    after = [at for at in came if at > end]
    return next(
        (at - end for i, at in enumerate(after) if sum(x < at + 0.5 for x in after[i:]) >= enough),
        float("inf"),
    )


def of_faults(url: str) -> list[Figure]:
    ps.remote.configure(f"{url}/slow", storage_options={"max_requests": 8})
    return [
        Figure(
            f"{FAULTS[fault]} for {FAULTY:g} s: seconds until the rate is back",
            Spread.of(recovery(url, fault) for _ in range(3)),
            "s",
            at_most=5.0,
        )
        for fault in FAULTS
    ]


def by_threads(urls: list[str], threads: int) -> Callable[[], None]:
    """Return a function that reads files with plain threads."""

    def one(url: str) -> int:
        with urllib.request.urlopen(url) as reply:
            return len(reply.read())

    def everything() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, urls))

    return everything


def of_small_files(url: str) -> Figure:
    urls = [f"{url}/{i}-{SMALL_SIZE}" for i in range(SMALL_FILES)]
    total = SMALL_FILES * SMALL_SIZE
    records = ps.FixedLengthRecordDataset(urls, SMALL_SIZE)
    rounds = interleaved(
        {
            "threads": timed(by_threads(urls, 32), total),
            "penstock": timed(lambda: drain(records), total),
        }
    )
    speed = {case: 1e-6 / rounds.seconds(case).median for case in rounds.rounds[0]}
    return Figure(
        f"{SMALL_FILES} files of {SMALL_SIZE >> 10} KiB in sequence: speed / 32 plain threads",
        rounds.ratio("threads", "penstock"),
        "x",
        at_least=0.9,
        note=f"{speed['penstock']:.0f} against {speed['threads']:.0f} MB/s",
    )


def of_slow_line(url: str) -> Figure:
    file = f"{url}/line0-{LINE_SIZE}"
    rounds = interleaved(
        {
            "thread": timed(by_threads([file], 1), LINE_SIZE),
            "penstock": timed(read([file], None, LINE_SIZE), LINE_SIZE),
        },
        repeats=3,
    )
    speed = {case: 1e-6 / rounds.seconds(case).median for case in rounds.rounds[0]}
    return Figure(
        f"a file over a line of {LINE_RATE >> 20} MiB/s: speed / a plain thread",
        rounds.ratio("thread", "penstock"),
        "x",
        at_least=0.9,
        note=f"{speed['penstock']:.1f} against {speed['thread']:.1f} MB/s",
    )


def of_copies(url: str, folder: Path, count: int) -> Figure:
    size = TOTAL // count
    copies, local = folder / "copies", folder / "local"
    ps.remote.configure(f"{url}/", cache_dir=copies)
    local.mkdir()
    urls = [f"{url}/{i}-{size}" for i in range(count)]
    files = [local / f"{i}" for i in range(count)]
    read(urls, 8)()
    while len(list(copies.glob("*.copy"))) < count:
        time.sleep(0.1)
    for copy, file in zip(copies.glob("*.copy"), files, strict=True):
        shutil.copyfile(copy, file)
    rounds = interleaved(
        {
            "local": timed(read([str(file) for file in files], 8), TOTAL),
            "copies": timed(read(urls, 8), TOTAL),
        },
        repeats=15,
    )
    ps.remote.configure(f"{url}/")
    speed = {case: 1e-9 / rounds.seconds(case).median for case in rounds.rounds[0]}
    return Figure(
        f"second epoch of {count} files from cache_dir: speed / local files",
        rounds.ratio("local", "copies"),
        "x",
        at_least=0.95,
        note=f"{speed['copies']:.2f} against {speed['local']:.2f} GB/s",
    )


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Run the server inside the `with` block; yield its URL."""
    command = [sys.executable, "-m", "bench.pipelines.remote", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.kill()


def run() -> list[Figure]:
    with serving() as url:
        figures = [of_streams(url, streams) for streams in STREAMS]
        figures += of_faults(url)
        figures += [of_small_files(url), of_slow_line(url)]
        for count in (8, 1024):
            with tempfile.TemporaryDirectory() as folder:
                figures.append(of_copies(url, Path(folder), count))
    return figures


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
    else:
        main(run, __doc__)
