"""The figures of ``tunesmith bench gpu`` as a page for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.bench.gpu.summary import GpuFigure, gpu_summary
from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.timing.rotation import DISTURBED
from tunesmith.measurement import Outcome
from tunesmith.reports import format as fmt

Row = Mapping[str, Any]

_TYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_CLOCKS = {
    "sm_mhz": "multiprocessors at {} MHz",
    "memory_mhz": "memory at {} MHz",
    "celsius": "{} °C",
}
# As many failures of sketches are shown.
_MOST_FAILURES = 10


def gpu_page(figures: Mapping[str, Any]) -> str:
    """Markdown. ``figures`` are what the JSON file holds."""
    rows = figures["rows"]
    clocks = figures["gpu"]["clocks"] or {}
    failures = [
        {**each, "sketch": r["sketch"]} for r in figures["sketches"] for each in r["failures"]
    ]
    return markdown(
        "gpu/page.md.jinja",
        figures=figures,
        clocks=[words.format(clocks[name]) for name, words in _CLOCKS.items() if name in clocks],
        summary=gpu_summary(figures),
        shown=_shown,
        rounds=sorted({row["comparison"].get("rounds", 0) for row in rows} - {0}),
        disturbance=DISTURBED,
        missing=_missing(rows, told=figures["libraries"]["missing"]),
        tuned=[row for row in rows if "sketch" in row["tuning"]],
        failures=failures[:_MOST_FAILURES],
        short=_short,
        counts=_counts,
        types=_TYPES,
        outcome=lambda name: fmt.outcome_name(Outcome[name]),
    )


def _shown(figure: GpuFigure, value: float | None) -> str:
    """A value in the unit of its figure."""
    if value is None:
        return fmt.NOTHING
    if figure.unit == "%":
        return fmt.percent(value, 0)
    return {"×": f"{value:.2f}", "/s": f"{value:.1f}"}.get(figure.unit, f"{value:g}")


def _short(row: Row) -> str:
    name = str(row["workload"]).removeprefix("resnet18.").removeprefix("opevo.")
    return name.replace("|", "/")


def _counts(outcomes: Mapping[str, int]) -> tuple[int, int, int, str, str]:
    """How many trials are valid, refused and wrong; those of other classes in words, without the
    wrong ones and with them."""
    first = (Outcome.NO_ERROR, Outcome.INSTANTIATION_ERROR, Outcome.WRONG_ANSWER)
    valid, refused, wrong = (outcomes.get(outcome.name, 0) for outcome in first)
    named = {
        name: f"{fmt.outcome_name(Outcome[name])} {count}"
        for name, count in outcomes.items()
        if Outcome[name] not in first[:2]
    }
    others = [words for name, words in named.items() if Outcome[name] is not first[2]]
    return valid, refused, wrong, ", ".join(others), ", ".join(named.values())


def _missing(rows: Sequence[Row], told: str | None) -> dict[tuple[str, str], list[str]]:
    """What some rows lack, and why, and which rows; what is ``told`` already is left out."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for part, words in (("tuning", "not tuned"), ("comparison", "not compared")):
            reason = row[part].get("missing")
            if reason and reason != told:
                reasons.setdefault((words, reason), []).append(_short(row))
    return reasons
