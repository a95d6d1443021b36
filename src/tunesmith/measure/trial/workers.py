"""Processes of a server that run trials, each on a device of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from tunesmith.measure.processes.child import Child, Exit


class Worker(Protocol):
    """A process that runs a trial at a time. It is ``free`` for one, or has a ``trial``, or
    neither."""

    @property
    def child(self) -> Child: ...

    @property
    def trial(self) -> object | None: ...

    @property
    def free(self) -> bool: ...

    def receive(self) -> None:
        """Take in the messages that there are."""
        ...

    def kill(self) -> None:
        """Kill it; it gets no more trials."""
        ...


AnyWorker = TypeVar("AnyWorker", bound=Worker)


class Workers(ABC, Generic[AnyWorker]):
    """The workers of a server. ``watch(descriptor, function)`` calls the function whenever the
    descriptor is readable, until ``unwatch(descriptor)``."""

    def __init__(
        self,
        watch: Callable[[Any, Callable[[], None]], object],
        unwatch: Callable[[Any], object],
    ) -> None:
        self._watch = watch
        self._unwatch = unwatch
        self._workers: list[AnyWorker] = []

    @property
    def free(self) -> Iterator[AnyWorker]:
        """The workers that can run a trial now."""
        return (worker for worker in self._workers if worker.free)

    @property
    def running(self) -> bool:
        """Whether a trial is running."""
        return any(worker.trial is not None for worker in self._workers)

    @property
    def pids(self) -> set[int]:
        """The process ids of all workers."""
        return {worker.child.pid for worker in self._workers}

    def end(self) -> None:
        """Kill all workers, and free what they hold."""
        for worker in self._workers:
            worker.kill()
        while self._workers:
            self._workers.pop().child.reap()

    def _add(self, worker: AnyWorker) -> None:
        self._workers.append(worker)
        self._watch(worker.child.channel, partial(self._hear, worker))
        self._watch(worker.child.handle, partial(self._on_exit, worker))

    def _hear(self, worker: AnyWorker) -> None:
        if worker not in self._workers:  # its exit may have been the previous event
            return
        worker.receive()
        self._heard(worker)

    def _on_exit(self, worker: AnyWorker) -> None:
        worker.receive()  # its last messages
        self._unwatch(worker.child.channel)
        self._unwatch(worker.child.handle)
        ended = worker.child.reap()
        self._workers.remove(worker)
        self._ended(worker, ended)

    @abstractmethod
    def _heard(self, worker: AnyWorker) -> None:
        """A worker has sent something."""

    @abstractmethod
    def _ended(self, worker: AnyWorker, ended: Exit) -> None:
        """A worker has ended, and is none of the workers any more: decide its trial."""
