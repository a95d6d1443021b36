"""What the runs of each line of an experiment come to, alone and in pairs with those of others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tunesmith.bench.autotvm.mean_curves import catching_up, curves_of, found_after
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import WANTED_SHARE, Cell, Summary, mean, trials_to
from tunesmith.bench.papers.estimate import Estimate, mean_over

FROM_NOTHING = "from nothing"
"""The line without a model of other tasks, where some have one."""

REFERENCES = ("random", "GA", FROM_NOTHING)
"""The lines that others are compared with, run by run of the same seed."""


def lines(
    summary: Summary, limit: int, references: Sequence[str] = REFERENCES
) -> list[dict[str, Any]]:
    """A row for each line: the median ``trials_to_95`` over its runs; the share of runs that
    ``reached`` it; the mean ``best`` share and its ``best_error``; ``thinking``, the share of the
    time, and ``thinking_ms`` a config; the ``ratios`` of trials to 95 % to those of each reference;
    the shares of pairs in which it is ``sooner`` there, and ``later``; and the trials that a line
    needs to come as far as each, as a share of those that the other needed (``catches_up``) and of
    all that it had (``catches_up_of_all``): medians over pairs of runs of the same problem and
    repeat, of which ``never_catches_up`` has the share that did not within the limit.
    ``mean_catches_up`` are the trials after which the mean speed over runs is as
    high as the mean that each reference has in the end, and ``mean_catches_up_between`` what two
    thirds of bootstrap samples of the repeats lie between. ``after`` some trials the mean of the
    best shares is what it says.

    Whatever never happened has taken longer than anything that did: a median is None where that is
    so of half of the runs or pairs, or more."""
    of_lines = {
        label: [cell for cell in summary.cells if cell.traces and cell.tuner.label == label]
        for label in summary.labels
    }
    curves = {label: curves_of(own, limit) for label, own in of_lines.items()}
    found = []
    for label, own in of_lines.items():
        if not own:
            continue
        to_95 = [
            trials_to(trace, cell.optimum / WANTED_SHARE) for cell in own for trace in cell.traces
        ]
        best = mean_over(Estimate.mean(cell.best.tolist()) for cell in own)
        times = [cell.time for cell in own]
        pairs = {
            other: _pairs(own, of_lines[other])
            for other in references
            if other != label and of_lines.get(other)
        }
        shares_of = {other: _shares(each, limit) for other, each in pairs.items()}
        ends = {other: catching_up(curves[label], curves[other]) for other in pairs}
        found.append(
            {
                "line": label,
                "runs": sum(len(cell.traces) for cell in own),
                "trials_to_95": _median(to_95),
                "reached": mean(cell.reached for cell in own),
                "best": best.value,
                "best_error": best.error,
                "after": found_after(curves[label].values(), limit),
                "thinking": mean(each["search"] / sum(each.values()) for each in times),
                "thinking_ms": mean(cell.thinking_ms for cell in own),
                "ratios": {other: _ratio(each, limit) for other, each in pairs.items()},
                "sooner": {other: _sooner(each) for other, each in pairs.items()},
                "later": {
                    other: _sooner([_Pair(it.second, it.first, it.optimum) for it in each])
                    for other, each in pairs.items()
                },
                "catches_up": {name: _median(its.of_needed) for name, its in shares_of.items()},
                "catches_up_of_all": {name: _median(its.of_all) for name, its in shares_of.items()},
                "never_catches_up": {name: its.never for name, its in shares_of.items()},
                "mean_catches_up": {name: end.trials for name, end in ends.items()},
                "mean_catches_up_between": {name: list(end.between) for name, end in ends.items()},
            }
        )
    return found


class _Pair(NamedTuple):
    """The runs of two lines on the same problem with the same seed, and the time of a call of the
    problem's best in seconds."""

    first: Trace
    second: Trace
    optimum: float

    @property
    def to_95(self) -> tuple[float, float]:
        """The trials of both to 95 % of the best; infinite where a run did not come so far."""
        wanted = self.optimum / WANTED_SHARE
        return trials_to(self.first, wanted), trials_to(self.second, wanted)


def _pairs(own: Sequence[Cell], others: Sequence[Cell]) -> list[_Pair]:
    of_problems = {cell.problem: cell for cell in others}
    return [
        _Pair(first, second, cell.optimum)
        for cell in own
        if cell.problem in of_problems
        for first, second in cell.beside(of_problems[cell.problem])
    ]


def _ratio(pairs: Sequence[_Pair], limit: int) -> float | None:
    """Of trials to 95 %: 1 where neither run of a pair came so far, and beside one that did not, as
    if it had with the trial after its last."""
    ratios = []
    for own, other in (pair.to_95 for pair in pairs):
        neither = math.isinf(own) and math.isinf(other)
        ratios.append(1.0 if neither else own / min(other, limit + 1))
    return _median(ratios)


def _sooner(pairs: Sequence[_Pair]) -> float | None:
    """The share of pairs whose first run needed fewer trials to 95 %; None without any."""
    return mean(float(own < other) for own, other in (pair.to_95 for pair in pairs))


@dataclass(frozen=True)
class _Shares:
    """For each pair of runs the trials to the speed that the second one ended with, as a share of
    those that it needed itself, and of all that it had; infinite where the first run did not come
    so far, and ``never`` is the share of such pairs."""

    of_needed: Sequence[float]
    of_all: Sequence[float]
    never: float | None


def _shares(pairs: Sequence[_Pair], limit: int) -> _Shares:
    valid = [it for it in pairs if len(it.second.best) and math.isfinite(it.second.found)]
    of_needed, of_all = [], []
    for first, second, _ in valid:
        wanted = second.best[-1]
        needed = trials_to(first, wanted)
        of_needed.append(needed / trials_to(second, wanted))
        of_all.append(needed / limit)
    return _Shares(of_needed, of_all, float(np.mean(np.isinf(of_all))) if valid else None)


def _median(values: Sequence[float]) -> float | None:
    """None of nothing, and where it is infinite."""
    found = statistics.median(values) if values else math.inf
    return found if math.isfinite(found) else None
