"""The files of ``tunesmith bench starts``: data, a page and a picture, written after each run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tunesmith.bench.operators.workloads import (
    BATCHED,
    DENSE,
    DEPTHWISE,
    OPEVO,
    POINTWISE,
    RESNET,
    SQUARE,
)
from tunesmith.bench.pages import markdown
from tunesmith.bench.pages.curves import FIRST_TRIALS, share_at
from tunesmith.bench.pages.figure_files import read_rows, write_texts
from tunesmith.bench.pages.provenance import is_origin, origin_now, rows_of_this_machine, together
from tunesmith.bench.starts.chart import starts_chart
from tunesmith.bench.starts.starts import RUNS, complete, median_share, milestones, shares
from tunesmith.reports import format as fmt

_DATA, _PAGE, _CHART = "starts.json", "starts.md", "starts.svg"
_WHAT = (
    "Each workload is tuned twice from nothing, with the configs that the model of the machine "
    "likes to begin with, and without (`--no-prior`). The best of the first trials is given as a "
    "share of the best that any trial of both runs found, in the median over the workloads. "
    f"Wanted: 80 % within {FIRST_TRIALS} trials."
)
_KINDS = {
    "convolutions of ResNet-18": RESNET,
    "depthwise layers": DEPTHWISE,
    "pointwise layers": POINTWISE,
    "square matmuls": SQUARE,
    "matmuls of OpEvo": OPEVO,
    "batch matmuls": BATCHED,
    "dense layers": DENSE,
}


def read_starts(folder: Path, redone: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """The rows of earlier runs by workload; none where there is no file.

    Raises ``TunesmithError`` for a file that is no such thing, or that holds rows of another
    machine that are not to be ``redone``.
    """
    path = folder / _DATA
    rows = read_rows(path, _is_row)
    return rows_of_this_machine(rows, _origins, redone=redone, path=path, option="--again")


def _is_row(row: Mapping[str, Any]) -> bool:
    runs = row["runs"]
    fields = {"trials", "seed", "valid", "seconds", "curve"}
    return (
        row.keys() >= {"workload", "operator"}
        and all(run in RUNS and runs[run].keys() >= fields for run in runs)
        and all(map(is_origin, _origins(row)))
    )


def _origins(row: Mapping[str, Any]) -> list[Any]:
    return [figures.get("origin") for figures in row["runs"].values()]


def write_starts(folder: Path, rows: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """Write all files anew, each as a whole; returns the figures and the page.

    Raises ``TunesmithError`` where that is impossible.
    """
    listed = list(rows)
    done = complete(listed)
    figures = {
        **together([origin for row in listed for origin in _origins(row)] or [origin_now()]),
        "start_share": {run: median_share(done, run, FIRST_TRIALS) for run in RUNS},
        "rows": listed,
    }
    page = starts_page(figures, done)
    texts = {_PAGE: page, _CHART: starts_chart(done), _DATA: json.dumps(figures, indent=1) + "\n"}
    write_texts(folder, texts)
    return figures, page


def starts_page(figures: Mapping[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    """Markdown. ``rows`` are complete ones."""
    lines = [
        "# Good starts",
        "",
        f"Written by `tunesmith bench starts`; the same figures as data: `{_DATA}`.",
        "",
        *markdown.circumstances(figures),
        "",
        *markdown.paragraph(_WHAT),
        "",
        *markdown.paragraph(_which(row["workload"] for row in rows)),
        "",
        f"![best so far over trials]({_CHART})",
        "",
        *markdown.head("trials", "with the model's starts", "without"),
    ]
    for number in milestones(rows):
        reached = [fmt.share(median_share(rows, run, number), 1.0) for run in RUNS]
        lines.append(markdown.row(str(number), *reached))
    lines += [
        "",
        f"Each workload after {FIRST_TRIALS} trials, and what a run took:",
        "",
        *markdown.head(
            "workload", "with the model's starts", "without", "trials", "time of both runs"
        ),
    ]
    return "\n".join([*lines, *map(_workload_line, rows), ""])


def _which(workloads: Iterable[str]) -> str:
    """How many of the workloads that there are, and of which kinds."""
    done = set(workloads)
    parts = [
        f"{len(done.intersection(names))} of {len(names)} {kind}" for kind, names in _KINDS.items()
    ]
    return (
        f"Measured are {len(done)} of the {sum(map(len, _KINDS.values()))} workloads without bias "
        f"and ReLU of `tunesmith bench operators`: {', '.join(parts[:-1])}, and {parts[-1]}."
    )


def _workload_line(row: Mapping[str, Any]) -> str:
    reached = [fmt.share(share_at(shares(row, run), FIRST_TRIALS), 1.0) for run in RUNS]
    runs = row["runs"].values()
    spent = fmt.duration(sum(run["seconds"] for run in runs))
    trials = min(run["trials"] for run in runs)
    return markdown.row(row["workload"], *reached, str(trials), spent)
