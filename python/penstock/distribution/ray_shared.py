"""The coordinator of a shared job as a named Ray actor."""

from __future__ import annotations

import threading
import time
from typing import Any

from penstock.dataset import Dataset
from penstock.distribution.job import WAIT_SECONDS, Taken
from penstock.distribution.ray_workers import RayWorkers, connected, ray_library
from penstock.distribution.settings import Settings
from penstock.distribution.shared import AGAIN, Begin, Coordinator
from penstock.distribution.workers import Workers

_NAMESPACE = "penstock"  # namespace in which separately connected programs find each other
_IDLE_SECONDS = 60.0  # time without consumers after which the actor ends
_NOT_YET = object()
_MOST_CALLS = 1000  # maximum number of consumers' calls that wait concurrently in the coordinator


class CoordinatorActor:
    """The class of the actor: a coordinator whose rows stay where workers made them.

    The actor is detached from all programs, so consumers may end in any order. It ends after a time
    without consumers.
    """

    def __init__(self, name: str) -> None:
        self._coordinator = Coordinator(name, _workers)
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> None:
        """End the actor."""
        ray_library().actor.exit_actor()

    def _watch(self) -> None:
        own = ray_library().get_runtime_context().current_actor
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < _IDLE_SECONDS:
            time.sleep(_IDLE_SECONDS / 8)
            if not self._coordinator.idle():
                idle_since = time.monotonic()
        own.end.remote()

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """See `Coordinator.join`."""
        self._coordinator.join(begin, dataset, settings)

    def take(self, token: str, received: int) -> Taken | str | None:
        """See `Coordinator.take`; returns a reference to the rows."""
        return self._coordinator.take(token, received)

    def alive(self, token: str) -> None:
        """See `Coordinator.alive`."""
        self._coordinator.alive(token)

    def leave(self, token: str) -> None:
        """See `Coordinator.leave`."""
        self._coordinator.leave(token)


def _workers(dataset: Dataset, count: int, options: dict[str, Any]) -> Workers:
    return RayWorkers(dataset, count, options, apart=True)


class RayCoordinator:
    """A consumer's connection to the named actor; the first consumer starts the actor.

    If the actor or its data is lost with a host, consumers continue at their positions with a new
    actor.

    Parameters
    ----------
    name : str
        Name of the job.
    """

    def __init__(self, name: str) -> None:
        self._ray = connected()
        self._name = f"penstock.distribute {name}"
        self._actor: Any = None
        self._asked: tuple[tuple[str, int], Any] | None = None  # arguments, reference to wait for
        self._answer: Taken | None = None  # the answer whose rows it waits for

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """See `Coordinator.join`."""
        held = self._ray.put(dataset)
        for tries_left in (2, 1, 0):
            try:
                self._actor = self._started()
                self._ray.get(self._actor.join.remote(begin, held, settings))
                return
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except self._ray.exceptions.RayActorError:
                if tries_left == 0:
                    raise

    def take(self, token: str, received: int) -> Taken | str | None:
        """See `Coordinator.take`; also returns AGAIN if the actor died or the rows are lost.

        Waits only briefly for an answer, and resumes waiting at the next call. So closing a run
        does not have to wait until Ray detects that a host is unreachable.
        """
        who = token, received
        try:
            if self._asked is None or self._asked[0] != who:
                self._asked = who, self._actor.take.remote(token, received)
                self._answer = None
            found = self._found(self._asked[1])
            if self._answer is None and isinstance(found, tuple) and found[1] is not None:
                self._answer = found
                self._asked = who, found[1]
                found = self._found(found[1])
            if found is _NOT_YET:
                return None
            self._asked = None
            if self._answer is None:
                answer: Taken | str | None = found
                return answer
            first, _, lost = self._answer
            return first, found, lost
        except self._ray.exceptions.RayTaskError as error:
            self._asked = None
            raise error.cause from None
        except self._ray.exceptions.RayError:
            self._asked = None
            return AGAIN

    def _found(self, asked: Any) -> Any:
        """Return the value of a reference once it is on this host; else _NOT_YET."""
        ready, _ = self._ray.wait([asked], timeout=2 * WAIT_SECONDS)
        return self._ray.get(asked) if ready else _NOT_YET

    def alive(self, token: str) -> None:
        """See `Coordinator.alive`."""
        self._say("alive", token)

    def leave(self, token: str) -> None:
        """See `Coordinator.leave`; if the message is lost, the consumer times out."""
        self._say("leave", token)

    def _say(self, what: str, token: str) -> None:
        if not self._ray.is_initialized():
            return
        try:
            getattr(self._actor, what).remote(token)
        except Exception:  # the connection has ended
            return

    def _started(self) -> Any:
        actor = self._ray.remote(CoordinatorActor)
        return actor.options(
            name=self._name,
            namespace=_NAMESPACE,
            get_if_exists=True,
            lifetime="detached",
            num_cpus=0,
            max_restarts=0,
            max_concurrency=_MOST_CALLS,
        ).remote(self._name)
