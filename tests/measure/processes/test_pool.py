"""Worker pools: results, and calls that fail, crash or hang."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cli.command import eventually
from tests.patience import PATIENCE
from tunesmith.measure.processes.pool import FailedCall, WorkerPool


def half(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def ends(how: str) -> str:
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "exit":
        print("it gives up", file=sys.stderr)
        os._exit(3)
    return how


def pid_and_length(text: str) -> tuple[int, int]:
    return os.getpid(), len(text)


def has_ended(pid: int) -> bool:
    """Whether all threads of a child have: its main thread may end before the others."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """Workers have to find this file: functions are sent by name."""
    monkeypatch.syspath_prepend(str(pytestconfig.rootpath))


def test_calls_that_raise_or_crash_cost_themselves_alone() -> None:
    with WorkerPool(2, PATIENCE) as pool:
        halves = dict(pool.map(half, [(2,), (3,), (8,)]))
        endings = dict(pool.map(ends, [("crash",), ("fine",), ("exit",), ("well",)]))
    assert halves == {0: 1, 1: FailedCall("ValueError: 3 is odd"), 2: 4}
    assert endings == {
        0: FailedCall("killed by SIGSEGV"),
        1: "fine",
        2: FailedCall("it ended the process with exit status 3: it gives up"),
        3: "well",
    }


def test_a_call_that_hangs_is_given_up() -> None:
    with WorkerPool(1, 0.2) as pool:
        assert list(pool.map(time.sleep, [(PATIENCE,)])) == [
            (0, FailedCall("not done after 0.2 s"))
        ]


def test_there_are_no_more_workers_than_calls_and_none_is_left() -> None:
    long = "x" * (1 << 22)
    with WorkerPool(8, PATIENCE) as pool:
        first = [result for _, result in pool.map(pid_and_length, [(long,)])]
        again = [result for _, result in pool.map(pid_and_length, [("",)])]
    ((pid, length),), ((same, _),) = first, again
    assert (length, same) == (1 << 22, pid)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_was_given_up_is_no_answer_to_a_later_call() -> None:
    """As after Ctrl-C."""
    with WorkerPool(2, PATIENCE) as pool:
        given_up = pool.map(pid_and_length, [("a",), ("bb",)])
        next(given_up)
        given_up.close()
        assert dict(pool.map(half, [(2,), (8,)])) == {0: 1, 1: 4}


def test_workers_end_with_the_thread_that_started_them_and_are_replaced() -> None:
    with WorkerPool(2, PATIENCE) as pool:
        calls = [("a",), ("bb",)]
        with ThreadPoolExecutor(1) as thread:
            before = thread.submit(lambda: dict(pool.map(pid_and_length, calls))).result()
        workers = {pid for pid, _ in before.values()}
        assert len(workers) == 2
        eventually(lambda: all(has_ended(pid) for pid in workers), "they end with their thread")
        after = dict(pool.map(pid_and_length, calls))
    assert [after[number][1] for number in range(2)] == [1, 2]
    assert workers.isdisjoint(pid for pid, _ in after.values())


def test_a_worker_beside_many_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("few files may be open on this machine")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with WorkerPool(1, PATIENCE) as pool:
            assert list(pool.map(half, [(4,)])) == [(0, 2)]
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
