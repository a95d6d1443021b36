"""Compares two programs in turn, each in its own process, and reports the median ratio.

Thread pools that spin in one process slow down the other one's, and a shared machine drifts by a
factor of two within minutes: so the sides live apart, take turns in short rounds, and only ratios
of neighbouring rounds count.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tunesmith.errors import TunesmithError

ROUND_SECONDS = 0.05
# Threads of the side that just ran keep spinning for a while.
_PAUSE = 0.02


@dataclass(frozen=True)
class Comparison:
    """How two programs compare. ``ratio`` above 1: the first one is faster.

    ``low`` and ``high`` bound the median ratio with 95 % confidence. ``first`` and ``second`` are
    the median seconds of a call while taking turns; ``first_alone`` and ``second_alone`` those of
    a run by itself, as a check that the sides did not disturb each other.
    """

    ratio: float
    low: float
    high: float
    first: float
    second: float
    first_alone: float
    second_alone: float
    pairs: int


class Side:
    """A process that times its program when asked. Raises ``TunesmithError`` if it cannot."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tunesmith.bench.side"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TVM_NUM_THREADS": str(description["cores"])},
        )
        try:
            self._ask(description)
        except BaseException:
            self.close()
            raise

    def round(self, seconds: float = ROUND_SECONDS) -> float:
        """Mean seconds of a call over about ``seconds``."""
        return float(self._ask({"seconds": seconds})["seconds"])

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise TunesmithError("a side of the comparison ended unexpectedly: run it again")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise TunesmithError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # a request that it did not live to read
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def compare(first: Mapping[str, Any], second: Mapping[str, Any], pairs: int = 25) -> Comparison:
    """Time two sides in turn, ``pairs`` rounds each, after a run of each by itself.

    Raises ``TunesmithError`` if a side cannot run.
    """
    with Side(first) as one:
        alone_one = statistics.median(one.round() for _ in range(5))
        with Side(second) as two:
            alone_two = statistics.median(two.round() for _ in range(5))
            rounds = [_pair(one, two, index) for index in range(pairs)]
    ratios = [there / here for here, there in rounds]
    low, high = median_interval(ratios)
    return Comparison(
        ratio=statistics.median(ratios),
        low=low,
        high=high,
        first=statistics.median(here for here, _ in rounds),
        second=statistics.median(there for _, there in rounds),
        first_alone=alone_one,
        second_alone=alone_two,
        pairs=pairs,
    )


def _pair(one: Side, two: Side, index: int) -> tuple[float, float]:
    """One round of each; they take turns at going first."""
    times = {}
    for side in (one, two) if index % 2 == 0 else (two, one):
        time.sleep(_PAUSE)
        times[side] = side.round()
    return times[one], times[two]


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, from the order of the values alone.

    With n values it lies between the k-th smallest and the k-th largest, k the largest number for
    which a fair coin shows fewer than k heads in n throws with probability at most 2.5 %.
    """
    ordered, n = sorted(values), len(values)
    tail, k = 0.0, 0
    while tail + math.comb(n, k) / 2**n <= 0.025:
        tail += math.comb(n, k) / 2**n
        k += 1
    k = max(1, k)
    return ordered[k - 1], ordered[n - k]
