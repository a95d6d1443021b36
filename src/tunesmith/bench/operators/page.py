"""The figures of ``tunesmith bench operators`` as a page for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.bench.operators.shapes import SHAPES
from tunesmith.bench.operators.summary import best_ratio, is_disturbed, summary
from tunesmith.bench.operators.workloads import FUSED, Suite
from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.peers.library_peers import library_peers
from tunesmith.bench.timing.rotation import DISTURBED, ROTATIONS
from tunesmith.reports import format as fmt

Row = Mapping[str, Any]
# Titles that fit the head of a narrow column.
_HEADS = {
    "pytorch": "PyTorch",
    "onednn": "oneDNN",
    "onednn-blocked": "blocked",
    "torch-compile": "compile",
    "onnxruntime": "ORT",
    "openvino": "OV",
    "numpy": "NumPy",
}
# So many rounds, or more, has a comparison whose figures count.
_ENOUGH_PAIRS = 25
_CHARTS = (
    "How many times as fast as each peer, by workload",
    "Best so far as a share of the final speed, over trials",
)


def operators_page(
    figures: Mapping[str, Any],
    charts: Sequence[str] = (),
    *,
    name: str = "operators",
    starts: bool = False,
) -> str:
    """Markdown. ``figures`` are what the JSON file holds, ``charts`` the names of its charts.

    ``name`` is that of the files, without its end; ``starts`` says that the page of ``tunesmith
    bench starts`` lies beside it.
    """
    rows: list[Row] = figures["rows"]
    suite = Suite(figures.get("suite", Suite.LAYERS.value))
    ratios = {r["workload"]: ratio for r in rows if (ratio := best_ratio(r)) is not None}
    return markdown(
        "operators/page.md.jinja",
        figures=figures,
        rows=rows,
        name=name,
        starts=starts,
        of_shapes=suite is Suite.SHAPES,
        settings=[row["origin"]["settings"] for row in rows],
        enough=_ENOUGH_PAIRS,
        disturbance=DISTURBED,
        rotations=ROTATIONS,
        summary=summary(rows, suite),
        compared=len(ratios),
        behind=[workload for workload, ratio in ratios.items() if ratio < 1.0],
        held_to=sorted({row["held_to"] for row in rows if row.get("held_to")}),
        unheld=_unheld(rows),
        charts=dict(zip(charts, _CHARTS, strict=False)),
        tables={
            "Plain operators": [row for row in rows if not row["workload"].endswith(FUSED)],
            "With bias and ReLU": [row for row in rows if row["workload"].endswith(FUSED)],
        },
        heads=_HEADS,
        short=lambda workload: workload.removesuffix(FUSED).removeprefix(SHAPES),
        is_disturbed=is_disturbed,
        rivals=[row for row in rows if "metaschedule" in row],
        peers={_HEADS[peer.name]: peer for peer in library_peers().values()},
        counted=lambda peer: _counted(rows, peer),
        missing=_missing(rows),
    )


def _unheld(rows: Sequence[Row]) -> dict[str, int]:
    """In how many rows the best peer was not held to our instruction set, by its title."""
    best = [(row["best_peer"], row["peers"][row["best_peer"]]) for row in rows if row["best_peer"]]
    found = Counter(name for name, each in best if (held := each.get("held")) and not held["kept"])
    return {library_peers()[name].title: count for name, count in found.items()}


def _counted(rows: Sequence[Row], peer: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Of a peer's several ways, how often each was the fastest; and how it was held to our
    instruction set, and in how many rows."""
    there = [row["peers"][peer] for row in rows if peer in row["peers"]]
    ways = Counter(each["way"] for each in there if each.get("way"))
    held = Counter(each["held"]["how"] for each in there if each.get("held"))
    return dict(ways.most_common()), held


def _missing(rows: Sequence[Row]) -> dict[tuple[str, str], str]:
    """By the peers that some rows lack, and why, which rows these are."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for peer, reason in row["missing"].items():
            lacking.setdefault((library_peers()[peer].title, reason), []).append(row["workload"])
    return {
        why: fmt.counted(len(names), "workload") if len(names) > 4 else ", ".join(names)
        for why, names in lacking.items()
    }
