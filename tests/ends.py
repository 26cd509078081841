"""The ways to end an iteration before the data ends."""

import threading

ENDS = ["break", "del", "close", "with", "generator", "thread"]


def end(it, taken, how):
    """Take several elements and end the iteration; the caller drops the iterator."""
    for _ in range(taken):
        next(it)
    if how == "break":
        for _ in it:
            break
    elif how == "close":
        it.close()
        assert next(it, None) is None
        it.close()
    elif how == "with":
        with it:
            next(it)
    elif how == "generator":
        running = (x for x in it)
        next(running)
        running.close()
    elif how == "thread":
        other = threading.Thread(target=it.close)
        other.start()
        other.join(60)
        assert not other.is_alive()
