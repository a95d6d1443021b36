"""The tables of a comparison, for Markdown and HTML alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tunesmith.bench.compare.compare import CompareSettings
from tunesmith.bench.compare.problems import Problem, RecordedProblem
from tunesmith.bench.compare.score import REPEATS, Score
from tunesmith.bench.compare.summary import Cell, Standing, Summary
from tunesmith.reports import format as fmt


@dataclass(frozen=True)
class Table:
    """A title, a line about what is in the table, its head and its rows, and remarks below it.

    The first column holds names.
    """

    title: str
    about: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


def standings_table(summary: Summary) -> Table:
    """The tuners, the best first, in the mean over all problems."""
    head = (
        "tuner",
        "score",
        "matched",
        "best",
        "runs to 95 %",
        "invalid",
        "ms a config",
        "crashed",
    )
    rows = [_standing_row(standing) for standing in summary.standings]
    return Table("All problems", "Means over the problems, the best first.", head, rows)


def problem_table(summary: Summary, problem: Problem) -> Table:
    """The tuners on one problem, in the same order."""
    head = (
        *("tuner", "score", "matched", "best", "its std", "to 95 %", "invalid"),
        *("ms a config", "trials", "repeats"),
    )
    cells = summary.on(problem)
    crashes = [line for cell in cells for line in _crashes(cell)]
    return Table(problem.label, _about(problem, cells), head, [*map(_row, cells)], crashes)


def headline(summary: Summary) -> str:
    """Who is ahead, in one line."""
    first = summary.standings[0]
    if first.scores is not None:
        paper, matched = first.scores.paper.mean, first.scores.matched.mean
        over = fmt.counted(sum(cell.scores is not None for cell in first.cells), "space")
        return f"{first.tuner.label} leads: score {paper:.2f} (matched {matched:.2f}) over {over}"
    share = first.row()["best_share"]
    if share is None:
        return "No run has ended yet"
    return f"{first.tuner.label} leads: {fmt.percent(share)} of the best speed that any run found"


def explanation(summary: Summary, settings: CompareSettings) -> list[str]:
    """What the figures are, a paragraph each."""
    lines = []
    if any(isinstance(problem, RecordedProblem) for problem in summary.problems):
        lines.append(
            "**score** is that of Willemsen et al. 2024 (doi 10.1016/j.future.2024.05.021): 0 is "
            "random search, 1 the optimum from the start. Its baseline is the mean rank of random "
            "search and what is scored the median of runs, so that random search itself has about "
            "+0.16. The baseline of **matched** is the median of simulated random searches, and "
            "random search has about 0. After ± stands the standard deviation over 200 bootstrap "
            "replicas of the repeats. Differences under 0.1 need more repeats."
        )
        lines.append(
            "Recorded spaces are searched by a simulated clock, which advances by the recorded "
            "cost of each trial and by the processor time that the tuner thinks."
        )
        if settings.seconds is not None or settings.trials is not None:
            lines.append(
                "Runs had a limit of their own. Scores are over the time that the method gives; a "
                "run that ended before keeps its best."
            )
        if settings.repeats < REPEATS:
            lines.append(
                f"With fewer than {REPEATS} repeats scores are rough: there are {settings.repeats}."
            )
    lines.append(
        "**best** is the speed that a run ended with as a share of the optimum's, the mean over "
        "repeats ± its standard error, and **its std** the standard deviation. The optimum is the "
        "best on record; where a workload is measured, the best that any run found. **to 95 %** is "
        "the median number of trials until 95 % of the optimum's speed, and the share of runs that "
        "came that far."
    )
    if not all(isinstance(problem, RecordedProblem) for problem in summary.problems):
        lines.append(
            "A measured run's best is what was measured again, more carefully, at its end. Its "
            "curve is that of its trials, but never faster than this, and ends with it."
        )
    multipliers = sorted({each.tuner.multiplier for each in summary.standings} - {1})
    if multipliers:
        named = " and ".join(f"**×{multiplier}**" for multiplier in multipliers)
        lines.append(
            f"{named} behind a tuner's name: so many configs are one trial of it, and it has so "
            "many times the seconds. Its trials and times are shown, and scored, by that count and "
            "that slower clock."
        )
    return lines


def _standing_row(standing: Standing) -> list[str]:
    row, scores = standing.row(), standing.scores
    return [
        standing.tuner.label,
        _score(scores.paper if scores else None),
        _plain(scores.matched if scores else None),
        fmt.percent(row["best_share"]),
        fmt.percent(row["reached_95"], 0),
        fmt.percent(row["invalid_rate"]),
        fmt.decimal(row["thinking_ms_per_config"]),
        str(standing.crashed or "none"),
    ]


def _row(cell: Cell) -> list[str]:
    row, scores = cell.row(), cell.scores
    error = row["best_share_error"]
    best = fmt.percent(row["best_share"])
    variance = row["best_share_variance"]
    crashed = f", {len(cell.crashes)} crashed" if cell.crashes else ""
    return [
        cell.tuner.label,
        _score(scores.paper if scores else None),
        _plain(scores.matched if scores else None),
        best if error is None else f"{best} ± {100 * error:.1f}",
        fmt.percent(None if variance is None else math.sqrt(variance)),
        _evaluations(cell),
        fmt.percent(cell.invalid_rate),
        fmt.decimal(cell.thinking_ms),
        fmt.decimal(row["evaluations"], 0),
        f"{len(cell.traces)}{crashed}",
    ]


def _about(problem: Problem, cells: Sequence[Cell]) -> str:
    if isinstance(problem, RecordedProblem):
        scale, count = problem.baselines, len(problem.recording.configs)
        invalid = fmt.percent(scale.invalid_rate) if scale.invalid_rate else "none"
        return (
            f"{fmt.counted(count, 'config')} on record, {invalid} of them invalid; "
            f"random search takes {fmt.counted(scale.evaluations, 'trial')}, or "
            f"{fmt.duration(scale.budget)}, for 95 % of the way from the median to the optimum of "
            f"{fmt.seconds(scale.optimum)}."
        )
    best = cells[0].optimum if cells else math.inf
    flops = problem.task.operator.flops
    return (
        f"Measured on this machine; the best found: {fmt.seconds(best)}, {fmt.speed(best, flops)}."
    )


def _crashes(cell: Cell) -> list[str]:
    """A line for each way in which runs of a tuner failed."""
    return [
        f"{cell.tuner.label}: {fmt.counted(count, 'run')} crashed: {why}"
        for why, count in Counter(cell.crashes).items()
    ]


def _evaluations(cell: Cell) -> str:
    if not cell.traces:
        return fmt.NOTHING
    median = fmt.NOTHING if cell.to_wanted is None else f"{cell.to_wanted:,.0f}"
    return f"{median} ({fmt.percent(cell.reached, 0)})"


def _score(score: Score | None) -> str:
    return fmt.NOTHING if score is None else f"{score.mean:.2f} ± {score.std:.2f}"


def _plain(score: Score | None) -> str:
    return fmt.NOTHING if score is None else f"{score.mean:.2f}"
