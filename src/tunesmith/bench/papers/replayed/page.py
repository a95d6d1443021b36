"""The parts of the experiments' page that are about replayed claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.bench.pages.templates import markdown, table
from tunesmith.bench.papers import tables as parts
from tunesmith.bench.papers.estimate import Estimate
from tunesmith.bench.papers.replayed.figures import moment_words
from tunesmith.bench.papers.replayed.parts import PARTS
from tunesmith.reports import format as fmt

Data = Mapping[str, Any]


def section(data: Data) -> str:
    """Its part of the page."""
    crashes = Counter((each["tuner"], each["problem"], each["why"]) for each in data["crashes"])
    return markdown(
        "papers/replayed/page.md.jinja",
        data=data,
        settings=data["settings"],
        part=PARTS[data["part"]],
        missing=_missing(data),
        lines=_lines(data),
        pairs=_pairs(data),
        tables={
            "" if share is None else moment_words(share).capitalize() + " of the space": _found(
                data, share
            )
            for share in data["moments"]
        },
        random_until=_random_until(data),
        crashes=crashes,
        picture=lambda name, title: (
            f"![{title}]({data['pictures'][name]})" if name in data["pictures"] else ""
        ),
    )


def _missing(data: Data) -> list[str]:
    """The lines that the part has now, and had not when it was replayed."""
    there = {row["line"] for row in data["lines"] if row["runs"]}
    return [line.name for line in PARTS[data["part"]].lines if line.name not in there]


def _random_until(data: Data) -> dict[str, list[str]]:
    """By moment, the lines that are within the random start of their tuner, how long it is, and on
    how many spaces, if not on all."""
    starts = {row["line"]: row.get("start", 0) for row in data["lines"]}
    found: dict[str, Counter[str]] = {}
    for row in data["found"]:
        if (row["trials"] or data["settings"]["trials"]) <= starts[row["line"]]:
            found.setdefault(moment_words(row["at"]), Counter())[row["line"]] += 1
    spaces = len(data["problems"])
    return {
        moment: [
            f"{line} ({fmt.count(starts[line])}"
            + (")" if on == spaces else f", on {on} of {spaces} spaces)")
            for line, on in lines.items()
        ]
        for moment, lines in found.items()
    }


def _lines(data: Data) -> str:
    scored = PARTS[data["part"]].scored
    head = ("line", "best, %", "runs to 95 %", "runs", "trials", "invalid", "thinking a config")
    rows = []
    for row in data["lines"]:
        runs = _runs_on_each(data, row["line"])
        best = Estimate(row["best"], row["best_error"], runs) if row["runs"] else None
        thinking = row["thinking_ms_per_config"]
        rows.append(
            [
                row["line"],
                *([fmt.decimal_with_error(row["score"], row["score_std"])] if scored else []),
                parts.with_error(best),
                fmt.percent(row["reached"], 0),
                fmt.count(row["runs"]),
                fmt.NOTHING if row["trials"] is None else fmt.count(round(row["trials"])),
                fmt.percent(row["invalid_rate"], 0),
                fmt.NOTHING if thinking is None else f"{thinking:.2f} ms",
            ]
        )
    return table((head[0], "score", *head[1:]) if scored else head, rows)


def _runs_on_each(data: Data, line: str) -> int:
    """How many runs a line has on each space, or a little more on some."""
    runs = next(row["runs"] for row in data["lines"] if row["line"] == line)
    return int(runs // len(data["problems"]))


def _pairs(data: Data) -> str:
    head = ("line", "beside", "times as fast", "pairs", "faster", "slower")
    timed = data["moments"] != [None]
    rows = [
        [
            row["line"],
            row["other"],
            *([moment_words(row["at"])] if timed else []),
            f"{row['times']:.3f} ± {row['error']:.3f}",
            fmt.count(row["pairs"]),
            fmt.percent(row["better"] / row["pairs"], 0),
            fmt.percent(row["worse"] / row["pairs"], 0),
        ]
        for row in data["pairs"]
    ]
    return table((*head[:2], *(["visited"] if timed else []), *head[2:]), rows)


def _found(data: Data, share: float | None) -> str:
    """What was found by a moment: a row a space, or where there is one alone, a row a line."""
    found = [row for row in data["found"] if row["at"] == share]
    names = [row["line"] for row in data["lines"] if row["runs"]]
    if len(data["problems"]) == 1:
        return _distribution(found, data)
    by_cell = {(row["line"], row["problem"]): row for row in found}
    rows = [
        [
            problem["problem"],
            *(_mean(by_cell.get((name, problem["problem"])), data) for name in names),
        ]
        for problem in data["problems"]
    ]
    return table(["space", *names], rows)


def _mean(row: Mapping[str, Any] | None, data: Data) -> str:
    known = None
    if row is not None:
        known = Estimate(row["mean"], row["error"], _runs_on_each(data, row["line"]))
    return parts.with_error(known)


def _distribution(found: Sequence[Mapping[str, Any]], data: Data) -> str:
    """How the runs of each line are distributed (figure 8b of "Compiler-Level Matrix Multiplication
    Optimization for Deep Learning")."""
    head = ("line", "trials", "mean", "least", "quartile", "median", "quartile", "most")
    rows = [
        [
            row["line"],
            fmt.NOTHING if row["trials"] is None else fmt.count(row["trials"]),
            _mean(row, data),
            *(fmt.percent(each) for each in (row["least"], *row["quartiles"], row["most"])),
        ]
        for row in found
    ]
    return table(head, rows)
