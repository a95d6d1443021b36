"""A table of text as HTML without style or scripts, for a notebook to show in its own look."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

# A notebook keeps what it has shown: rows and texts beyond these are left out.
_MOST_ROWS = 30
_LONGEST = 200


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The table; all text is escaped, on one line, and cut where it is long."""
    kept = list(rows)
    head = "".join(f"<th>{_text(each)}</th>" for each in heads)
    body = [
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>"
        for row in kept[:_MOST_ROWS]
    ]
    if len(kept) > _MOST_ROWS:
        more = f"and {len(kept) - _MOST_ROWS:,} more"
        body.append(f'<tr><td colspan="{len(heads)}">{more}</td></tr>')
    top = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    return f"<table><caption>{_text(caption)}</caption>{top}<tbody>{''.join(body)}</tbody></table>"


def _text(value: object) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    return f"<bdi>{html.escape(line)}</bdi>"
