"""The figures of ``tunesmith bench calls`` as a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.bench.calls.calls import PEERS, WAYS, limit_of
from tunesmith.bench.pages import markdown
from tunesmith.operators import operator_from_json

_TITLES = {"pytorch": "PyTorch", "numpy": "NumPy", "onnxruntime": "ONNX Runtime"}


def calls_page(figures: Mapping[str, Any]) -> str:
    """Markdown. ``figures`` are those of ``measure_calls``."""
    lines = [
        "# Calls",
        "",
        "Written by `tunesmith bench calls`; the same figures as data: `calls.json`.",
        "",
        *markdown.circumstances(figures),
        "",
        *markdown.paragraph(
            "Small operators, of which the call is most of the time. Every way of calling has a "
            "process of its own, and all take turns. Figures are microseconds: the median of the "
            "rounds, and the bounds of its 95 % interval. Over the program: the difference to the "
            "program alone in the same round. Two threads share the processor and the "
            "interpreter: their time is that of both, divided by all of their calls."
        ),
    ]
    for row in figures["rows"]:
        lines += ["", f"## {operator_from_json(row['operator']).label}", ""]
        lines += markdown.head("call", "µs", "over the program", "wanted, at most")
        lines += [_line(WAYS[way], found, limit_of(way)) for way, found in row["calls"].items()]
        lines += [
            markdown.row(_TITLES[peer], _micros(row["peers"][peer]), "", "")
            for peer in PEERS
            if peer in row["peers"]
        ]
        for name, why in row["missing"].items():
            lines += ["", f"No figures of {_TITLES.get(name, WAYS.get(name, name))}: {why}."]
    return "\n".join(lines) + "\n"


def _line(title: str, found: Mapping[str, Any], limit: float) -> str:
    if "over_bound" not in found:
        return markdown.row(title, _micros(found), "", "")
    return markdown.row(title, _micros(found), _micros(found["over_bound"]), f"{1e6 * limit:g}")


def _micros(spread: Mapping[str, float]) -> str:
    median, low, high = (1e6 * spread[name] for name in ("seconds", "low", "high"))
    return f"{median:.2f} ({low:.2f} to {high:.2f})"
