"""The files of ``tunesmith bench starts``: data, a page and a chart, written after each run."""

from __future__ import annotations

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
from tunesmith.bench.pages.charts import svg_texts
from tunesmith.bench.pages.curves import FIRST_TRIALS, share_at
from tunesmith.bench.pages.figure_files import RowFile, write_figures, write_texts
from tunesmith.bench.pages.provenance import origin_now, together
from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.starts.chart import starts_chart
from tunesmith.bench.starts.starts import RUNS, complete, median_share, milestones, shares

NAME = "starts"
_CHART = "starts.svg"
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
    return RowFile(folder / f"{NAME}.json", _is_row, _origins, "--again").read(redone)


def _is_row(row: Mapping[str, Any]) -> bool:
    runs = row["runs"]
    fields = {"trials", "seed", "valid", "seconds", "curve"}
    return row.keys() >= {"workload", "operator"} and all(
        run in RUNS and runs[run].keys() >= fields for run in runs
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
    write_figures(folder, NAME, figures)
    return figures, write_starts_page(folder, figures)


def write_starts_page(folder: Path, figures: Mapping[str, Any]) -> str:
    """Write the page and the chart of the figures in the JSON file; returns the page."""
    done = complete(figures["rows"])
    charts = svg_texts({_CHART: lambda: starts_chart(done)})
    page = _page(figures, done, list(charts))
    write_texts(folder, {**charts, f"{NAME}.md": page})
    return page


def _page(figures: Mapping[str, Any], rows: Sequence[dict[str, Any]], charts: Sequence[str]) -> str:
    """Markdown. ``rows`` are complete ones."""
    names = {row["workload"] for row in rows}
    return markdown(
        "starts/page.md.jinja",
        figures=figures,
        rows=rows,
        charts=dict.fromkeys(charts, "best so far over trials"),
        first=FIRST_TRIALS,
        measured=len(names),
        known=sum(map(len, _KINDS.values())),
        kinds={kind: (len(names.intersection(of)), len(of)) for kind, of in _KINDS.items()},
        milestones={
            number: [median_share(rows, run, number) for run in RUNS] for number in milestones(rows)
        },
        reached=lambda row: [share_at(shares(row, run), FIRST_TRIALS) for run in RUNS],
    )
