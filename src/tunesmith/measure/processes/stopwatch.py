"""Measures how long something was active, pauses left out."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds of ``time.monotonic``. It stands at zero until it is started."""

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
        """Go on, from where it stands."""
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        """Stand still."""
        self._seconds, self._since = self.seconds, None

    def reset(self) -> float:
        """Stand still at zero. Returns what it stood at."""
        seconds = self.seconds
        self._seconds, self._since = 0.0, None
        return seconds
