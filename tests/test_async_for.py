"""async for over datasets and iterators does not block the event loop."""

import asyncio
import threading

import pytest

import penstock as ps
from contract import Boom, steps
from scripts import run_script

LIMIT = 60.0  # seconds after which a hanging test fails


def wait_for(event):
    """Return a function that returns its argument after the event is set."""

    def wait(x):
        assert event.wait(LIMIT)
        return x

    return wait


async def listed(elements):
    return [x async for x in elements]


@pytest.mark.parametrize("ahead", [None, 2])
def test_the_elements_are_those_of_for(ahead):
    ds = ps.Dataset.range(10).map(lambda x: x * x).batch(3)
    ds = ds if ahead is None else ds.prefetch(ahead)
    came = asyncio.run(listed(ds))
    assert [list(x) for x in came] == [list(x) for x in ds]


@pytest.mark.parametrize("ahead", [None, 2])
def test_the_event_loop_goes_on_while_an_element_is_made(ahead):
    event = threading.Event()
    ds = ps.Dataset.range(2).map(wait_for(event))
    ds = ds if ahead is None else ds.prefetch(ahead)

    async def main():
        elements = asyncio.ensure_future(listed(ds))
        await asyncio.sleep(0)
        assert not elements.done()
        event.set()  # runs in this event loop, so it must not be blocked
        return await asyncio.wait_for(elements, LIMIT)

    assert asyncio.run(main()) == [0, 1]


def test_an_error_is_raised_and_the_next_element_follows():
    def fail(x):
        if x == 1:
            raise Boom("one")
        return x

    async def main():
        it = iter(ps.Dataset.range(3).map(fail))
        assert await anext(it) == 0
        with pytest.raises(Boom, match="one"):
            await anext(it)
        assert await anext(it) == 2
        for _ in range(2):
            with pytest.raises(StopAsyncIteration):
                await anext(it)

    asyncio.run(main())


def test_a_wait_that_is_cancelled_loses_no_element():
    event = threading.Event()
    ds = ps.Dataset.range(3).map(wait_for(event))

    async def main():
        it = iter(ds)
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(it), 0.001)
        event.set()
        state = it.get_state()
        again = iter(ds)
        again.set_state(state)
        assert await listed(again) == [0, 1, 2]
        return await listed(it)

    assert asyncio.run(main()) == [0, 1, 2]


def test_tasks_may_share_an_iterator():
    async def main():
        it = iter(ps.Dataset.range(100).map(lambda x: x).prefetch(2))
        came = await asyncio.gather(*(listed(it) for _ in range(5)))
        return sorted(int(x) for each in came for x in each)

    assert asyncio.run(main()) == list(range(100))


def test_for_and_async_for_may_take_turns_in_several_loops():
    it = iter(ps.Dataset.range(6).map(lambda x: x))

    async def one():
        return int(await anext(it))

    assert [asyncio.run(one()), int(next(it)), asyncio.run(one()), int(next(it))] == [0, 1, 2, 3]
    assert asyncio.run(listed(it)) == [4, 5]


def test_async_with_closes():
    async def main():
        async with iter(ps.Dataset.range(5).prefetch(2)) as it:
            assert await anext(it) == 0
        assert await listed(it) == []
        return it

    assert steps(asyncio.run(main())) == []


def test_closing_ends_a_wait_for_coroutines():
    begun = []
    ended = []

    async def wait(x):
        begun.append(int(x))
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(int(x))

    async def main(ds, calls):
        it = iter(ds)
        elements = asyncio.ensure_future(listed(it))
        while len(begun) < calls:
            await asyncio.sleep(0.001)
        await asyncio.wait_for(it.aclose(), LIMIT)
        return await asyncio.wait_for(elements, LIMIT)

    assert asyncio.run(main(ps.Dataset.range(3).map(wait), 1)) == []
    assert ended == [0]
    begun.clear()
    assert asyncio.run(main(ps.Dataset.range(3).map(wait, 3), 3)) == []
    assert sorted(ended) == [0, 0, 1, 2]


def test_a_process_that_ends_in_a_wait_says_nothing():
    done = run_script("""
        import asyncio
        async def main():
            it = iter(Dataset.from_generator(endless).map(slow).prefetch(2))
            await asyncio.wait_for(anext(it), 0.01)
        try:
            asyncio.run(main())
        except TimeoutError:
            print("in time")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "in time\n", "")
