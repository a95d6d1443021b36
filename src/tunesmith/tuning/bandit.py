"""Which of several searches has the next trial: most for those that are ahead or catching up."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bandit:
    """How trials are shared among arms, of which only the fastest single find counts.

    Every arm has its ``first`` trials, but only one where its promise (see ``expect``) is more than
    ``unpromising`` times the best one. After that the arm with the highest upper confidence bound
    has the next trial. Its credit is how close its best is to the best of all, to the power of
    ``sharpness``; the close have to be told apart, the far only looked at. An arm that still
    improves is credited with ``outlook`` times the improvement of its last ``window`` trials, so
    that a late bloomer is found. ``exploration`` weighs the bound's second part, and no arm has
    less than ``least_share`` of the trials.
    """

    first: int = 3
    unpromising: float = 3.0
    window: int = 12
    outlook: int = 2
    sharpness: float = 3.0
    exploration: float = 2.0
    least_share: float = 0.03

    def start(self, arms: int) -> Allocation:
        """A new allocation among so many arms."""
        return Allocation(self, arms)


@dataclass
class _Arm:
    """``given`` counts its trials, those still pending included; ``best`` has the least seconds
    after each one that was observed, infinity while there is none."""

    rank: int
    first: int
    given: int = 0
    best: list[float] = field(default_factory=list)


class Allocation:
    """The trials that arms were given, and what came of them."""

    def __init__(self, settings: Bandit, arms: int) -> None:
        self._settings = settings
        self._arms = [_Arm(arm, settings.first) for arm in range(arms)]

    def expect(self, promises: Sequence[float | None]) -> None:
        """Take in a guess at the best seconds of each arm; None: no idea."""
        known = [promise for promise in promises if promise is not None]
        limit = self._settings.unpromising * min(known, default=math.inf)
        # An arm without a promise may be anything: it comes right after the most promising one.
        keys = [min(known, default=0.0) if promise is None else promise for promise in promises]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        for number, arm in enumerate(self._arms):
            arm.rank = order.index(number)
            arm.first = self._settings.first if keys[number] <= limit else 1

    @property
    def given(self) -> list[int]:
        """How many trials each arm has had."""
        return [arm.given for arm in self._arms]

    def choose(self, open_arms: Collection[int]) -> int:
        """The arm to have the next trial, of those given, which must be at least one."""
        starting = [arm for arm in open_arms if self._arms[arm].given < self._arms[arm].first]
        if starting:
            return min(starting, key=self._turn)
        total = sum(self.given)
        neglected = min(open_arms, key=lambda arm: (self._arms[arm].given, arm))
        if self._arms[neglected].given < self._settings.least_share * total:
            return neglected
        return max(open_arms, key=lambda arm: (self._bound(arm, total), -arm))

    def give(self, arm: int, trials: int = 1) -> None:
        """An arm has had so many trials more; less than 0 where it could not use them."""
        self._arms[arm].given += trials

    def observe(self, arm: int, seconds: float) -> None:
        """One of an arm's trials gave so many seconds a call; infinity where it failed."""
        curve = self._arms[arm].best
        curve.append(min(seconds, curve[-1] if curve else math.inf))

    def _turn(self, arm: int) -> tuple[int, bool, int]:
        """Each arm once, then each twice, and so on; the very first trial is that of the first."""
        given = self._arms[arm].given
        return given, given > 0 or arm > 0, self._arms[arm].rank

    def _bound(self, arm: int, total: int) -> float:
        uncertainty = math.sqrt(math.log(total) / self._arms[arm].given)
        return self._credit(self._arms[arm].best) + self._settings.exploration * uncertainty

    def _credit(self, curve: Sequence[float]) -> float:
        if not curve or math.isinf(curve[-1]):
            return 0.0
        best_of_all = min(arm.best[-1] for arm in self._arms if arm.best)
        # The first trials are better than the one before by far, which says nothing of later ones.
        since = max(len(curve) - 1 - self._settings.window, self._settings.first - 1)
        before = curve[min(since, len(curve) - 1)]
        # By logarithms, as the times of a measurer may be too far apart to be divided.
        last = math.log(curve[-1])
        gain = 0.0 if math.isinf(before) else math.log(before) - last
        hoped_for = last - self._settings.outlook * gain
        ahead = min(0.0, math.log(best_of_all) - hoped_for)
        return math.exp(self._settings.sharpness * ahead)
