"""What the parts of the experiments' page are made of: data, as ``search_data`` gives it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tunesmith.bench.compare.summary import mean
from tunesmith.bench.pages.provenance import by_machine, caveat
from tunesmith.bench.pages.templates import markdown, table
from tunesmith.bench.papers.estimate import Estimate, mean_over
from tunesmith.reports import format as fmt

Data = Mapping[str, Any]
Row = Mapping[str, Any]

_PICTURES = {
    "boxes": "how the bests of runs are distributed",
    "time": "best speed over time",
    "trials": "best speed over trials",
    "speed-up": "speed-up over the genetic tuner",
    "time-split": "what the time went to",
    "outcomes": "trials by outcome",
    "outcome-times": "time by outcome",
    "q": "best speed over trials for other q",
    "parents": "best speed over trials for other λ",
}


def experiment_section(template: str, data: Data, tuners: Sequence[str], **values: Any) -> str:
    """A part of the page by its template, with what all experiments have; its tables are of these
    tuners."""
    drawn = data["pictures"]
    crashes = Counter((each["tuner"], each["problem"], each["why"]) for each in data["crashes"])
    return markdown(
        template,
        data=data,
        settings=data["settings"],
        end=_end(data["settings"]),
        machines=by_machine(
            {each["problem"]: each.get("machine") for each in data["problems"]},
            data.get("machine", {}),
        ),
        extent=extent(data, tuners),
        standings=standings(data, tuners),
        within_start=starts(data, tuners),
        crashes=crashes,
        caveat=caveat(data["date"]),
        picture=lambda name: f"![{_PICTURES[name]}]({drawn[name]})" if name in drawn else "",
        **values,
    )


def _end(settings: Mapping[str, Any]) -> str:
    """After what a run ends."""
    limits = []
    if settings["seconds"] is not None:
        limits.append(f"{settings['seconds']:g} s of tuning")
    if settings["trials"] is not None:
        limits.append(fmt.counted(settings["trials"], "trial"))
    elif settings["space_share"] is not None:
        limits.append(f"{100 * settings['space_share']:g} % of the space visited")
    return ", or ".join(limits) + (", whichever comes first" if len(limits) > 1 else "")


def rows_of(data: Data, tuner: str) -> dict[str, Row]:
    """The rows of a tuner by problem, of those problems that it has runs of."""
    rows = (row for row in data["rows"] if row["tuner"] == tuner)
    return {row["problem"]: row for row in rows if row["best_share"] is not None}


def best_of(row: Row) -> Estimate:
    """The best speed of a tuner's runs as a share of the best known."""
    return Estimate(row["best_share"], row["best_share_error"], row["repeats"])


def mean_best(
    data: Data, tuner: str, counts: Callable[[str], bool] = lambda _: True
) -> Estimate | None:
    """The mean of that over the problems that count, by their names; None where a tuner has no runs
    of any."""
    rows = [row for name, row in rows_of(data, tuner).items() if counts(name)]
    return mean_over(best_of(row) for row in rows) if rows else None


def at_start(rows: Iterable[Row]) -> int:
    """How many runs ended within the random start of their tuner."""
    return sum(
        trials <= row["start"] for row in rows if row["start"] for trials in row["run_trials"]
    )


def extent(data: Data, tuners: Iterable[str]) -> str:
    """How many runs the figures are of, and how many trials these had, as a sentence."""
    rows = [row for tuner in tuners for row in rows_of(data, tuner).values()]
    if not rows:
        return ""
    runs = span(row["repeats"] for row in rows)
    trials = span(trials for row in rows for trials in row["run_trials"])
    return f"Runs of a tuner on a workload: {runs}; trials of a run: {trials}."


def trials_of(rows: Iterable[Row]) -> str:
    """The least and the most trials of a run; marked where a run ended within its random start."""
    known = list(rows)
    if not known:
        return fmt.NOTHING
    counts = [trials for row in known for trials in row["run_trials"]]
    return span(counts) + (" *" if at_start(known) else "")


def span(numbers: Iterable[int]) -> str:
    """The least and the most of some numbers."""
    known = list(numbers)
    least, most = min(known), max(known)
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def with_error(share: Estimate | None) -> str:
    """A share and its standard error, in percent; one run has none."""
    if share is None:
        return fmt.NOTHING
    return fmt.percent_with_error(share.value, share.error, share.runs)


def standings(data: Data, tuners: Sequence[str]) -> str:
    """A table of the tuners, means over the problems, the best first; those that were left out have
    rows without figures."""
    bests = {tuner: mean_best(data, tuner) for tuner in tuners}
    head = (
        "tuner",
        "best, %",
        "std, %",
        "runs to 95 %",
        "runs",
        "trials",
        "invalid",
        "thinking",
        "a config",
    )
    lines = []
    for tuner in sorted(tuners, key=lambda name: -(best.value if (best := bests[name]) else 0.0)):
        rows = list(rows_of(data, tuner).values())
        thinking = mean(row["thinking_ms_per_config"] for row in rows)
        lines.append(
            [
                tuner,
                with_error(bests[tuner]),
                with_error(mean_deviation(rows)),
                fmt.percent(mean(row["reached_95"] for row in rows), 0),
                str(sum(row["repeats"] for row in rows)) if rows else fmt.NOTHING,
                trials_of(rows),
                fmt.percent(mean(row["invalid_rate"] for row in rows), 0),
                fmt.percent(mean(_thinking(row) for row in rows)),
                fmt.NOTHING if thinking is None else f"{thinking:.2f} ms",
            ]
        )
    empty = [fmt.NOTHING] * (len(head) - 1)
    return table(head, [*lines, *([each["tuner"], *empty] for each in data["left_out"])])


def _thinking(row: Row) -> float | None:
    """The share of the time that a tuner thinks."""
    total = sum(row["time"].values())
    return row["time"]["search"] / total if total else None


def starts(data: Data, tuners: Iterable[str]) -> list[str]:
    """Which tuners' runs ended within their random start: what * says."""
    told = []
    for tuner in tuners:
        rows = list(rows_of(data, tuner).values())
        if at_start(rows):
            runs = sum(len(row["run_trials"]) for row in rows)
            first = span(row["start"] for row in rows)
            told.append(f"{tuner} {at_start(rows)} of {runs}, in its first {first} trials")
    return told


def mean_deviation(rows: Sequence[Row]) -> Estimate | None:
    """The standard deviation of the best over runs, as a share of the best known; its mean over
    workloads, None without any of which there are several runs."""
    found = [
        Estimate.of_deviation(math.sqrt(row["best_share_variance"]), row["repeats"])
        for row in rows
        if row["repeats"] > 1
    ]
    return mean_over(found) if found else None


def shares(data: Data, tuners: Sequence[str]) -> str:
    """A table of the best of each tuner on each workload."""
    rows = {tuner: rows_of(data, tuner) for tuner in tuners}
    lines = []
    for problem in data["problems"]:
        found = [rows[tuner].get(problem["problem"]) for tuner in tuners]
        cells = [with_error(best_of(row) if row else None) for row in found]
        lines.append([problem["problem"], fmt.seconds(problem["best_seconds"]), *cells])
    return table(["workload", "best known", *tuners], lines)
