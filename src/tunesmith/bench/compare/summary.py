"""What the runs of a comparison come to: a row for each tuner on each problem, and for each tuner.

A speed is a share of the problem's optimum, which is the best on record, or the best that any run
found where a workload is measured, as it was measured again at the end of that run; 0 while nothing
valid was found.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.problems import Problem, RecordedProblem
from tunesmith.bench.compare.runs import Results
from tunesmith.bench.compare.score import Baselines, Scores, mean_score, score
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.tuners import TunerChoice
from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES

Floats = npt.NDArray[np.float64]

WANTED_SHARE = 0.95
"""Of the optimum's speed; how many trials that takes is in the tables."""


@dataclass(frozen=True)
class Cell:
    """A tuner on a problem: the traces of its ``runs`` by their repeats, in the order of these.

    ``scores`` is None where there is nothing to score by. ``best`` holds the share of the optimum's
    speed that each repeat ended with. ``to_wanted`` is the median number of trials until
    ``WANTED_SHARE`` of it, None unless more than half of the repeats came that far, and ``reached``
    the share of those that did. ``time`` are mean seconds of a run by phase; ``outcomes`` and
    ``costs`` are configs, and the seconds they cost, by class, over all repeats. Trials and seconds
    are those of the tuner's clock, which its multiplier slows.
    """

    problem: Problem
    tuner: TunerChoice
    runs: Mapping[int, Trace]
    crashes: Sequence[str]
    optimum: float
    scores: Scores | None
    best: Floats
    to_wanted: float | None
    reached: float
    time: dict[str, float]
    outcomes: Counter[Outcome]
    costs: dict[Outcome, float]

    @property
    def traces(self) -> list[Trace]:
        """Those of all runs."""
        return list(self.runs.values())

    def beside(self, other: Cell) -> list[tuple[Trace, Trace]]:
        """The runs of both that have the same seed."""
        theirs = other.runs
        return [(own, theirs[repeat]) for repeat, own in self.runs.items() if repeat in theirs]

    @property
    def tried(self) -> int:
        """How many configs were tried, in all repeats."""
        return self.outcomes.total()

    @property
    def invalid_rate(self) -> float | None:
        """The share of configs that failed; None without any."""
        valid = self.outcomes[Outcome.NO_ERROR]
        return (self.tried - valid) / self.tried if self.tried else None

    @property
    def random_start(self) -> int:
        """How many trials of a run are the tuner's random start."""
        choice = self.tuner
        start = choice.tuner.random_start(transfers=choice.transfer is not None)
        return math.ceil(start / choice.multiplier)

    @property
    def thinking_ms(self) -> float | None:
        """Milliseconds of thinking a config, by the real clock; None without any."""
        spent = 1e3 * self.time["search"] * self.tuner.multiplier * len(self.traces)
        return spent / self.tried if self.tried else None

    def row(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "tuner": self.tuner.label,
            "problem": self.problem.label,
            **_score_fields(self.scores),
            "evaluations_to_95": self.to_wanted,
            "reached_95": self.reached,
            "invalid_rate": self.invalid_rate,
            "thinking_ms_per_config": self.thinking_ms,
            **_best_fields(self.best),
            "best_seconds": _finite(min((trace.found for trace in self.traces), default=math.inf)),
            "evaluations": mean(trace.trials for trace in self.traces),
            "start": self.random_start,
            "repeats": len(self.traces),
            "crashed": len(self.crashes),
            "time": self.time,
            "outcomes": {outcome.name: count for outcome, count in self.outcomes.items()},
            "outcome_seconds": {outcome.name: spent for outcome, spent in self.costs.items()},
        }


@dataclass(frozen=True)
class Standing:
    """A tuner over all problems: means of its cells, and the sum of its crashes."""

    tuner: TunerChoice
    cells: Sequence[Cell]

    @property
    def scores(self) -> Scores | None:
        """The mean over the problems; None unless all that can be scored are."""
        scored = [each.scores for each in self.cells if isinstance(each.problem, RecordedProblem)]
        known = [each for each in scored if each is not None]
        if not known or len(known) < len(scored):
            return None
        return Scores(
            mean_score(each.paper for each in known), mean_score(each.matched for each in known)
        )

    @property
    def crashed(self) -> int:
        """How many of its runs failed."""
        return sum(len(cell.crashes) for cell in self.cells)

    def row(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "tuner": self.tuner.label,
            **_score_fields(self.scores),
            "best_share": mean(float(c.best.mean()) for c in self.cells if len(c.best)),
            "reached_95": mean(cell.reached for cell in self.cells if cell.traces),
            "invalid_rate": mean(c.invalid_rate for c in self.cells),
            "thinking_ms_per_config": mean(c.thinking_ms for c in self.cells),
            "crashed": self.crashed,
        }


