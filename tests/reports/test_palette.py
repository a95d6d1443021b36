from __future__ import annotations

import pytest

from tunesmith.progress import PHASES
from tunesmith.reports.palette import DARK, LIGHT, PEERS


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_each_light_colour_has_one_dark_counterpart() -> None:
    assert list(LIGHT) == list(DARK)
    assert len(set(LIGHT.values())) == len(LIGHT)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_text_is_readable(palette: dict[str, str]) -> None:
    for ink in ("ink", "muted", "accent", "default", *PEERS[:2]):
        for ground in ("page", "card"):
            assert _contrast(palette[ink], palette[ground]) >= 4.5, (ink, ground)
    for phase in PHASES:
        assert _contrast(palette["on phase"], palette[phase]) >= 4.5, phase


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_lines_and_crosses_stand_out(palette: dict[str, str]) -> None:
    for mark in ("best", "default", "invalid", *PEERS):
        assert _contrast(palette[mark], palette["page"]) >= 3, mark
