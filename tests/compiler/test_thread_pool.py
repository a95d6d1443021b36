"""A thread that calls kernels keeps off the processors that a pool's workers are bound to.

Each test has a process of its own: pools of kernels that ran in this one have bound workers, too.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import pytest

from tunesmith.compiler.thread_pool import keep_off_bound_processors
from tunesmith.measure.trial.cpu_program import CpuProgram

ALLOWED = sorted(os.sched_getaffinity(0))

needs_two = pytest.mark.skipif(len(ALLOWED) < 2, reason="this process may use one processor alone")


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


def left(step: Callable[[], None], own: set[int], of_worker: set[int]) -> set[int]:
    """The processors left to a thread after a step, beside a worker, in a process of their own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_left, step, own, of_worker).result(300.0)


def _left(step: Callable[[], None], own: set[int], of_worker: set[int]) -> set[int]:
    os.sched_setaffinity(0, own)
    with worker_on(of_worker):
        step()
        return os.sched_getaffinity(0)


@needs_two
def test_bound_processors_are_left_to_those_bound_to_them() -> None:
    every = set(ALLOWED)
    assert left(keep_off_bound_processors, every, {ALLOWED[-1]}) == every - {ALLOWED[-1]}


@needs_two
def test_threads_that_may_go_anywhere_take_nothing() -> None:
    every = set(ALLOWED)
    assert left(keep_off_bound_processors, every, every) == every


def test_a_thread_is_never_left_without_a_processor() -> None:
    only = {ALLOWED[0]}
    assert left(keep_off_bound_processors, only, only) == only


class Program(CpuProgram):
    """One whose calls take no time."""

    def __init__(self) -> None:
        pass

    def call(self) -> None:
        pass

    def seconds(self, calls: int, repeats: int, flush_cache: bool) -> list[float]:
        return [1e-3] * repeats


def timed() -> None:
    assert Program().estimate(1e-3, math.inf) == 1e-3


@needs_two
def test_programs_are_timed_off_bound_processors() -> None:
    every = set(ALLOWED)
    assert left(timed, every, {ALLOWED[-1]}) == every - {ALLOWED[-1]}
