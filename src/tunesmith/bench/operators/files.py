"""The files of ``tunesmith bench operators``: written after each workload, read by the next run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tunesmith.bench.operators.chart import ratio_chart, start_chart
from tunesmith.bench.operators.page import operators_page
from tunesmith.bench.operators.workloads import Suite, operator_workloads
from tunesmith.bench.pages.figure_files import read_rows, write_texts
from tunesmith.bench.pages.provenance import is_origin, origin_now, rows_of_this_machine, together
from tunesmith.bench.peers.instruction_sets import instruction_set
from tunesmith.bench.peers.library_peers import library_versions_of_peers
from tunesmith.errors import TunesmithError
from tunesmith.target import Target

_STARTS = "starts.md"
_CHARTS = {"ratios": ratio_chart, "starts": start_chart}
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
    path = folder / f"{of.name}.json"
    rows = read_rows(path, lambda row: row.keys() >= _FIELDS and all(map(is_origin, _origins(row))))
    kept = rows_of_this_machine(
        rows, _origins, redone=redone, path=path, option="--fresh without --workload"
    )
    return {
        name: row for name, row in kept.items() if _is_for(of.target, row, redone=redone, path=path)
    }


def _is_for(target: Target, row: Mapping[str, Any], *, redone: Collection[str], path: Path) -> bool:
    """Whether a row is of programs for the same processor; one that is ``redone`` need not be.

    Raises ``TunesmithError`` for another one that is for another processor.
    """
    other = Target(**row["target"]).processor
    if other == target.processor:
        return True
    if row["workload"] in redone:
        return False
    raise TunesmithError(
        f"{path} holds rows for another processor ({other}, not {target.processor}): name another "
        "folder with --output, or measure all of its workloads anew (--fresh without --workload)"
    )


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
    order = {name: place for place, name in enumerate(operator_workloads(suite=of.suite))}
    listed = sorted(rows, key=lambda row: order.get(row["workload"], len(order)))
    origins = [origin for row in listed for origin in _origins(row)]
    figures = {
        **together(origins or [origin_now(library_versions_of_peers())]),
        "suite": of.suite.value,
        "compiled_for": of.compiled_for,
        "rows": listed,
    }
    charts = {f"{of.name}-{name}.svg": draw(listed) for name, draw in _CHARTS.items()}
    starts = of.suite is Suite.LAYERS and (folder / _STARTS).is_file()
    page = operators_page(figures, list(charts), name=of.name, starts=starts)
    data = json.dumps(figures, indent=1) + "\n"
    write_texts(folder, {**charts, f"{of.name}.md": page, f"{of.name}.json": data})
    return figures, page
