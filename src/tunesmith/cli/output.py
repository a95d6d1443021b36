"""Printing: results on standard output, progress and remarks on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100


def print_json(value: object) -> None:
    """One JSON object and nothing else."""
    print(json.dumps(value, default=_plain))


def console() -> Console:
    """Standard output; never wider than our tables."""
    return _console(stderr=False)


def remarks() -> Console:
    """Standard error."""
    return _console(stderr=True)


def remark(text: str) -> None:
    """A line on standard error, as it is."""
    sys.stderr.write(text + "\n")


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    fits = made.is_terminal and made.width <= WIDTH
    return made if fits else Console(stderr=stderr, highlight=False, width=WIDTH)


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "to_json"):
        return value.to_json()
    raise TypeError(f"{type(value).__name__} has no place in JSON")