@dataclass(frozen=True)
class Summary:
    """All cells, problem by problem, and the tuners, the best first."""

    problems: Sequence[Problem]
    cells: Sequence[Cell]
    standings: Sequence[Standing]

    @property
    def labels(self) -> list[str]:
        """The tuners in the order in which they were given, so that each keeps its colour."""
        return list(dict.fromkeys(cell.tuner.label for cell in self.cells))

    @property
    def crashes(self) -> list[dict[str, str]]:
        """The runs that failed, and why; JSON-ready."""
        return [
            {"tuner": cell.tuner.label, "problem": cell.problem.label, "why": why}
            for cell in self.cells
            for why in cell.crashes
        ]

    def on(self, problem: Problem) -> list[Cell]:
        """The cells of a problem, in the order of the tuners, the best first."""
        order = {standing.tuner: place for place, standing in enumerate(self.standings)}
        cells = [cell for cell in self.cells if cell.problem == problem]
        return sorted(cells, key=lambda cell: order[cell.tuner])


def summarise(results: Results) -> Summary:
    """The summary of what the runs gave so far."""
    cells = [
        _cell(results, problem, tuner, optimum)
        for problem in results.problems
        for optimum in [_optimum(results, problem)]
        for tuner in results.tuners
    ]
    standings = [
        Standing(tuner, [cell for cell in cells if cell.tuner == tuner]) for tuner in results.tuners
    ]
    return Summary(results.problems, cells, sorted(standings, key=_rank))


def _rank(standing: Standing) -> tuple[float, float]:
    """The best score first; without scores, the best speed."""
    scores, row = standing.scores, standing.row()
    first = math.inf if scores is None else -scores.paper.mean
    return first, -(row["best_share"] or 0.0)


def _optimum(results: Results, problem: Problem) -> float:
    if isinstance(problem, RecordedProblem):
        return problem.baselines.optimum
    traces = (trace for run, trace in results.traces.items() if run.problem == problem)
    return min((trace.found for trace in traces), default=math.inf)


def _cell(results: Results, problem: Problem, tuner: TunerChoice, optimum: float) -> Cell:
    runs = results.of(problem, tuner)
    traces = list(runs.values())
    needed = [trials_to(trace, optimum / WANTED_SHARE) for trace in traces]
    median = statistics.median(needed) if needed else math.inf
    outcomes, costs = _by_class(traces)
    scores = None
    if isinstance(problem, RecordedProblem) and traces:
        scores = _scores(problem.baselines, traces)
    return Cell(
        problem=problem,
        tuner=tuner,
        runs=runs,
        crashes=[crash.why for crash in results.crashed(problem, tuner)],
        optimum=optimum,
        scores=scores,
        best=speeds(np.array([trace.found for trace in traces]), optimum),
        to_wanted=_finite(median),
        reached=float(np.mean(np.isfinite(needed))) if needed else 0.0,
        time={
            phase: mean(trace.time.get(phase, 0.0) for trace in traces) or 0.0 for phase in PHASES
        },
        outcomes=outcomes,
        costs=costs,
    )


def _by_class(traces: Sequence[Trace]) -> tuple[Counter[Outcome], dict[Outcome, float]]:
    """How many configs there are of each class, and the seconds that they cost."""
    counts: Counter[Outcome] = Counter()
    costs = dict.fromkeys(Outcome, 0.0)
    for trace in traces:
        for outcome in Outcome:
            of_class = trace.outcomes == outcome.value
            counts[outcome] += int(of_class.sum())
            costs[outcome] += float(trace.costs[of_class].sum())
    return +counts, {outcome: costs[outcome] for outcome in Outcome if counts[outcome]}


def _scores(baselines: Baselines, traces: Sequence[Trace]) -> Scores:
    return score(baselines, np.array([baselines.ranks(t.ended, t.seconds) for t in traces]))


def speeds(seconds: Floats, optimum: float) -> Floats:
    """Seconds of a call as shares of the optimum's speed."""
    if math.isinf(optimum):
        return np.zeros(seconds.shape)
    return np.asarray(optimum / seconds)


def trials_to(trace: Trace, seconds: float) -> float:
    """How many trials a run took to find a call of at most so many seconds; infinite if it never
    did."""
    if not math.isfinite(seconds):
        return math.inf
    reached = np.flatnonzero(trace.best <= seconds)
    return float(reached[0] // trace.multiplier + 1) if len(reached) else math.inf


def standard_error(values: Floats, axis: int = 0) -> Floats:
    """The standard error of the mean; 0 for a single value, which says nothing of it."""
    count = values.shape[axis]
    spread = values.std(axis=axis, ddof=1) if count > 1 else np.zeros(values.mean(axis=axis).shape)
    return np.asarray(spread / math.sqrt(count))


def _score_fields(scores: Scores | None) -> dict[str, float | None]:
    names = ("score", "score_std", "score_matched", "score_matched_std")
    if scores is None:
        return dict.fromkeys(names)
    return {
        "score": scores.paper.mean,
        "score_std": scores.paper.std,
        "score_matched": scores.matched.mean,
        "score_matched_std": scores.matched.std,
    }


def _best_fields(best: Floats) -> dict[str, Any]:
    if not len(best):
        return dict.fromkeys(("best_share", "best_share_error", "best_share_variance"))
    return {
        "best_share": float(best.mean()),
        "best_share_error": float(standard_error(best)),
        "best_share_variance": float(best.var(ddof=1)) if len(best) > 1 else 0.0,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None of nothing."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
