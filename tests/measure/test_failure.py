"""How trials and processes fail, in one line."""

from __future__ import annotations

import math
import signal

import pytest

from tunesmith.measure.failure import (
    Verdict,
    describe_exit,
    last_line,
    signal_name,
    tells_no_memory,
)
from tunesmith.measurement import Outcome


@pytest.mark.parametrize(
    ("status", "words", "text"),
    [
        (signal.SIGSEGV, "", "killed by SIGSEGV"),
        (signal.SIGSEGV | 0x80, "", "killed by SIGSEGV"),
        (signal.SIGABRT, "LLVM ERROR: broken", "killed by SIGABRT: LLVM ERROR: broken"),
        (3 << 8, "", "it ended the process with exit status 3"),
        (0, "", "it ended the process with exit status 0"),
    ],
)
def test_deaths(status: int, words: str, text: str) -> None:
    assert describe_exit(status, words) == text


def test_signals_without_a_name() -> None:
    assert signal_name(signal.SIGRTMIN + 3) == f"signal {signal.SIGRTMIN + 3}"


@pytest.mark.parametrize(
    ("output", "line"),
    [(b"", ""), (b"\n \n", ""), (b"a\nb c\n\n", "b c"), (b"\xff\x01x", "� x")],
)
def test_last_lines(output: bytes, line: str) -> None:
    assert last_line(output) == line


def test_signs_of_memory_that_ran_out() -> None:
    assert tells_no_memory("LLVM ERROR: out of memory")
    assert tells_no_memory("InternalError: std::bad_alloc")
    assert tells_no_memory("Unable to allocate 3.0 GiB")
    assert not tells_no_memory("the memory scope is wrong")


def test_seconds_of_a_verdict() -> None:
    assert Verdict(Outcome.NO_ERROR, run_seconds=(3.0, 1.0, 2.0)).seconds == 2.0
    assert Verdict(Outcome.RUN_TIMEOUT, "late").seconds == math.inf
