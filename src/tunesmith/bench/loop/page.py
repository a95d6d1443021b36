"""The figures of ``tunesmith bench loop`` as a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.timing.rotation import DISTURBED


def loop_page(figures: Mapping[str, Any], machine: Mapping[str, Any], date: str) -> str:
    """Markdown. ``figures`` are those of ``measure_loop``, with ``versions``."""
    torch = figures["tuned"].get("torch")
    slowed = 1.0
    if torch:
        slowed = max(torch[side] / torch[f"{side}_alone"] for side in ("first", "second"))
    return markdown(
        "loop/page.md.jinja",
        figures={**figures, "machine": machine, "date": date},
        random=figures["random"],
        tuned=figures["tuned"],
        store=figures["store"],
        torch=torch,
        slowed=slowed if slowed > DISTURBED else None,
    )
