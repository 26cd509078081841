"""Files of a web server that answers after 20 ms, against obstore's own gather of the same ranges.

The server, in a process of its own on the loopback address, holds 512 MiB in 1, 8 or 32 files.
penstock reads all files at a time, as records of 256 KiB, and passes over them in the engine, as
what is gathered is not made into objects of Python either. obstore is asked for all ranges that
penstock asks for, all at once, which is as fast as its requests can be.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
from collections.abc import Callable

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

TOTAL = 512 << 20
RANGE = 4 << 20  # what penstock asks for at a time
RECORD = 256 << 10
LATENCY = 0.02  # seconds
STREAMS = (1, 8, 32)


async def serve() -> None:
    """Answer ranges of files whose size is their name; the bytes are sent without a copy."""
    loop = asyncio.get_running_loop()
    content = memoryview(bytes(range(256)) * (2 * RANGE // 256))

    async def answer(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, contextlib.suppress(ConnectionError):  # the answer is not wanted any more
            while head := (await loop.sock_recv(connection, 1 << 16)).decode():
                size = int(re.match(r"GET /\d+-(\d+)", head)[1])
                begin, last = map(int, re.search(r"(?i)range: bytes=(\d+)-(\d+)", head).groups())
                end = min(last + 1, size)
                await asyncio.sleep(LATENCY)
                said = (
                    f"HTTP/1.1 206 Partial Content\r\nContent-Length: {end - begin}\r\n"
                    f'Content-Range: bytes {begin}-{end - 1}/{size}\r\nETag: "1"\r\n'
                    "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n"
                )
                await loop.sock_sendall(connection, said.encode())
                await loop.sock_sendall(connection, content[begin % RANGE :][: end - begin])

    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:
        server.setblocking(False)
        print(server.getsockname()[1], flush=True)
        tasks = set()
        while True:
            connection, _ = await loop.sock_accept(server)
            tasks.add(task := asyncio.create_task(answer(connection)))
            task.add_done_callback(tasks.discard)


def gather(url: str, names: list[str], size: int) -> Callable[[], None]:
    import obstore
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(url, client_options={"allow_http": True})

    async def everything() -> None:
        ranges = [
            obstore.get_range_async(store, name, start=at, end=min(at + RANGE, size))
            for name in names
            for at in range(0, size, RANGE)
        ]
        await asyncio.gather(*ranges)

    return lambda: asyncio.run(everything())


def run() -> list[Figure]:
    figures = []
    command = [sys.executable, "-m", "bench.pipelines.remote", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            for streams in STREAMS:
                size = TOTAL // streams
                names = [f"{i}-{size}" for i in range(streams)]
                files = [f"{url}/{name}" for name in names]
                reads = ps.FixedLengthRecordDataset(files, RECORD, num_parallel_reads=streams)
                reads = reads.skip(TOTAL // RECORD)
                rounds = interleaved(
                    {
                        "obstore": timed(gather(url, names, size), TOTAL),
                        "penstock": timed(lambda reads=reads: drain(reads), TOTAL),
                    }
                )
                speed = {case: 1e-9 / rounds.seconds(case).median for case in rounds.rounds[0]}
                figures.append(
                    Figure(
                        f"{streams} remote files at a time: speed / obstore's gather",
                        rounds.ratio("obstore", "penstock"),
                        "x",
                        at_least=0.9,
                        note=f"{speed['penstock']:.2f} against {speed['obstore']:.2f} GB/s",
                    )
                )
        finally:
            server.kill()
    return figures


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
    else:
        main(run, __doc__)
