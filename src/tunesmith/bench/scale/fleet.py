"""A measurer with any number of simulated devices, by a clock in which the host's work is real."""

from __future__ import annotations

import heapq
import itertools
import math
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunesmith.bench.scale.clock import HostWork, host_clock
from tunesmith.bench.scale.devices import Device, Improvement, Trial, Usage
from tunesmith.errors import UsageError
from tunesmith.machine import this_machine
from tunesmith.measurement import Candidate, Measurement, Outcome

# A trial takes up to this share less or more than the mean.
_VARIES = 0.5


@dataclass(frozen=True)
class FleetSettings:
    """Simulated devices, and what goes wrong with them. Times are in seconds.

    A trial takes ``trial_seconds`` on average, up to half of that less or more; None: as long as
    its measurement says. A share of ``stragglers`` takes ``slowdown`` times as long, and one of
    ``failing`` fails although its config works. A device dies after ``life`` on average, and is
    back ``outage`` later. Its trial is lost, which the host notices after ``notice``: then another
    device takes it. ``ahead`` is how many candidates wait beside those that are being measured, as
    a share of the devices.

    Raises ``UsageError`` for a value that makes no sense.
    """

    devices: int = 1
    trial_seconds: float | None = 1.0
    stragglers: float = 0.01
    slowdown: float = 10.0
    failing: float = 0.05
    life: float = 600.0
    outage: float = 30.0
    notice: float = 5.0
    ahead: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.devices < 1:
            raise UsageError(f"at least one device is needed, not {self.devices}")
        for name in ("trial_seconds", "slowdown", "life", "outage"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be positive, not {value}")
        for name in ("stragglers", "failing"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} must be between 0 and 1, not {getattr(self, name)}")
        for name in ("notice", "ahead"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be 0 or more, not {getattr(self, name)}")

    @property
    def wanted(self) -> int:
        """How many candidates they like to have in hand."""
        return self.devices + math.ceil(self.ahead * self.devices)


class SimulatedFleet:
    """A ``Measurer`` whose trials take no time, but by its own clock.

    ``answer`` says what a trial of a candidate gives. The clock begins with the first ``submit``.
    It moves by what the host's work takes, as ``host`` tells it, but for the work of this
    simulation; and where the host waits in ``collect``, to the end of the next trial. So devices
    are idle for as long as a slow host lets them be. ``host`` is the clock of the calling thread.

    The fleet ends the run: after ``seconds`` by its clock, and at least ``trials`` trials, it gives
    up all that is pending and wants nothing more.
    """

    def __init__(
        self,
        answer: Callable[[Candidate], Measurement],
        settings: FleetSettings,
        *,
        seconds: float = math.inf,
        trials: int = 0,
        host: Callable[[], float] = host_clock,
    ) -> None:
        self.improvements: list[Improvement] = []
        self.submitted = 0
        self.collected = 0
        self.lost = 0
        """Trials whose device died."""
        self._answer = answer
        self._settings = settings
        self._seconds, self._trials = seconds, trials
        self._work = HostWork(host)
        self._waited = 0.0
        self._now = 0.0
        self._devices = [Device() for _ in range(settings.devices)]
        self._free = deque(self._devices)
        self._queue: deque[Candidate] = deque()
        self._finished: list[Measurement] = []
        self._missing: set[Trial] = set()
        self._in_hand = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._rng = np.random.default_rng(settings.seed)
        self._best = math.inf

    # -- as in ``Measurer`` ----------------------------------------------------------------------

    @property
    def machine(self) -> Mapping[str, Any]:
        """This one, but with a fingerprint of its own: nobody else's records are of it."""
        return {**this_machine(), "fingerprint": "simulated", "device": "simulated devices"}

    @property
    def batch(self) -> int:
        """As many as are wanted, until the end."""
        return 0 if self._is_over() else self._settings.wanted

    @property
    def pending(self) -> int:
        """Those that the host has not been told of, lost ones that it does not know of included."""
        return self._in_hand

    def submit(self, candidates: Sequence[Candidate], best: float = math.inf) -> None:  # noqa: ARG002
        """As in ``Measurer``; free devices begin at once."""
        if not self._work.begun:
            self._work.begin()
            for device in self._devices:
                self._expect_death(device)
        with self._work.paused():
            self._catch_up()
            self.submitted += len(candidates)
            self._in_hand += len(candidates)
            self._queue.extend(candidates)
            self._hand_out()

    def collect(self, timeout: float) -> list[Measurement]:
        """As in ``Measurer``; waiting takes no real time."""
        if not self._in_hand:
            return []
        with self._work.paused():
            self._catch_up()
            until = self._now + timeout
            while not self._finished and self._events and self._events[0][0] <= until:
                self._happen()
            if not self._finished and math.isfinite(until):
                self._now = max(self._now, until)
            self._waited = self._now - self._work.seconds
            found, self._finished = self._finished, []
            self._in_hand -= len(found)
            self.collected += len(found)
            self._note(found)
            if self._is_over():
                self._give_up()
                self._work.stop()
            return found

    def cancel(self) -> None:
        """As in ``Measurer``."""
        with self._work.paused():
            self._catch_up()
            self._give_up()

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> list[Measurement]:
        """The same times again; it takes no time by the clock."""
        measured = [self._outcome(candidate)[0] for candidate in candidates]
        return [replace(each, run_seconds=each.run_seconds[:1] * rounds) for each in measured]

    def round_cost(self, measurement: Measurement) -> float:
        """As in ``Measurer``."""
        return measurement.build_time + measurement.run_time

    @property
    def simulated(self) -> float:
        """Seconds in which the host had nothing to do but wait."""
        return self._waited

    def time_split(self) -> Mapping[str, float]:
        """Waiting is for runs, however many there are at a time."""
        return {"build": 0.0, "run": self._waited, "idle": 0.0}

    def close(self) -> None:
        """As in ``Measurer``."""
        self.cancel()
        self._work.stop()

    # -- what became of the devices --------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """What its clock says."""
        return self._now

    def usage(self) -> Usage:
        """What devices and host did from the first ``submit`` to the last call, or the end."""
        return Usage.of(self._devices, self._now, self._work.seconds)

    # -- the simulation --------------------------------------------------------------------------

    def _is_over(self) -> bool:
        return self._now >= self._seconds and self.collected >= self._trials

    def _catch_up(self) -> None:
        """Let happen what happened while the host was working."""
        now = self._waited + self._work.seconds
        while self._events and self._events[0][0] <= now:
            self._happen()
        self._now = max(self._now, now)

    def _happen(self) -> None:
        """The next event, at its own time."""
        at, _, event = heapq.heappop(self._events)
        self._now = max(self._now, at)
        event()

    def _in(self, seconds: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self._now + seconds, next(self._order), event))

    def _hand_out(self) -> None:
        while self._queue and self._free:
            device = self._free.popleft()
            if device.is_free:  # else it died meanwhile, and is in line again once it is back
                self._begin(device, self._queue.popleft())

    def _begin(self, device: Device, candidate: Candidate) -> None:
        measurement, seconds = self._outcome(candidate)
        trial = device.trial = Trial(candidate, measurement, self._now)

        def end() -> None:
            if device.trial is trial:  # else it died, or all was given up
                device.drop(self._now)
                self._finished.append(measurement)
                self._free.append(device)
                self._hand_out()

        self._in(seconds, end)

    def _expect_death(self, device: Device) -> None:
        if math.isfinite(self._settings.life):
            self._in(self._rng.exponential(self._settings.life), lambda: self._die(device))

    def _die(self, device: Device) -> None:
        device.died = self._now
        self._in(self._settings.outage, lambda: self._revive(device))
        trial = device.drop(self._now)
        if trial is not None:
            self.lost += 1
            self._missing.add(trial)
            self._in(self._settings.notice, lambda: self._again(trial))

    def _again(self, trial: Trial) -> None:
        if trial in self._missing:  # else all was given up
            self._missing.remove(trial)
            self._queue.appendleft(trial.candidate)
            self._hand_out()

    def _revive(self, device: Device) -> None:
        device.revive(self._now)
        self._expect_death(device)
        self._free.append(device)
        self._hand_out()

    def _give_up(self) -> None:
        for device in self._devices:
            if device.drop(self._now) is not None:
                self._free.append(device)
        self._queue.clear()
        self._missing.clear()
        self._in_hand = len(self._finished)

    # -- what trials give ------------------------------------------------------------------------

    def _outcome(self, candidate: Candidate) -> tuple[Measurement, float]:
        """What a trial gives, and how many seconds it takes."""
        settings = self._settings
        usual = self._answer(candidate)
        seconds = spent = usual.build_time + usual.run_time
        if settings.trial_seconds is not None:
            longer = 1.0 + settings.stragglers * (settings.slowdown - 1.0)
            varied = 1.0 + _VARIES * (2.0 * self._chance(candidate, "length") - 1.0)
            seconds = settings.trial_seconds * varied / longer
        if self._chance(candidate, "straggler") < settings.stragglers:
            seconds *= settings.slowdown
        if self._chance(candidate, "failure") < settings.failing:
            usual = replace(usual, outcome=Outcome.RUNTIME_DEVICE, run_seconds=())
        slower = seconds / spent if spent else 1.0
        measurement = replace(
            usual,
            sketch=candidate.sketch,
            build_time=usual.build_time * slower,
            run_time=usual.run_time * slower,
            message="" if usual.valid else f"simulated: {usual.outcome.meaning}",
        )
        return measurement, seconds

    def _chance(self, candidate: Candidate, what: str) -> float:
        """From 0 to 1, the same for the same candidate in each run."""
        text = f"{self._settings.seed} {what} {candidate.sketch} {candidate.config.key}"
        return zlib.crc32(text.encode()) / 2**32

    def _note(self, found: Sequence[Measurement]) -> None:
        """Keep when the best got better."""
        best = min((measurement.seconds for measurement in found), default=math.inf)
        if best < self._best:
            self._best = best
            self.improvements.append(Improvement(self._now, best, self.collected))
