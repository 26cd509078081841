"""map of a coroutine function with 1,000 calls in progress, compared with `asyncio.gather`.

Each call is a request to a local asyncio HTTP server in a separate process, over keep-alive
connections. The server waits 20 ms before it answers. The reference is the usual code without
penstock: a task for each request, and a semaphore of 1,000.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

CALLS = 1000  # in progress
REQUESTS = 10_000
DELAY = 0.02  # seconds
BODY = b"x" * 200
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Server(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n\r\n")):
            asyncio.get_running_loop().call_later(DELAY, self.transport.write, ANSWER)


def serve(port: Connection) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(
            Server, "127.0.0.1", 0, backlog=2 * CALLS
        )
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextlib.contextmanager
def server() -> Iterator[int]:
    """Run the server; yield its port."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


class Client:
    """Requests over reused connections, which belong to the event loop that created them."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __call__(self, number: int) -> int:
        if self.free:
            reader, writer = self.free.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number)
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(size)
        self.free.append((reader, writer))
        return len(body)

    async def close(self) -> None:
        for _, writer in self.free:
            writer.close()
        self.free.clear()


def run() -> list[Figure]:
    with server() as port, asyncio.Runner() as runner:
        gathering, mapping = Client(port), Client(port)

        async def gather() -> list[int]:
            semaphore = asyncio.Semaphore(CALLS)

            async def one(number: int) -> int:
                async with semaphore:
                    return await gathering(number)

            return await asyncio.gather(*(one(number) for number in range(REQUESTS)))

        def mapped(**order: bool) -> ps.Dataset:
            return ps.Dataset.range(REQUESTS).map(mapping, CALLS, **order)

        in_order, in_any_order = mapped(), mapped(deterministic=False)
        rounds = interleaved(
            {
                "gather": timed(lambda: runner.run(gather()), REQUESTS),
                "in order": timed(lambda: drain(in_order), REQUESTS),
                "in any order": timed(lambda: drain(in_any_order), REQUESTS),
            }
        )
        runner.run(gathering.close())
    us = {case: rounds.seconds(case).median * 1e6 for case in rounds.rounds[0]}
    return [
        Figure(
            f"map(async def, {CALLS:,}), {order}: speed / asyncio.gather",
            rounds.ratio("gather", order).scaled(100),
            "%",
            at_least=90,
            note=f"{us[order]:.0f} against {us['gather']:.0f} us per request",
        )
        for order in ("in order", "in any order")
    ]


if __name__ == "__main__":
    main(run, __doc__)
