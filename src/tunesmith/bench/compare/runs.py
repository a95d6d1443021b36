"""What a comparison is made of: its settings, its runs, and what these gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tunesmith.bench.compare.problems import (
    MeasuredProblem,
    Problem,
    RecordedProblem,
    SyntheticProblem,
)
from tunesmith.bench.compare.score import REPEATS
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.tuners import TunerChoice
from tunesmith.bench.pages.provenance import origin_now, together
from tunesmith.budget import Budget
from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import UsageError

# The last day of measured traces that do not tell theirs.
_LAST_UNDATED = "2026-11-28"


@dataclass(frozen=True)
class CompareSettings:
    """How often each tuner searches each problem, and how long.

    ``seconds`` of tuning and ``trials`` limit a run; a recorded space without any limit has that of
    its score. Repeat r has the seed ``seed`` + r. ``workers`` is how many recorded spaces are
    searched at a time, None: as many as there are processors.

    Raises ``UsageError`` for a value that makes no sense.
    """

    repeats: int = REPEATS
    seconds: float | None = None
    trials: int | None = None
    seed: int = 0
    workers: int | None = None

    def __post_init__(self) -> None:
        Budget(self.seconds, self.trials)
        for name, least in (("repeats", 1), ("workers", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} must be {least} or more, not {value}")

    @property
    def processes(self) -> int:
        """How many recorded spaces are searched at a time."""
        return self.workers or usable_cores()


@dataclass(frozen=True)
class Run:
    """One search of a comparison: ``repeat`` counts from 0."""

    problem: Problem
    tuner: TunerChoice
    repeat: int

    @property
    def words(self) -> str:
        """Which one it is, for people."""
        return f"{self.problem.label}, {self.tuner.label}, repeat {self.repeat + 1}"

    @property
    def answers(self) -> dict[str, Any]:
        """Of the job of a simulated run: where its measurements come from, and what the tuner sees
        beside the space."""
        if isinstance(self.problem, SyntheticProblem):
            return {"synthetic": self.problem.label}
        assert isinstance(self.problem, RecordedProblem)
        return {
            "record": str(self.problem.path),
            "transfer": self.tuner.transfer,
            "sees": self.tuner.sees,
            "sources": [str(path) for path in self.problem.sources],
        }


@dataclass(frozen=True)
class Crash:
    """A run that failed, and why, in one line."""

    run: Run
    why: str


@dataclass
class Results:
    """What the runs gave so far: their traces, and the crashes."""

    problems: Sequence[Problem]
    tuners: Sequence[TunerChoice]
    traces: dict[Run, Trace] = field(default_factory=dict)
    crashes: list[Crash] = field(default_factory=list)

    def of(self, problem: Problem, tuner: TunerChoice) -> dict[int, Trace]:
        """The traces of a tuner on a problem by their repeats, in the order of these."""
        runs = [run for run in self.traces if (run.problem, run.tuner) == (problem, tuner)]
        return {run.repeat: self.traces[run] for run in sorted(runs, key=lambda run: run.repeat)}

    def crashed(self, problem: Problem, tuner: TunerChoice) -> list[Crash]:
        """The crashes of a tuner on a problem."""
        return [c for c in self.crashes if (c.run.problem, c.run.tuner) == (problem, tuner)]

    def machine(self, problem: Problem) -> dict[str, Any] | None:
        """What the runs of a workload were measured on; None where there are none, or simulated."""
        if not isinstance(problem, MeasuredProblem):
            return None
        machines = (trace.machine for run, trace in self.traces.items() if run.problem == problem)
        return next((dict(machine) for machine in machines if machine), None)

    def origin(self) -> dict[str, Any]:
        """Where figures of these runs come from: the machine that did most of those that name one,
        else this one, and all days and versions of the runs. Measured runs without a date count as
        of the last day of such, others as of today."""
        now = origin_now()
        each = [
            {
                "date": trace.date or (_LAST_UNDATED if trace.machine else now["date"]),
                "machine": now["machine"],
                "versions": {
                    **(trace.libraries or now["versions"]),
                    "tunesmith": trace.version or now["versions"]["tunesmith"],
                },
            }
            for trace in self.traces.values()
        ]
        found = {**now, **together(each or [now])}
        machines = [trace.machine for trace in self.traces.values() if trace.machine]
        if machines:
            runs = Counter(machine["fingerprint"] for machine in machines)
            ((most, _),) = runs.most_common(1)
            found["machine"] = next(dict(it) for it in machines if it["fingerprint"] == most)
        return found


Watch = Callable[[Results, str, float], None]
"""Is told of the results so far, of the run under way, and of the share of it that is done."""
