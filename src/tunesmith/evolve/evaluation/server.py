"""The process that runs variants: it prepares the original, and forks a child for each variant.

Many edits change the text of a program and not what the compiler makes of it. So a variant whose
machine code is known already is not run: another measurement would tell of noise alone.

Started by ``pool`` as ``python -m tunesmith.evolve.evaluation.server DESCRIPTOR PARENT``. It has a
single thread. It ends when its client is gone, and its children with it.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tunesmith.errors import TunesmithError, describe
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.preparing import prepared
from tunesmith.evolve.evaluation.subject import Evaluator
from tunesmith.measure.failure import (
    FailedTrialError,
    describe_exit,
    out_of_memory,
    tells_no_memory,
)
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, GarbledError, Message
from tunesmith.measure.processes.child import Child
from tunesmith.measure.processes.containment import crash_silently, die_with
from tunesmith.measure.processes.pool_worker import unpacked
from tunesmith.measurement import Outcome

# How often to look whether the client is still there, in seconds.
_LOOK_UP = 1.0
# The system counts processor time in such steps.
_TICK = 0.01


@dataclass
class _Run:
    """A variant that is being evaluated: what the client said, until when, when to look how much
    processor time it took, and what it said of itself. ``timed_out`` says after what it was ended.
    """

    message: Message
    child: Child
    deadline: float
    look_at: float
    answer: dict[str, Any] | None = field(default=None)
    timed_out: str = ""

    @property
    def next_look(self) -> float:
        """When there is something to decide, if it has not ended by then."""
        return math.inf if self.timed_out else min(self.deadline, self.look_at)

    def look(self, threads: int) -> None:
        """End it where it took too long, by the clock or by its processor time."""
        now, most = time.monotonic(), float(self.message["processor_timeout"])
        if now >= self.deadline:
            self.timed_out = f"{self.message['timeout']:g} s"
        elif now >= self.look_at:
            left = most - self.child.processor_seconds
            if left <= 0:
                self.timed_out = f"{most:.2g} s of processor time"
            self.look_at = now + max(_TICK, left / threads)
        if self.timed_out:
            self.child.kill()

    def evaluation(self, status: int, words: str, memory_limit: int) -> Evaluation:
        """What came of it, by its own words or by how it ended."""
        if self.timed_out:
            return Evaluation(Outcome.RUN_TIMEOUT, message=f"not done after {self.timed_out}")
        if self.answer is not None:
            return Evaluation.from_json(self.answer)
        if tells_no_memory(words):
            return Evaluation(Outcome.RUNTIME_DEVICE, message=out_of_memory(memory_limit))
        return Evaluation(Outcome.RUNTIME_DEVICE, message=describe_exit(status, words))


class EvaluationServer:
    """Evaluates what the client sends until it is gone. ``ready`` is what the evaluator prepared,
    ``memory_limit`` is the number of bytes that a child may allocate with ``threads`` threads."""

    def __init__(
        self, evaluator: Evaluator, ready: Any, client: Channel, memory_limit: int, threads: int
    ) -> None:
        self._evaluator = evaluator
        self._ready = ready
        self._client = client
        self._memory_limit = memory_limit
        self._threads = threads
        self._runs: list[_Run] = []
        # What came of the tests of the search by machine code, and how wrong it might have been.
        self._known: dict[str, tuple[float, Evaluation]] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self, parent: int) -> None:
        """Raises ``ChannelClosedError`` when the client is gone."""
        self._selector.register(self._client, selectors.EVENT_READ, self._hear_client)
        try:
            while os.getppid() == parent:
                self._wait()
        finally:
            for run in self._runs:
                run.child.kill()

    def _wait(self) -> None:
        writing = selectors.EVENT_WRITE if self._client.unsent else 0
        self._selector.modify(self._client, selectors.EVENT_READ | writing, self._hear_client)
        now = time.monotonic()
        wait = min([_LOOK_UP, *(run.next_look - now for run in self._runs)])
        for key, _ in self._selector.select(max(0.0, wait)):
            key.data()
        for run in self._runs:
            if time.monotonic() >= run.next_look:
                run.look(self._threads)

    def _hear_client(self) -> None:
        self._client.flush()
        for message in self._client.receive():
            self._start(message)

    def _start(self, message: Message) -> None:
        child = Child(partial(self._evaluate, message), self._memory_limit, self._threads)
        now, most = time.monotonic(), float(message["processor_timeout"])
        run = _Run(message, child, now + float(message["timeout"]), now + most / self._threads)
        self._runs.append(run)
        self._selector.register(child.handle, selectors.EVENT_READ, partial(self._on_exit, run))

    def _evaluate(self, message: Message, channel: Channel) -> None:
        """The body of a child."""
        code, limit = "", float(message["limit"])
        try:
            built = self._evaluator.build(message["text"])
            code = built.code
            was, found = self._known.get(code, (-math.inf, None))
            if found is None or was < limit or message["again"]:
                found = self._evaluator.evaluate(
                    built, self._ready, heldout=message["heldout"], limit=limit
                )
            else:
                found = replace(found, repeated=True)
        except FailedTrialError as error:
            found = Evaluation(error.outcome, message=str(error))
        except MemoryError:
            message_ = out_of_memory(self._memory_limit)
            found = Evaluation(Outcome.RUNTIME_DEVICE, message=message_)
        except Exception as error:
            found = Evaluation(Outcome.RUNTIME_DEVICE, message=describe(error))
        channel.send(replace(found, code=code).to_json())
        while channel.unsent:
            channel.wait()

    def _know(self, found: Evaluation, limit: float) -> None:
        was, _ = self._known.get(found.code, (-math.inf, None))
        if found.code and found.ran and limit > was:
            self._known[found.code] = limit, found

    def _on_exit(self, run: _Run) -> None:
        with contextlib.suppress(ChannelClosedError, GarbledError, KeyError, ValueError):
            for answer in run.child.channel.receive():
                found = Evaluation.from_json(answer)  # a variant may have written anything
                if not run.message["heldout"] and not run.timed_out:
                    self._know(found, float(run.message["limit"]))
                run.answer = answer
        self._selector.unregister(run.child.handle)
        self._runs.remove(run)
        ended = run.child.reap()
        found = run.evaluation(ended.status, ended.last_line, self._memory_limit)
        self._client.send({"kind": "evaluated", "number": run.message["number"], **found.to_json()})


def main(descriptor: int, parent: int) -> int:
    """Prepare what the client sends, then evaluate variants of it. Returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a user's Ctrl-C is for the client to handle
    die_with(parent)
    client = Channel(socket.socket(fileno=descriptor))
    with contextlib.suppress(ChannelClosedError):
        messages: list[dict[str, Any]] = []
        while not messages:  # it may come in parts
            client.wait()
            messages = client.receive()
        (first,) = messages
        memory_limit, threads = int(first["memory_limit"]), int(first["threads"])
        try:
            evaluator: Evaluator = unpacked(first["subject"]).evaluator()
            crash_silently()
            ready = prepared(evaluator, memory_limit, threads)
        except (TunesmithError, Exception) as error:
            client.send({"kind": "failed", "message": describe(error)})
            return 1
        client.send({"kind": "ready"})
        EvaluationServer(evaluator, ready, client, memory_limit, threads).serve(parent)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
