"""A thread that calls kernels keeps off the processors that a pool's workers are bound to."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tunesmith.compiler.thread_pool import keep_off_bound_processors
from tunesmith.measure.trial.cpu_program import CpuProgram

ALLOWED = sorted(os.sched_getaffinity(0))


@contextmanager
def worker_on(processors: set[int]) -> Iterator[None]:
    """A thread that may use these processors, and waits."""
    bound, ended = threading.Event(), threading.Event()

    def wait() -> None:
        os.sched_setaffinity(0, processors)
        bound.set()
        ended.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        assert bound.wait(60.0)
        yield
    finally:
        ended.set()
        thread.join()


def affinity_after(step: Callable[[], None]) -> set[int]:
    """The processors that a thread may use after a step."""
    found: list[set[int]] = []

    def take() -> None:
        step()
        found.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.skipif(len(ALLOWED) < 2, reason="this process may use one processor alone")
def test_bound_processors_are_left_to_those_bound_to_them() -> None:
    with worker_on({ALLOWED[-1]}):
        assert affinity_after(keep_off_bound_processors) == set(ALLOWED[:-1])


@pytest.mark.skipif(len(ALLOWED) < 2, reason="this process may use one processor alone")
def test_threads_that_may_go_anywhere_take_nothing() -> None:
    with worker_on(set(ALLOWED)):
        assert affinity_after(keep_off_bound_processors) == set(ALLOWED)


def test_a_thread_is_never_left_without_a_processor() -> None:
    def confined() -> None:
        os.sched_setaffinity(0, {ALLOWED[0]})
        keep_off_bound_processors()

    with worker_on({ALLOWED[0]}):
        assert affinity_after(confined) == {ALLOWED[0]}


@pytest.mark.skipif(
    len(ALLOWED) < max(2, os.cpu_count() or 1),
    reason="TVM binds no thread, as this process may not use all processors, or there is one",
)
def test_the_workers_of_a_pool_have_their_processors_for_themselves() -> None:
    program = """
import os, threading
import numpy as np
import tunesmith as ts
from tunesmith.compiler.thread_pool import keep_off_bound_processors

kernel = ts.compile(ts.Task(ts.operators.matmul(m=256, n=256, k=256)))
kernel(np.ones((256, 256), "float32"), np.ones((256, 256), "float32"))
keep_off_bound_processors()
others = [int(it) for it in os.listdir("/proc/self/task") if int(it) != threading.get_native_id()]
bound = [processors for it in others if len(processors := os.sched_getaffinity(it)) == 1]
assert bound, "TVM binds its workers"
assert not any(processors & os.sched_getaffinity(0) for processors in bound)
"""
    names = ("TVM_NUM_THREADS", "TVM_BIND_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    result = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr


class Program(CpuProgram):
    """One whose calls take no time."""

    def __init__(self) -> None:
        pass

    def call(self) -> None:
        pass

    def seconds(self, calls: int, repeats: int, flush_cache: bool) -> list[float]:
        return [1e-3] * repeats


@pytest.mark.skipif(len(ALLOWED) < 2, reason="this process may use one processor alone")
def test_programs_are_timed_off_bound_processors() -> None:
    def timed() -> None:
        Program().estimate(1e-3, math.inf)

    with worker_on({ALLOWED[-1]}):
        assert affinity_after(timed) == set(ALLOWED[:-1])
