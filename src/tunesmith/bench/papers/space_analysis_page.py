"""What ``tunesmith bench space-analysis`` adds to the page of the papers' experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.papers.space_analysis import CHANCE, TOP
from tunesmith.bench.papers.space_analysis_figures import OUTCOMES, SPEEDS, pictures
from tunesmith.measurement import Outcome
from tunesmith.reports import format as fmt


def section(data: Mapping[str, Any]) -> str:
    """The part of the page, of what ``analyse`` found of each space."""
    spaces = data["spaces"]
    return markdown(
        "papers/space_analysis.md.jinja",
        spaces=spaces,
        pictures=data.get("pictures", (OUTCOMES, SPEEDS)),
        outcomes=OUTCOMES,
        speeds=SPEEDS,
        outcome=lambda name: fmt.outcome_name(Outcome[name]),
        within=[close for close, _ in spaces[0]["within"]],
        close=[close for close, _ in spaces[0]["to_share"]],
        draws=[draws for draws, _ in max((space["random"] for space in spaces), key=len)],
        top=TOP,
        chance=CHANCE,
        small_share=_small_share,
        unit=lambda space: fmt.SpeedUnit.suiting(space["flops"], [space["best_seconds"]]),
    )


def charts(data: Mapping[str, Any]) -> dict[str, str]:
    """All of its charts, by the names of their files."""
    return pictures(data["spaces"])


def _small_share(share: float) -> str:
    """Two digits of small shares, which these are."""
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
