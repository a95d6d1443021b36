"""The files of ``tunesmith bench operators``: written after each workload, read by the next run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from tunesmith.bench.figure_files import read_rows, write_texts
from tunesmith.bench.library_peers import library_versions_of_peers
from tunesmith.bench.operator_workloads import operator_workloads
from tunesmith.bench.operators_chart import ratio_chart, start_chart
from tunesmith.bench.operators_page import operators_page
from tunesmith.bench.row_origin import is_origin, origin_now, rows_of_this_machine, together

_DATA, _PAGE, _STARTS = "operators.json", "operators.md", "starts.md"
_CHARTS = {"operators-ratios.svg": ratio_chart, "operators-starts.svg": start_chart}
# Without these in every row nothing can be told of them.
_FIELDS = {
    *("workload", "operator", "gflops", "disturbed", "peers", "missing"),
    *("best_peer", "best_peer_ratio", "sketch", "config", "target"),
    *("tuning_seconds", "trials", "valid"),
}


def read_operators(folder: Path, redone: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """The rows of earlier runs by workload; none where there is no file.

    Raises ``TunesmithError`` for a file that is no such thing, or that holds rows of another
    machine that are not to be ``redone``.
    """
    path = folder / _DATA
    rows = read_rows(path, lambda row: row.keys() >= _FIELDS and all(map(is_origin, _origins(row))))
    return rows_of_this_machine(
        rows, _origins, redone=redone, path=path, option="--fresh without --workload"
    )


def _origins(row: Mapping[str, Any]) -> list[Any]:
    """Of a row, and of its comparison with MetaSchedule, which may be another day's."""
    rival = row.get("metaschedule", {})
    return [row.get("origin"), *([rival.get("origin")] if "ratio" in rival else [])]


def write_operators(folder: Path, rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """Write all files anew, each as a whole, with ``rows`` in the order of the workloads.

    Returns the figures and the page. Raises ``TunesmithError`` where that is impossible.
    """
    order = {name: place for place, name in enumerate(operator_workloads())}
    listed = sorted(rows, key=lambda row: order.get(row["workload"], len(order)))
    origins = [origin for row in listed for origin in _origins(row)]
    figures = {**together(origins or [origin_now(library_versions_of_peers())]), "rows": listed}
    page = operators_page(figures, list(_CHARTS), starts=(folder / _STARTS).is_file())
    texts = {name: draw(listed) for name, draw in _CHARTS.items()}
    texts |= {_PAGE: page, _DATA: json.dumps(figures, indent=1) + "\n"}
    write_texts(folder, texts)
    return figures, page
