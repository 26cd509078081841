"""The coordinator of a shared job as an actor of Ray, which is known by its name."""

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

_NAMESPACE = "penstock"  # programs that are connected one by one find each other there
_IDLE_SECONDS = 60.0  # without consumers, after which it ends
_NOT_YET = object()
_MOST_CALLS = 1000  # of consumers, that wait in the coordinator at a time


class CoordinatorActor:
    """What runs in the actor: a coordinator whose rows stay where workers have made them.

    It belongs to no program, so that none of the consumers need be the last one; it ends itself
    once it has had no consumer for a while.
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
        """As of `Coordinator`."""
        self._coordinator.join(begin, dataset, settings)

    def take(self, token: str, received: int) -> Taken | str | None:
        """As of `Coordinator`; with a reference to the rows."""
        return self._coordinator.take(token, received)

    def alive(self, token: str) -> None:
        """As of `Coordinator`."""
        self._coordinator.alive(token)

    def leave(self, token: str) -> None:
        """As of `Coordinator`."""
        self._coordinator.leave(token)


def _workers(dataset: Dataset, count: int, options: dict[str, Any]) -> Workers:
    return RayWorkers(dataset, count, options, apart=True)


class RayCoordinator:
    """The actor of a name as its consumers see it; the first one has Ray start it.

    When it, or what it has kept, is lost with a host, consumers begin again with another one where
    they are.

    Parameters
    ----------
    name : str
        Of the job.
    """

    def __init__(self, name: str) -> None:
        self._ray = connected()
        self._name = f"penstock.distribute {name}"
        self._actor: Any = None
        self._asked: tuple[tuple[str, int], Any] | None = None  # for whom, and what it waits for
        self._answer: Taken | None = None  # whose rows it waits for

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """As of `Coordinator`."""
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
        """As of `Coordinator`; AGAIN, too, where it has died or the rows are lost.

        Waits a little for what it has asked for, and goes on with that the next time: a run that is
        closed meanwhile need not wait until Ray notices that a host is cut off.
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
        """Return what was asked for, or _NOT_YET; it is at this host then."""
        ready, _ = self._ray.wait([asked], timeout=2 * WAIT_SECONDS)
        return self._ray.get(asked) if ready else _NOT_YET

    def alive(self, token: str) -> None:
        """As of `Coordinator`."""
        self._say("alive", token)

    def leave(self, token: str) -> None:
        """As of `Coordinator`; without a word it is let go of after a while."""
        self._say("leave", token)

    def _say(self, what: str, token: str) -> None:
        if not self._ray.is_initialized():
            return
        try:
            getattr(self._actor, what).remote(token)
        except Exception:  # it is of a connection that has ended
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
