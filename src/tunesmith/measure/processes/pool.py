"""Calls functions in processes of their own, in parallel: one that crashes costs its call alone."""

from __future__ import annotations

import math
import os
import select
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from tunesmith.measure.failure import describe_exit
from tunesmith.measure.processes.channel import ChannelClosedError, GarbledError
from tunesmith.measure.processes.pool_worker import packed, unpacked
from tunesmith.measure.processes.spawned import SpawnedProcess


@dataclass(frozen=True)
class FailedCall:
    """A call that raised, crashed or took too long; ``reason`` is one line."""

    reason: str


class _Worker(SpawnedProcess):
    """A worker, the number of the call that it is busy with, and when it has to be done."""

    def __init__(self) -> None:
        super().__init__("tunesmith.measure.processes.pool_worker", str(os.getpid()))
        self.call: int | None = None
        self.deadline = math.inf


class WorkerPool:
    """Up to ``count`` processes that have loaded the compiler. They start with the first calls, and
    end with the ``with`` block.

    A call that takes more than ``timeout`` seconds is given up. What is called must neither run
    kernels nor start threads: then nothing can go wrong in a worker that a later call would notice.
    """

    def __init__(self, count: int, timeout: float) -> None:
        self._count = count
        self._timeout = timeout
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._workers:
            self._workers.pop().stop(grace=0.0)

    def map(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Generator[tuple[int, Any], None, None]:
        """Call a function with each of these arguments. Yields each number and result, or
        ``FailedCall``, as they come.

        Raises what pickling the function and its arguments raises.
        """
        waiting = deque((number, packed((function, call))) for number, call in enumerate(calls))
        left = len(waiting)
        try:
            while left:
                self._assign(waiting)
                for number, result in self._finished():
                    left -= 1
                    yield number, result
        finally:  # what was not waited for is no answer to a later call
            for worker in self._busy:
                self._dismissed(worker, grace=0.0)

    def _assign(self, waiting: deque[tuple[int, str]]) -> None:
        """Give each idle worker a call; there are new workers as long as there are calls."""
        # An idle worker may have been killed, or have ended with the thread that started it: that
        # is no fault of the next call.
        for worker in [each for each in self._workers if each.call is None and not each.alive]:
            self._dismissed(worker, grace=0.0)
        while len(self._workers) < self._count and len(self._busy) + len(waiting) > len(
            self._workers
        ):
            self._workers.append(_Worker())
        for worker in self._workers:
            if worker.call is None and waiting:
                worker.call, call = waiting.popleft()
                worker.deadline = time.monotonic() + self._timeout
                worker.send({"call": call})

    @property
    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.call is not None]

    def _finished(self) -> Iterator[tuple[int, Any]]:
        """Wait for something to happen, and yield the calls that are over."""
        busy = self._busy
        left = min(worker.deadline for worker in busy) - time.monotonic()
        poll = select.poll()
        for worker in busy:
            poll.register(worker, select.POLLIN | (select.POLLOUT if worker.unsent else 0))
        poll.poll(1000.0 * max(0.0, left))
        for worker in busy:
            number, result = worker.call, self._result(worker)
            if result is not None:
                assert number is not None
                yield number, result[0]

    def _result(self, worker: _Worker) -> tuple[Any] | None:
        """What came of the call of a worker; None if it is not over."""
        try:
            messages = worker.receive(0.0)
        except (ChannelClosedError, GarbledError):
            words = self._dismissed(worker, grace=1.0)
            code = worker.exit_code or 0
            return (FailedCall(describe_exit(-code if code < 0 else code << 8, words)),)
        if messages:
            worker.call = None
            (message,) = messages
            if "failed" in message:
                return (FailedCall(message["failed"]),)
            return (unpacked(message["result"]),)
        if time.monotonic() >= worker.deadline:
            self._dismissed(worker, grace=0.0)
            return (FailedCall(f"not done after {self._timeout:g} s"),)
        return None

    def _dismissed(self, worker: _Worker, grace: float) -> str:
        """End a worker; another one replaces it. Returns the last line that it printed."""
        self._workers.remove(worker)
        return worker.stop(grace)
