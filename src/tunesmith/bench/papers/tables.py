"""What the parts of the experiments' page are made of: data, as ``search_data`` gives it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tunesmith.bench.compare.summary import mean
from tunesmith.bench.pages import markdown
from tunesmith.bench.papers.claims import Estimate, mean_over
from tunesmith.reports import format as fmt

Data = Mapping[str, Any]
Row = Mapping[str, Any]

_WIDEST = 98

_PICTURES = {
    "time": "best speed over time",
    "trials": "best speed over trials",
    "speed-up": "speed-up over the genetic tuner",
    "time-split": "what the time went to",
    "outcomes": "trials by outcome",
    "outcome-times": "time by outcome",
    "q": "best speed over trials for other q",
    "parents": "best speed over trials for other λ",
}


def rows_of(data: Data, tuner: str) -> dict[str, Row]:
    """The rows of a tuner by problem, of those problems that it has runs of."""
    rows = (row for row in data["rows"] if row["tuner"] == tuner)
    return {row["problem"]: row for row in rows if row["best_share"] is not None}


def mean_share(data: Data, tuner: str) -> float | None:
    """The best speed of a tuner's runs as a share of the best known, the mean over problems."""
    return mean(row["best_share"] for row in rows_of(data, tuner).values())


def best_of(row: Row) -> Estimate:
    """The best speed of a tuner's runs as a share of the best known."""
    return Estimate(row["best_share"], row["best_share_error"], row["repeats"])


def mean_best(data: Data, tuner: str) -> Estimate | None:
    """The mean of that over the problems; None where a tuner has no runs."""
    rows = rows_of(data, tuner).values()
    return mean_over(best_of(row) for row in rows) if rows else None


def at_start(rows: Iterable[Row]) -> int:
    """How many runs ended within the random start of their tuner."""
    return sum(
        trials <= row["start"] for row in rows if row["start"] for trials in row["run_trials"]
    )


def extent(data: Data, tuners: Iterable[str]) -> str:
    """How many runs a figure is of, and how many trials these had, as a sentence."""
    rows = [row for tuner in tuners for row in rows_of(data, tuner).values()]
    if not rows:
        return ""
    runs = span(row["repeats"] for row in rows)
    trials = span(trials for row in rows for trials in row["run_trials"])
    return f"Runs of a tuner on a workload: {runs}; trials of a run: {trials}."


def trials_of(rows: Iterable[Row]) -> str:
    """The least and the most trials of a run; marked where a run ended within its random start."""
    known = list(rows)
    counts = [trials for row in known for trials in row["run_trials"]]
    return span(counts) + (" *" if at_start(known) else "")


def span(numbers: Iterable[int]) -> str:
    """The least and the most of some numbers."""
    known = list(numbers)
    least, most = min(known), max(known)
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def share_with_error(row: Row | None) -> str:
    """The best speed with its standard error, in percent of the best known."""
    return fmt.NOTHING if row is None else with_error(best_of(row))


def with_error(share: Estimate) -> str:
    """A share and its standard error, in percent."""
    return f"{100 * share.value:.1f} ± {100 * share.error:.1f}"


def setup(data: Data) -> list[str]:
    """What was done, as a paragraph; and whether that is all that was planned."""
    settings, runs = data["settings"], data["runs"]
    limits = []
    if settings["seconds"] is not None:
        limits.append(f"{settings['seconds']:g} s of tuning")
    if settings["trials"] is not None:
        limits.append(fmt.counted(settings["trials"], "trial"))
    elif settings["space_share"] is not None:
        limits.append(f"{100 * settings['space_share']:g} % of the space visited")
    end = ", or ".join(limits) + (", whichever comes first" if len(limits) > 1 else "")
    text = (
        f"{fmt.counted(settings['repeats'], 'run')} of each tuner on "
        f"{fmt.counted(len(data['problems']), 'workload')}, in turn. A run ends after {end}. All "
        f"search the space of the sketch `{settings['sketch']}` from nothing: neither its default "
        "nor what a model of the machine likes is tried first. The best known is the best that any "
        "run of any tuner found."
    )
    if runs["done"] < runs["planned"]:
        text += f" **Only {runs['done']:,} of {runs['planned']:,} runs are done yet.**"
    return [*markdown.paragraph(text), ""]


def claim(paper: str, ours: str) -> list[str]:
    """What a paper says, and what we found."""
    return [*markdown.item(f"The paper: {paper}"), *markdown.item(f"Here: {ours}"), ""]


