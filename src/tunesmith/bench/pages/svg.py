"""Pictures as SVG that needs nothing but a browser. They bring a page of their own, which is light
wherever they are shown."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tunesmith.reports.palette import LIGHT

WIDTH = 920
"""Of every picture, in CSS pixels."""

Point = tuple[float, float]


def picture(height: float, drawn: Iterable[str]) -> str:
    """A whole file of what was drawn."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" font-family="system-ui, sans-serif" font-size="12">'
    )
    page = f'<rect width="{WIDTH}" height="{height:g}" fill="{LIGHT["page"]}"/>'
    return "\n".join([head, page, *drawn, "</svg>", ""])


def text(
    place: Point,
    words: str,
    *,
    anchor: str = "start",
    colour: str = LIGHT["ink"],
    bold: bool = False,
) -> str:
    """Words that start, end or have their middle at a place, as ``anchor`` says."""
    x, y = place
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>'
        f"{escape(words)}</text>"
    )


def line(start: Point, end: Point, colour: str, width: float = 1.0) -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}"/>'
    )


def bar(start: Point, end: Point, colour: str) -> str:
    """A filled rectangle between two of its corners, the upper left and the lower right one."""
    (x1, y1), (x2, y2) = start, end
    return (
        f'<rect x="{x1:.1f}" y="{y1:.1f}" width="{x2 - x1:.1f}" height="{y2 - y1:.1f}" '
        f'fill="{colour}" fill-opacity="0.55"/>'
    )


def dot(place: Point, colour: str) -> str:
    """A filled circle."""
    x, y = place
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def path(points: Iterable[Point], colour: str, width: float, *, opacity: float = 1.0) -> str:
    """Straight lines from point to point."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
        f'stroke-opacity="{opacity:g}"/>'
    )
