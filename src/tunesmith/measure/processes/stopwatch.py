"""A stopwatch that can be paused."""

from __future__ import annotations

import time


class Stopwatch:
    """Counts seconds of ``time.monotonic`` while it runs. It starts paused at zero."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._since: float | None = None

    @property
    def running(self) -> bool:
        return self._since is not None

    @property
    def seconds(self) -> float:
        """Active seconds so far."""
        if self._since is None:
            return self._seconds
        return self._seconds + time.monotonic() - self._since

    def start(self) -> None:
        """Run, or continue after a pause."""
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        """Pause."""
        self._seconds, self._since = self.seconds, None

    def reset(self) -> float:
        """Stop and set to zero. Returns the seconds so far."""
        seconds = self.seconds
        self._seconds, self._since = 0.0, None
        return seconds
