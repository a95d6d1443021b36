"""The files of ``tunesmith bench operators``: written after each workload, read by the next run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tunesmith.bench.figure_files import read_rows, write_texts
from tunesmith.bench.library_peers import library_versions_of_peers
from tunesmith.bench.operator_workloads import operator_workloads
from tunesmith.bench.operators import OperatorSettings
from tunesmith.bench.operators_chart import ratio_chart, start_chart
from tunesmith.bench.operators_page import operators_page
from tunesmith.store import library_versions, this_machine

_DATA, _PAGE, _STARTS = "operators.json", "operators.md", "starts.md"
_CHARTS = {"operators-ratios.svg": ratio_chart, "operators-starts.svg": start_chart}
# Without these in every row nothing can be told of them.
_FIELDS = {
    *("workload", "operator", "gflops", "disturbed", "peers", "missing"),
    *("best_peer", "best_peer_ratio", "sketch", "config", "target"),
    *("tuning_seconds", "trials", "valid"),
}


def read_operators(folder: Path) -> dict[str, dict[str, Any]]:
    """The rows of earlier runs by workload; none where there is no file.

    Raises ``TunesmithError`` for a file that is no such thing.
    """
    return read_rows(folder / _DATA, lambda row: row.keys() >= _FIELDS)


def about(settings: OperatorSettings) -> dict[str, Any]:
    """What the files say beside the rows: machine, versions, settings, date."""
    return {
        "machine": this_machine(),
        "versions": {**library_versions(), **library_versions_of_peers()},
        "settings": asdict(settings),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def write_operators(
    folder: Path, rows: Iterable[Mapping[str, Any]], about: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """Write all files anew, each as a whole: ``rows``, in the order of the workloads, and what
    there is to say ``about`` them. Returns the figures and the page.

    Raises ``TunesmithError`` where that is impossible.
    """
    order = {name: place for place, name in enumerate(operator_workloads())}
    listed = sorted(rows, key=lambda row: order.get(row["workload"], len(order)))
    figures = {**about, "rows": listed}
    page = operators_page(figures, list(_CHARTS), starts=(folder / _STARTS).is_file())
    texts = {name: draw(listed) for name, draw in _CHARTS.items()}
    texts |= {_PAGE: page, _DATA: json.dumps(figures, indent=1) + "\n"}
    write_texts(folder, texts)
    return figures, page
