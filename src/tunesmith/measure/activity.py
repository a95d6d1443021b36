"""Keeps account of what the wall clock is spent on."""

from __future__ import annotations

import enum


class Activity(enum.StrEnum):
    """What a measurer is doing."""

    BUILD = "build"
    RUN = "run"
    IDLE = "idle"


class ActivityClock:
    """Seconds by activity, from ``start`` to ``stop``. Times are of ``time.monotonic``.

    ``activity`` is the present one.

    That clock is one for all processes of a machine, so each change can be dated by the process
    where it happens.
    """

    def __init__(self) -> None:
        self._spent = dict.fromkeys(Activity, 0.0)
        self.activity = Activity.IDLE
        self._since: float | None = None
        self._stopped = False

    def start(self, now: float) -> None:
        """Begin, unless it has begun."""
        if self._since is None:
            self._since = now

    def change(self, activity: Activity, now: float) -> None:
        """From now on it is another activity. Dates before the start count as the start."""
        if self._since is not None and not self._stopped and now > self._since:
            self._spent[self.activity] += now - self._since
            self._since = now
        self.activity = activity

    def stop(self, now: float) -> None:
        """Nothing counts after this."""
        self.change(Activity.IDLE, now)
        self._stopped = True

    def split(self, now: float) -> dict[str, float]:
        """Seconds by activity up to now."""
        self.change(self.activity, now)
        return {activity.value: seconds for activity, seconds in self._spent.items()}
