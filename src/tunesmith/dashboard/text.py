"""Text of records, which may be anything, as pages show it."""

from __future__ import annotations

LONGEST = 200


def clean(text: object, longest: int = LONGEST) -> str:
    """One printable line of at most so many characters: no control characters, and none that turn
    the direction of what follows."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
