"""What the benchmarks' pages are made of: Markdown with lines that are not too long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_WIDTH = 98


def head(*cells: str) -> list[str]:
    """The first two lines of a table."""
    return [row(*cells), "|" + "---|" * len(cells)]


def row(*cells: str) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def paragraph(text: str) -> list[str]:
    """Lines of plain text."""
    return _lines(text.split(" "), " ", "")


def item(text: str) -> list[str]:
    """An item of a list."""
    return _lines(f"- {text}".split(" "), " ", "  ")


def circumstances(figures: Mapping[str, Any]) -> list[str]:
    """Machine, versions and date of figures, as items of a list."""
    machine = figures["machine"]
    versions = [f"{name} {version}" for name, version in figures["versions"].items()]
    return [
        f"- machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB",
        *_lines([f"- versions: {versions[0]}", *versions[1:]], ", ", "  "),
        f"- date: {figures['date']}",
    ]


def _lines(parts: Iterable[str], glue: str, indent: str) -> list[str]:
    lines = [""]
    for part in parts:
        joined = f"{lines[-1]}{glue}{part}" if lines[-1] else part
        if len(joined) > _WIDTH and lines[-1]:
            lines[-1] += glue.rstrip()
            lines.append(indent + part)
        else:
            lines[-1] = joined
    return lines
