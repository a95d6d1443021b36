"""What the process of a side does: it holds one program and times calls of it on request.

It reads JSON lines from standard input: first the side, then ``{"seconds": s}`` for each round, and
answers each with a JSON line: the seconds of a call, and the way that was found to be the fastest
where a library has several. It ends with its input, and with the process that started it, whose
number is its argument.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from tunesmith.bench.timing.fastest import Fastest
from tunesmith.errors import describe
from tunesmith.measure.processes.containment import die_with

# A round ends at the first look at the clock after its time; looks are this many calls apart.
_LOOKS_PER_ROUND = 8

Prepare = Callable[[Mapping[str, Any]], tuple[Callable[[], object], int]]
"""Makes of the description of a side a call, and for how many calls of its program that stands."""


def serve(prepare: Prepare) -> None:
    """Serve the side that is described on standard input, until that ends."""
    die_with(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        _serve(prepare, answers)


def _serve(prepare: Prepare, answers: TextIO) -> None:
    described = json.loads(sys.stdin.readline())
    try:
        call, calls = prepare(described)
        begun = time.perf_counter()
        call()
        first = time.perf_counter() - begun
    except Exception as error:
        _answer(answers, {"error": describe(error)})
        return
    _answer(answers, {"first": first / calls, "peak_bytes": peak_bytes()})
    way = None
    for line in sys.stdin:
        seconds = json.loads(line)["seconds"]
        if isinstance(call, Fastest):  # in the first round: then the other sides stand still
            way, call = call.chosen(partial(seconds_a_call, duration=seconds))
        _answer(answers, {"seconds": seconds_a_call(call, seconds) / calls, "way": way})


def peak_bytes() -> int:
    """The most memory that this process has used; 0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    # The same of getrusage begins with what the parent had used.
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks else 0


def seconds_a_call(call: Callable[[], object], duration: float) -> float:
    """The mean time of a call over a round of about ``duration`` seconds."""
    call()  # wakes threads that went to sleep while the other side ran
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-9)
    step = max(1, int(duration / once / _LOOKS_PER_ROUND))
    calls = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < duration or calls == 0:
        for _ in range(step):
            call()
        calls += step
    return elapsed / calls


def _answer(answers: TextIO, message: Mapping[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()
