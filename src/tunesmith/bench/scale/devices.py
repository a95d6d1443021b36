"""Simulated devices, and how well they were used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from tunesmith.measurement import Candidate, Measurement


@dataclass(frozen=True, eq=False)
class Trial:
    """One trial on a device, which began after so many seconds, and what comes of it."""

    candidate: Candidate
    measurement: Measurement
    began: float


class Improvement(NamedTuple):
    """When the host was told of a better config: after so many seconds and trials; and the seconds
    of its call."""

    at: float
    seconds: float
    trials: int


@dataclass(eq=False)
class Device:
    """A device that measures one ``trial`` at a time, and may be dead.

    ``measured`` and ``dead`` are the seconds that it spent so until the last change.
    """

    trial: Trial | None = None
    died: float | None = None
    measured: float = 0.0
    dead: float = 0.0

    @property
    def is_free(self) -> bool:
        """Whether it could begin a trial."""
        return self.trial is None and self.died is None

    def drop(self, now: float) -> Trial | None:
        """End what it measures, if anything; returns that."""
        trial, self.trial = self.trial, None
        if trial is not None:
            self.measured += now - trial.began
        return trial

    def revive(self, now: float) -> None:
        """It is back."""
        assert self.died is not None
        self.dead += now - self.died
        self.died = None


@dataclass(frozen=True)
class Usage:
    """What devices and host did in ``seconds``. ``measured`` and ``alive`` are summed over the
    devices; ``host`` is how long the host worked, the rest of the time it waited."""

    seconds: float
    measured: float
    alive: float
    host: float

    @classmethod
    def of(cls, devices: Sequence[Device], now: float, host: float) -> Self:
        """That of devices in their first ``now`` seconds."""
        measured = dead = 0.0
        for device in devices:
            measured += device.measured
            dead += device.dead
            if device.trial is not None:
                measured += now - device.trial.began
            if device.died is not None:
                dead += now - device.died
        return cls(now, measured, now * len(devices) - dead, host)

    @property
    def busy(self) -> float:
        """Share of the time of living devices in which they measured."""
        return self.measured / self.alive if self.alive else 0.0

    @property
    def host_share(self) -> float:
        """Share of the time in which the host worked."""
        return self.host / self.seconds if self.seconds else 0.0
