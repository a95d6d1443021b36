"""Evaluates variants in other processes, some at a time."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from tunesmith.compiler.cores import usable_cores
from tunesmith.compiler.thread_pool import pool_variables
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.subject import Subject
from tunesmith.measure.processes.channel import ChannelClosedError
from tunesmith.measure.processes.pool_worker import packed
from tunesmith.measure.processes.spawned import SpawnedProcess

_PREPARE_TIMEOUT = 300.0
# Seconds that a variant's process may take to end.
_GRACE = 10.0


@dataclass(frozen=True)
class EvaluationSettings:
    """The limits of a variant: ``timeout`` in seconds for building it and all its tests, at most,
    and ``memory_limit`` in bytes. ``workers`` are evaluated at a time, None: as many as there are
    cores for.

    Raises ``UsageError`` for a value that makes no sense.
    """

    timeout: float = 10.0
    memory_limit: int = 2 << 30
    workers: int | None = None

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise UsageError(f"timeout must be positive, not {self.timeout:g}")
        if self.memory_limit < 1:
            raise UsageError(f"memory_limit must be positive, not {self.memory_limit}")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"at least one worker is needed, not {self.workers}")

    def slots(self, threads: int) -> int:
        """How many variants of so many threads each are evaluated at a time."""
        return self.workers or max(1, usable_cores() // threads)


class EvaluationPool:
    """A server for a subject; it ends with the ``with`` block.

    Raises ``TunesmithError`` with what the subject says where it cannot be prepared, or where its
    process died.
    """

    def __init__(self, subject: Subject, settings: EvaluationSettings) -> None:
        self.settings = settings
        # Of the tests of the search, which the search may lower, the second of processor time:
        # that is the same on a machine that others use.
        self.timeout = settings.timeout
        self.processor_timeout = math.inf
        self._slots = settings.slots(subject.threads)
        self._busy: set[int] = set()
        self._ended = False
        self._alone = itertools.count(-1, -1)  # numbers that no one else has
        self._server = SpawnedProcess(
            "tunesmith.evolve.evaluation.server",
            str(os.getpid()),
            environment={
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
                **pool_variables(subject.threads),
            },
        )
        first = {
            "subject": packed(subject),
            "memory_limit": settings.memory_limit,
            "threads": subject.threads,
        }
        try:
            self._server.send(first)
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise

    def _stop(self, grace: float = 0.0) -> str:
        """End the server, once; the last line that it printed."""
        if self._ended:
            return ""
        self._ended = True
        return self._server.stop(grace)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _PREPARE_TIMEOUT
        while time.monotonic() < deadline:
            for message in self._receive(1.0):
                if message["kind"] == "failed":
                    raise TunesmithError(message["message"])
                return
        raise TunesmithError(f"the original was not ready after {_PREPARE_TIMEOUT:g} s")

    def _receive(self, timeout: float) -> list[dict[str, object]]:
        try:
            return self._server.receive(timeout)
        except ChannelClosedError:
            words = self._stop(1.0)
            raise TunesmithError(
                f"the process that evaluates variants ended: {words or 'it said nothing'}"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @property
    def free(self) -> int:
        """How many more variants can be evaluated right away."""
        return self._slots - len(self._busy)

    @property
    def busy(self) -> int:
        """How many are being evaluated."""
        return len(self._busy)

    def submit(
        self, number: int, text: str, *, limit: float, heldout: bool = False, again: bool = False
    ) -> None:
        """Have a variant evaluated; ``number`` tells the answer from others.

        One whose machine code was evaluated before is not run, but ``again``.
        """
        self._busy.add(number)
        self._server.send(
            {
                "number": number,
                "text": text,
                "heldout": heldout,
                "again": again or heldout,
                "limit": limit,
                "timeout": self.settings.timeout if heldout else self.timeout,
                "processor_timeout": math.inf if heldout else self.processor_timeout,
            }
        )

    def answers(self, timeout: float) -> Iterator[tuple[int, Evaluation]]:
        """What has come of variants; waits up to ``timeout`` seconds for the first.

        Raises ``TunesmithError`` if the process died.
        """
        found = [
            (int(message["number"]), Evaluation.from_json(message))  # type: ignore[call-overload]
            for message in self._receive(timeout)
        ]
        # All at once: who is interrupted does not come for the others.
        self._busy.difference_update(number for number, _ in found)
        yield from found

    def forget(self) -> None:
        """Wait for all that is being evaluated, and drop what comes of it."""
        until = time.monotonic() + self.settings.timeout + _GRACE
        while self._busy and time.monotonic() < until:
            for _ in self.answers(1.0):
                pass
        self._busy.clear()

    def evaluate(self, text: str, *, limit: float, heldout: bool = False) -> Evaluation:
        """Run one variant, alone, whatever is known of it: nothing else may be under way."""
        own = next(self._alone)
        self.submit(own, text, limit=limit, heldout=heldout, again=True)
        while True:
            for number, found in self.answers(1.0):
                if number == own:
                    return found
