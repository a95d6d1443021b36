"""Processes that do jobs side by side, each as many as come; one that dies costs its job alone."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from tunesmith.bench.timing.line_process import LineProcess
from tunesmith.errors import TunesmithError

Job = TypeVar("Job")

_MODULE = "tunesmith.bench.compare.process"

# Every search has one processor to itself, so none may start threads beside it.
_ENVIRONMENT = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Done(Generic[Job]):
    """A job that is over; ``crash`` says why it failed, None if it did not."""

    job: Job
    crash: str | None


class Pool(Generic[Job]):
    """Hands jobs to ``workers`` processes.

    ``describe`` turns a job into what a process is sent, ``patience`` says how many seconds of the
    wall clock its answer may take.
    """

    def __init__(
        self,
        workers: int,
        describe: Callable[[Job], Mapping[str, Any]],
        patience: Callable[[Job], float],
    ) -> None:
        self._describe = describe
        self._patience = patience
        self._workers = workers
        self._closing = False
        self._lock = threading.Lock()
        self._processes: set[LineProcess] = set()
        self._threads: list[threading.Thread] = []
        self._answers: queue.SimpleQueue[Done[Job] | BaseException] = queue.SimpleQueue()

    def run(self, jobs: Iterable[Job]) -> Iterator[Done[Job]]:
        """Each job when it is over, in that order.

        Raises ``TunesmithError`` for what concerns all jobs: a trace that cannot be saved.
        """
        waiting = list(jobs)
        left, jobs_in_turn = len(waiting), iter(waiting)
        for _ in range(min(self._workers, left)):
            thread = threading.Thread(target=self._work, args=(jobs_in_turn,), daemon=True)
            self._threads.append(thread)
            thread.start()
        for _ in range(left):
            answer = self._answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer

    def close(self) -> None:
        """End all processes, whatever they are doing. Safe to call twice."""
        with self._lock:
            self._closing = True
            for process in self._processes:
                process.signal(signal.SIGKILL)  # its thread sees it end, and does the rest
        for thread in self._threads:
            thread.join()

    def _work(self, jobs: Iterator[Job]) -> None:
        """What a thread does: a process of its own, and the jobs that are left."""
        process: LineProcess | None = None
        try:
            while True:
                with self._lock:
                    job = None if self._closing else next(jobs, None)
                    if job is None:
                        return
                    process = process or self._start()
                done, alive = self._do(process, job)
                if not alive:
                    self._end(process)
                    process = None
                self._answers.put(done)
        except BaseException as error:
            self._answers.put(error)
        finally:
            if process is not None:
                self._end(process)

    def _do(self, process: LineProcess, job: Job) -> tuple[Done[Job], bool]:
        """What came of a job, and whether its process can do another."""
        patience, begun = self._patience(job), time.monotonic()
        process.say(self._describe(job))
        try:
            answer = process.answer(patience)
        except TunesmithError:
            if time.monotonic() - begun >= patience:
                return Done(job, f"no answer within {patience:,.0f} s: it was given up"), False
            return Done(job, "its process is gone: native code failed, or memory ran out"), False
        if "failure" in answer:
            raise TunesmithError(answer["failure"])
        return Done(job, answer.get("crash")), True

    def _start(self) -> LineProcess:
        process = LineProcess(_MODULE, _ENVIRONMENT)
        self._processes.add(process)
        return process

    def _end(self, process: LineProcess) -> None:
        with self._lock:  # once it is closed its number may be another's
            self._processes.discard(process)
        process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
