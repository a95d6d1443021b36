"""The tables of a comparison, for Markdown and HTML alike, of the data that its file holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.reports import format as fmt
from tunesmith.tuners.short_runs import mostly_random

Data = Mapping[str, Any]
Row = Mapping[str, Any]


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


def standings_table(data: Data) -> Table:
    """The tuners, the best first, in the mean over all problems."""
    head = (
        *("tuner", "score", "matched", "best", "runs to 95 %", "invalid", "ms a config"),
        "crashed",
    )
    rows = [
        [
            row["tuner"],
            *_scores(row),
            fmt.percent(row["best_share"]),
            fmt.percent(row["reached_95"], 0),
            fmt.percent(row["invalid_rate"]),
            fmt.decimal(row["thinking_ms_per_config"]),
            str(row["crashed"] or "none"),
        ]
        for row in data["tuners"]
    ]
    return Table("All problems", "Means over the problems, the best first.", head, rows)


def problem_tables(data: Data) -> list[Table]:
    """What tuners have found after so many trials, and a table for each problem, with the tuners
    in the same order."""
    after = after_trials_table(data)
    found = [_problem_table(data, problem) for problem in data["problems"]]
    return found if after is None else [after, *found]


def after_trials_table(data: Data) -> Table | None:
    """How tuners are to the reference after so many trials; None where there is nothing to tell."""
    compared = data.get("after_trials") or {"rows": []}
    counts = sorted({int(count) for row in compared["rows"] for count in row["after"]})
    if not counts:
        return None
    rows = [
        [
            f"{row['tuner']}, {row['problems']}",
            *(
                f"{found[0]:.2f} ± {found[1]:.2f}"
                if (found := row["after"].get(str(count)))
                else fmt.NOTHING
                for count in counts
            ),
        ]
        for row in compared["rows"]
    ]
    return Table(
        "After so many trials",
        f"How long a call of the best takes, relative to that of {compared['reference']} after as "
        "many trials: the geometric mean over pairs of runs with the same seed ± its standard "
        "error. Less is better.",
        ("tuner, problems", *(fmt.counted(count, "trial") for count in counts)),
        rows,
    )


def _problem_table(data: Data, problem: Row) -> Table:
    head = (
        *("tuner", "score", "matched", "best", "its std", "to 95 %", "invalid"),
        *("ms a config", "trials", "repeats"),
    )
    name = problem["problem"]
    known = {row["tuner"]: row for row in data["rows"] if row["problem"] == name}
    rows = [known[standing["tuner"]] for standing in data["tuners"]]
    crashes = Counter(
        (crash["tuner"], crash["why"]) for crash in data["crashes"] if crash["problem"] == name
    )
    remarks = [
        f"{tuner}: {fmt.counted(count, 'run')} crashed: {why}"
        for (tuner, why), count in crashes.items()
    ]
    remarks += [
        f"{row['tuner']}: of {row['evaluations']:.0f} trials of a run "
        f"{min(row['start'], row['evaluations']):.0f} are its random start"
        for row in rows
        if row.get("start") and row["evaluations"]
        if mostly_random(row["start"], row["evaluations"])
    ]
    return Table(name, _about(problem, rows), head, [*map(_cells, rows)], remarks)


def _cells(row: Row) -> list[str]:
    best, error, variance = (
        row[name] for name in ("best_share", "best_share_error", "best_share_variance")
    )
    median = fmt.decimal(row["evaluations_to_95"], 0)
    return [
        row["tuner"],
        *_scores(row),
        fmt.NOTHING if best is None else fmt.percent_with_error(best, error, row["repeats"]),
        fmt.percent(math.sqrt(variance) if row["repeats"] > 1 else None),
        f"{median} ({fmt.percent(row['reached_95'], 0)})" if row["repeats"] else fmt.NOTHING,
        fmt.percent(row["invalid_rate"]),
        fmt.decimal(row["thinking_ms_per_config"]),
        fmt.decimal(row["evaluations"], 0),
        f"{row['repeats']}" + (f", {row['crashed']} crashed" if row["crashed"] else ""),
    ]


def _scores(row: Row) -> tuple[str, str]:
    """With the standard deviation, and matched."""
    score = fmt.decimal_with_error(row["score"], row["score_std"])
    return score, fmt.decimal(row["score_matched"])


def _about(problem: Row, rows: Sequence[Row]) -> str:
    if problem["kind"] == "recorded":
        rate = problem["invalid_rate"]
        return (
            f"{fmt.counted(problem['configs'], 'config')} on record, "
            f"{fmt.percent(rate) if rate else 'none'} of them invalid; random search takes "
            f"{fmt.counted(problem['budget_evaluations'], 'trial')}, or "
            f"{fmt.duration(problem['budget_seconds'])}, for 95 % of the way from the median to "
            f"the optimum of {fmt.seconds(problem['optimum_seconds'])}."
        )
    if problem["kind"] == "synthetic":
        return "A synthetic space; the optimum is the best that any run found."
    best = min((row["best_seconds"] for row in rows if row["best_seconds"]), default=None)
    speed = fmt.speed(best, problem["flops"])
    return f"Measured on this machine; the best found: {fmt.seconds(best)}, {speed}."
