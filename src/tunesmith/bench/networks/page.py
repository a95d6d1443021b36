"""The figures of ``tunesmith bench networks`` as a page for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.bench.networks.bench import EARLY, UNTUNED
from tunesmith.bench.networks.peers import network_peers
from tunesmith.bench.networks.summary import (
    best_ratio,
    early_share,
    is_disturbed,
    memory_ratio,
    network_summary,
    untuned_ratio,
)
from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.timing.rotation import DISTURBED

# Titles that fit the head of a narrow column.
_HEADS = {
    "openvino": "OV",
    "onnxruntime": "ORT",
    "torch-compile": "compile",
    "pytorch": "PyTorch",
    "tvm": "TVM",
}
_CHARTS = ("How many times as fast as each peer, by network",)


def networks_page(figures: Mapping[str, Any], charts: Sequence[str], kind: str) -> str:
    """Markdown. ``figures`` are what the JSON file of a kind of target holds, ``charts`` the names
    of its charts."""
    rows, peers = figures["rows"], network_peers(kind)
    return markdown(
        "networks/page.md.jinja",
        figures=figures,
        kind=kind,
        rows=rows,
        settings=[row["origin"]["settings"] for row in rows],
        disturbance=DISTURBED,
        summary=network_summary(rows) if kind == "cpu" else [],
        charts=dict(zip(charts, _CHARTS, strict=False)),
        heads={name: _HEADS[name] for name in peers},
        peers={_HEADS[peer.name]: peer for peer in peers.values()},
        ratio_of=lambda row, peer: {**row["peers"], **row["timed_once"]}.get(peer),
        best_ratio=best_ratio,
        untuned_ratio=untuned_ratio,
        early_share=early_share,
        memory_ratio=memory_ratio,
        is_disturbed=is_disturbed,
        untuned=UNTUNED,
        early=EARLY,
        ways=lambda peer: _ways(rows, peer),
        missing=_missing(rows),
        rivals=[row for row in rows if "metaschedule" in row],
    )


def _ways(rows: Sequence[Mapping[str, Any]], peer: str) -> Mapping[str, int]:
    """Of a peer's several ways, how often each was the fastest."""
    there = [row["peers"][peer] for row in rows if peer in row["peers"]]
    return dict(Counter(each["way"] for each in there if each["way"]).most_common())


def _missing(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """By the peers that some rows lack, and why, which rows these are."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for peer, reason in row["missing"].items():
            lacking.setdefault((network_peers()[peer].title, reason), []).append(row["workload"])
    return {why: ", ".join(names) for why, names in lacking.items()}
