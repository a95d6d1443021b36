"""Pages by Jinja templates, which lie beside the modules that fill them in."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tunesmith.bench.pages.provenance import span
from tunesmith.reports import format as fmt

if TYPE_CHECKING:
    from jinja2 import Environment

WIDTH, WIDEST_TABLE = 98, 100
"""Columns of a line of text, and of a table, which is split where it has more."""

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_EMPTY = re.compile(r"\| *(?=\|)")


def render(template: str, **values: Any) -> str:
    """A template by its path in this package, such as ``compare/report/compare.html``, filled in.

    Values are escaped in a template for HTML alone. Raises ``jinja2.UndefinedError`` for a value
    that the template needs and that is missing.
    """
    return _environment().get_template(template).render(**values)


def markdown(template: str, **values: Any) -> str:
    """The same for a page of Markdown: text is wrapped, and tables that are too wide are split."""
    return tidy(render(template, **values))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join([_row(head), _row(["---"] * len(head)), *map(_row, rows)])


def tidy(page: str) -> str:
    """Markdown whose lines are not too long, with no more than one empty line at a time.

    A paragraph, or an item of a list, ends with an empty line or with the next item. Code between
    fences stays as it is. A table that is too wide is split; all parts have its first column.
    """
    parts = _FENCED.split(page)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            narrow = "\n".join(_narrow(part.split("\n")))
            parts[place] = re.sub(r"\n{3,}", "\n\n", narrow)
    return "".join(parts).strip("\n") + "\n"


def _narrow(lines: Iterable[str]) -> Iterator[str]:
    for kind, group in groupby(map(str.rstrip, lines), _kind):
        same = list(group)
        if kind == "table":
            yield from _split(same)
        else:
            yield from _wrapped(same) if kind == "text" else same


def _kind(line: str) -> str:
    if line.startswith("|"):
        return "table"
    return "" if not line or line.startswith(("#", "![")) else "text"


def _wrapped(lines: Sequence[str]) -> Iterator[str]:
    items: list[list[str]] = []
    for line in lines:
        if line.startswith("- ") or not items:
            items.append([])
        items[-1] += line.split()
    for words in items:
        yield from textwrap.wrap(
            " ".join(words),
            WIDTH,
            subsequent_indent="  " if words[0] == "-" else "",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _split(lines: Sequence[str]) -> list[str]:
    lines = [_EMPTY.sub("|  ", line) for line in lines]
    if max(map(len, lines)) <= WIDEST_TABLE:
        return lines
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]

    def part(places: Sequence[int]) -> list[str]:
        return [_row([row[place] for place in (0, *places)]) for row in rows]

    parts: list[list[int]] = [[]]
    for place in range(1, len(rows[0])):
        if parts[-1] and max(map(len, part([*parts[-1], place]))) > WIDEST_TABLE:
            parts.append([])
        parts[-1].append(place)
    return [line for places in parts for line in (*part(places), "")]


def _row(cells: Sequence[str]) -> str:
    glue = "|" if all(cell == "---" for cell in cells) else " | "
    return f"{glue}{glue.join(cells)}{glue}".strip()


def _named(values: Mapping[str, Any]) -> str:
    """Names with their values: python 3.11, numpy 2.4."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("tunesmith.bench", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=lambda name: bool(name and name.endswith(".html")),
    )
    numbers = (
        *(fmt.count, fmt.counted, fmt.decimal, fmt.duration, fmt.number, fmt.percent),
        *(fmt.seconds, fmt.share, fmt.outcome_name, fmt.config_value),
    )
    made.filters.update({each.__name__: each for each in numbers})
    made.filters.update({"json": json.dumps, "named": _named, "span": span})
    made.globals.update({"NOTHING": fmt.NOTHING, "table": table})
    return made