def standings(
    data: Data,
    tuners: Sequence[str],
    columns: Mapping[str, Callable[[str], str]] | None = None,
    *,
    left_out: bool = True,
) -> list[str]:
    """A table of the tuners, means over the problems, the best first; those ``left_out`` have rows
    without figures. ``columns`` are further ones: a title, and what a tuner has there."""
    further = columns or {}
    lines = markdown.head(
        *("tuner", "best", "its std", *further, "to 95 %"),
        *("runs", "trials", "invalid", "ms a config"),
    )
    for tuner in sorted(tuners, key=lambda name: -(mean_share(data, name) or 0.0)):
        rows = list(rows_of(data, tuner).values())
        lines.append(
            markdown.row(
                tuner,
                fmt.percent(mean_share(data, tuner)),
                fmt.percent(mean(deviation(row) for row in rows)),
                *(cell(tuner) for cell in further.values()),
                fmt.percent(mean(row["reached_95"] for row in rows), 0),
                str(sum(row["repeats"] for row in rows)) if rows else fmt.NOTHING,
                trials_of(rows) if rows else fmt.NOTHING,
                fmt.percent(mean(row["invalid_rate"] for row in rows), 0),
                fmt.decimal(mean(row["thinking_ms_per_config"] for row in rows), 2),
            )
        )
    if left_out:
        empty = [fmt.NOTHING] * (7 + len(further))
        lines += [markdown.row(each["tuner"], *empty) for each in data["left_out"]]
    return [*lines, "", *starts(data, tuners)]


def starts(data: Data, tuners: Iterable[str]) -> list[str]:
    """Which tuners' runs ended within their random start, where any did: what * says."""
    told = []
    for tuner in tuners:
        rows = list(rows_of(data, tuner).values())
        if at_start(rows):
            runs = sum(len(row["run_trials"]) for row in rows)
            first = span(row["start"] for row in rows)
            told.append(f"{tuner} {at_start(rows)} of {runs}, in its first {first} trials")
    text = f"* Runs that ended within their random start, so are random search: {'; '.join(told)}."
    return explained(text) if told else []


def deviation(row: Row) -> float:
    """The standard deviation of the best over runs, as a share of the best known."""
    return math.sqrt(row["best_share_variance"])


STANDINGS = (
    "**best** is the speed that a run ended with in percent of the best known, **its std** the "
    "standard deviation over runs, **to 95 %** the share of runs that came to 95 % of the best "
    "known: all are means over the workloads. **trials** are those of a run. After ± stands the "
    "standard error over runs."
)


def explained(text: str) -> list[str]:
    """What is in a table, as a paragraph, if there is anything to say."""
    return [*markdown.paragraph(text), ""] if text else []


def shares(data: Data, tuners: Sequence[str]) -> list[str]:
    """The best of each tuner on each workload, in as many tables as fit the page."""
    columns = {
        "best known": {
            problem["problem"]: fmt.seconds(problem["best_seconds"]) for problem in data["problems"]
        }
    }
    for tuner in tuners:
        rows = rows_of(data, tuner)
        columns[tuner] = {
            problem["problem"]: share_with_error(rows.get(problem["problem"]))
            for problem in data["problems"]
        }
    lines = tables("workload", [problem["problem"] for problem in data["problems"]], columns)
    return [*lines, *explained(extent(data, tuners))]


def tables(title: str, names: Sequence[str], columns: Mapping[str, Mapping[str, str]]) -> list[str]:
    """A table with a row for each name, split into several where it would be too wide."""
    first = max([len(title), *map(len, names)]) + 4
    lines: list[str] = []
    fitting: list[str] = []
    width = first
    for head in [*columns, None]:
        wide = 0 if head is None else 3 + max(len(head), *map(len, columns[head].values()))
        if fitting and (head is None or width + wide > _WIDEST):
            lines += markdown.head(title, *fitting)
            lines += [markdown.row(name, *(columns[h][name] for h in fitting)) for name in names]
            lines.append("")
            fitting, width = [], first
        if head is not None:
            fitting.append(head)
            width += wide
    return lines


def pictures(data: Data, names: Iterable[str], tuners: Iterable[str]) -> list[str]:
    """Those pictures that were drawn, and how many runs of the tuners they show."""
    drawn = data["pictures"]
    shown = [f"![{_PICTURES[name]}]({drawn[name]})" for name in names if name in drawn]
    lines = [line for picture in shown for line in (picture, "")]
    return [*lines, *explained(extent(data, tuners))] if lines else []


def remarks(data: Data) -> list[str]:
    """Who was left out and why, and which runs crashed."""
    lines = []
    for each in data["left_out"]:
        lines += markdown.item(f"{each['tuner']} has no figures: {each['why']}")
    crashes = Counter((each["tuner"], each["problem"], each["why"]) for each in data["crashes"])
    for (tuner, problem, why), count in crashes.items():
        lines += markdown.item(f"{tuner} on {problem}: {fmt.counted(count, 'run')} crashed: {why}")
    return [*lines, ""] if lines else []
