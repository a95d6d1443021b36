"""What a store asks its database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event


def statements_of(work: Callable[[], object]) -> list[tuple[str, Any]]:
    """The statements of some work of this process with their parameters, in their order."""
    asked: list[tuple[str, Any]] = []

    def note(*given: Any) -> None:
        asked.append((given[2], given[3]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return asked
