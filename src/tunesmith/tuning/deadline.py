"""When a run has to stop, and that it does not end with nothing for want of time."""

from __future__ import annotations

import math

from tunesmith.budget import Budget, Stop
from tunesmith.tuning.clock import RunClock
from tunesmith.tuning.incumbents import Incumbents

# How long to wait for a measurement before looking at the clock again, in seconds.
LOOK_UP = 0.25

# Where nothing is valid when the time is up, so many more trials are begun before a run gives up.
LATE_TRIALS = 16


class Deadline:
    """The budget of a run, by its clock and its incumbents.

    When the time is up before anything valid was measured, the run is ``late``: it waits for what
    is pending, and where all of that fails it has ``LATE_TRIALS`` more. These are begun within
    ``late_seconds``, but for one if there were none. All other limits hold without exception.
    ``flops`` are those of the problem, if it counts any.
    """

    def __init__(
        self,
        budget: Budget,
        clock: RunClock,
        incumbents: Incumbents,
        flops: float | None,
        late_seconds: float = math.inf,
    ) -> None:
        self._budget = budget
        self._clock = clock
        self._incumbents = incumbents
        self._flops = flops
        self._late_seconds = late_seconds
        self._late_trials = 0
        self._most_late = LATE_TRIALS
        self._was_late = False

    @property
    def late(self) -> bool:
        """Whether the time is up, and nothing to end with."""
        seconds = self._budget.seconds
        up = seconds is not None and self._clock.elapsed >= seconds
        late = up and math.isinf(self._incumbents.best_seconds)
        self._was_late = self._was_late or late
        return late

    @property
    def was_late(self) -> bool:
        """Whether the run has been late before."""
        return self._was_late

    def stop(self, pending: int) -> Stop | None:
        """Why to stop now, with so many trials pending, or None."""
        stop = self._budget.stop(
            elapsed=self._clock.elapsed,
            trials=self._incumbents.trials,
            best_seconds=self._incumbents.best_seconds,
            since_improvement=self._incumbents.since_improvement,
            flops=self._flops,
        )
        # ``allowed`` keeps to what is known here: a run with nothing to begin would seem exhausted.
        gives_up = (self._budget.seconds or 0.0) + self._late_seconds
        self._most_late = LATE_TRIALS if self._clock.elapsed < gives_up else 1
        hopeful = pending > 0 or self._late_trials < self._most_late
        return None if stop is Stop.SECONDS and self.late and hopeful else stop

    def allowed(self, wanted: int, pending: int) -> int:
        """How many of the trials that are wanted may be begun now."""
        if self._budget.trials is not None:
            wanted = min(wanted, self._budget.trials - self._incumbents.trials - pending)
        if self.late:
            wanted = 0 if pending else min(wanted, self._most_late - self._late_trials)
        return max(0, wanted)

    def begun(self, trials: int) -> None:
        """So many trials have been begun."""
        if self.late:
            self._late_trials += trials

    def time_to_wait(self) -> float:
        """Seconds to wait for a measurement before looking at the clock again."""
        if self._budget.seconds is None or self.late:
            return LOOK_UP
        return max(0.0, min(LOOK_UP, self._budget.seconds - self._clock.elapsed))
