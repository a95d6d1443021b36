"""Who hears what is going on with models: a function, or those who read the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from tunesmith.errors import one_line

Tell = Callable[[str], None]

LOGGER = logging.getLogger("tunesmith")
"""Where no logging is set up, Python prints its warnings on stderr, one line each."""

_warned: set[str] = set()


@dataclass(frozen=True)
class Heard:
    """Hands lines to ``tell``.

    Without it they are logged: a warning once in a process, as a program may ask for the model of
    the same store again and again.
    """

    tell: Tell | None = None

    def inform(self, text: str) -> None:
        """Say what is done, which takes its time."""
        if self.tell is None:
            LOGGER.info("tunesmith: %s", one_line(text))
        else:
            self.tell(text)

    def warn(self, text: str) -> None:
        """Say what is wrong."""
        line = one_line(text)
        if self.tell is not None:
            self.tell(line)
        elif line not in _warned:
            _warned.add(line)
            LOGGER.warning("tunesmith: %s", line)


def forget() -> None:
    """Every warning may be logged once more."""
    _warned.clear()
