"""The files of ``tunesmith bench operators``: written after each workload, read by the next run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tunesmith.bench.operators.chart import ratio_chart, start_chart
from tunesmith.bench.operators.page import operators_page
from tunesmith.bench.operators.workloads import Suite, operator_workloads
from tunesmith.bench.pages.charts import svg_texts
from tunesmith.bench.pages.figure_files import RowFile, in_order, write_figures, write_texts
from tunesmith.bench.pages.provenance import origin_now, together
from tunesmith.bench.peers.instruction_sets import instruction_set
from tunesmith.bench.peers.library_peers import library_versions_of_peers
from tunesmith.target import Target

_STARTS = "starts.md"
# Without these in every row nothing can be told of them.
_FIELDS = {
    *("workload", "operator", "gflops", "disturbed", "peers", "missing"),
    *("best_peer", "best_peer_ratio", "sketch", "config", "target"),
    *("tuning_seconds", "trials", "valid"),
}


@dataclass(frozen=True)
class OperatorFigures:
    """Which rows stand in one file: those of a suite, for one kind of instructions."""

    suite: Suite = Suite.LAYERS
    target: Target = field(default_factory=Target)

    @cached_property
    def name(self) -> str:
        """What the names of its files begin with (imports TVM). Raises ``UsageError`` for a
        processor that is unknown or cannot be compared on."""
        kind = instruction_set(self.target)
        suite = "" if self.suite is Suite.LAYERS else f"-{self.suite.value}"
        return f"operators{suite}{kind.suffix if kind else ''}"

    @property
    def compiled_for(self) -> str:
        """The processor with its instructions, in words."""
        kind = instruction_set(self.target)
        return self.target.processor + (f" ({kind.name})" if kind else "")


def read_operators(
    folder: Path, redone: Collection[str] = (), *, of: OperatorFigures | None = None
) -> dict[str, dict[str, Any]]:
    """The rows of earlier runs by workload; none where there is no file.

    Raises ``TunesmithError`` for a file that is no such thing, or that holds rows of another
    machine, or for another processor, that are not to be ``redone``.
    """
    of = of or OperatorFigures()
    file = RowFile(
        folder / f"{of.name}.json",
        lambda row: row.keys() >= _FIELDS,
        _origins,
        "--fresh without --workload",
    )
    kept, here = {}, of.target.processor
    for name, row in file.read(redone).items():
        other = Target(**row["target"]).processor
        if other == here:
            kept[name] = row
        elif name not in redone:
            raise file.refused(f"programs for another processor ({other}, not {here})")
    return kept


def _origins(row: Mapping[str, Any]) -> list[Any]:
    """Of a row, and of its comparison with MetaSchedule, which may be another day's."""
    rival = row.get("metaschedule", {})
    return [row.get("origin"), *([rival.get("origin")] if "ratio" in rival else [])]


def write_operators(
    folder: Path, rows: Iterable[Mapping[str, Any]], *, of: OperatorFigures | None = None
) -> tuple[dict[str, Any], str]:
    """Write all files anew, each as a whole, with ``rows`` in the order of the workloads.

    Returns the figures and the page. Raises ``TunesmithError`` where that is impossible.
    """
    of = of or OperatorFigures()
    listed = in_order(rows, operator_workloads(suite=of.suite))
    origins = [origin for row in listed for origin in _origins(row)]
    figures = {
        **together(origins or [origin_now(library_versions_of_peers())]),
        "suite": of.suite.value,
        "compiled_for": of.compiled_for,
        "rows": listed,
    }
    write_figures(folder, of.name, figures)
    return figures, write_operators_page(folder, of.name, figures)


def write_operators_page(folder: Path, name: str, figures: Mapping[str, Any]) -> str:
    """Write the page and the charts of the figures in the JSON file of that name; returns the
    page."""
    rows = figures["rows"]
    charts = svg_texts(
        {
            f"{name}-ratios.svg": lambda: ratio_chart(rows),
            f"{name}-starts.svg": lambda: start_chart(rows),
        }
    )
    of_layers = Suite(figures.get("suite", Suite.LAYERS.value)) is Suite.LAYERS
    starts = of_layers and (folder / _STARTS).is_file()
    page = operators_page(figures, list(charts), name=name, starts=starts)
    write_texts(folder, {**charts, f"{name}.md": page})
    return page
