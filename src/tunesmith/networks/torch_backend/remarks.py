"""What users are told of a compiled model, each line once in a process."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tunesmith.errors import one_line

LOGGER = logging.getLogger("tunesmith")
"""Where no logging is set up, Python prints its warnings on stderr, one line each."""

_said: set[str] = set()


@dataclass(frozen=True)
class Remarks:
    """Says lines once; ``quiet`` ones go to those who log more than warnings."""

    quiet: bool = False

    def say(self, text: str) -> None:
        line = f"tunesmith: {one_line(text)}"
        if line not in _said:
            _said.add(line)
            LOGGER.log(logging.INFO if self.quiet else logging.WARNING, line)


def forget() -> None:
    """Every line may be said once more."""
    _said.clear()
