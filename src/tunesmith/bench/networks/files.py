"""The files of ``tunesmith bench networks``: written after each network, read by the next run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tunesmith.bench.networks.page import networks_page
from tunesmith.bench.networks.peers import network_peers, versions_of_network_peers
from tunesmith.bench.networks.workloads import network_workloads
from tunesmith.bench.pages.charts import svg_texts
from tunesmith.bench.pages.figure_files import RowFile, in_order, write_figures, write_texts
from tunesmith.bench.pages.provenance import origin_now, together
from tunesmith.bench.pages.ratio_chart import ratio_chart

_NAMES = {"cpu": "networks", "cuda": "networks-cuda"}
# Without these in every row nothing can be told of them.
_FIELDS = {
    *("workload", "network", "batch", "milliseconds", "peers", "builds", "missing", "disturbed"),
    *("best_peer", "best_peer_ratio", "tuning_seconds", "relative_error", "origin"),
}


def read_networks(
    folder: Path, redone: Iterable[str] = (), kind: str = "cpu"
) -> dict[str, dict[str, Any]]:
    """The rows of earlier runs for a kind of target by workload; none where there is no file.

    Raises ``TunesmithError`` for a file that is no such thing, or that holds rows of another
    machine that are not to be ``redone``.
    """
    file = RowFile(
        folder / f"{_NAMES[kind]}.json",
        lambda row: row.keys() >= _FIELDS,
        _origins,
        "--again without --network",
        kind,
    )
    return file.read(list(redone))


def _origins(row: Mapping[str, Any]) -> list[Any]:
    """Of a row, and of its comparison with MetaSchedule, which may be another day's."""
    rival = row.get("metaschedule", {})
    return [row["origin"], *([rival["origin"]] if "ratio" in rival else [])]


def write_networks(
    folder: Path, rows: Iterable[Mapping[str, Any]], kind: str = "cpu"
) -> tuple[dict[str, Any], str]:
    """Write all files of a kind of target anew, with ``rows`` in the order of the workloads.

    Returns the figures and the page. Raises ``TunesmithError`` where that is impossible.
    """
    listed = in_order(rows, network_workloads())
    origins = [origin for row in listed for origin in _origins(row)]
    now = origin_now(versions_of_network_peers(kind), kind=kind)
    figures = {**together(origins or [now]), "rows": listed}
    write_figures(folder, _NAMES[kind], figures)
    return figures, write_networks_page(folder, figures, kind)


def write_networks_page(folder: Path, figures: Mapping[str, Any], kind: str) -> str:
    """Write the page and the chart of the figures of a kind of target; returns the page."""
    titles = {name: peer.title for name, peer in network_peers(kind).items() if not peer.slow}
    name = f"{_NAMES[kind]}-ratios.svg"
    charts = svg_texts({name: lambda: ratio_chart(figures["rows"], titles)})
    page = networks_page(figures, list(charts), kind)
    write_texts(folder, {**charts, f"{_NAMES[kind]}.md": page})
    return page


def kind_of_file(name: str) -> str | None:
    """The kind of target that a file of this name, without its suffix, is of; None for others."""
    return next((kind for kind, known in _NAMES.items() if name == known), None)
