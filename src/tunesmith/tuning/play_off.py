"""The end of a run: the best few are measured again, in turn, so that noise picks no winner."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import Measurer
from tunesmith.tuning.checking import checked
from tunesmith.tuning.incumbents import Incumbents

# Each round runs every contestant once, in turn.
MAX_ROUNDS = 15
# Fewer say no more than the trials did.
MIN_ROUNDS = 3
# Only configs this close to the best take part: further off, noise is no excuse.
MARGIN = 1.15
# A shared machine may be so many times slower for a while: that far off, the best of a sketch may
# be the best of all, whose trials came at a bad moment.
DRIFT = 2.0
# What a run measures again at most: the play-off, and twice more what it missed.
MOST = 3
# A play-off may take this share of the run's time so far, within these seconds.
SHARE = 0.1
SHORTEST, LONGEST = 1.0, 5.0

# What says something of the program. A time-out says more of the machine at that moment.
_VERDICTS = (Outcome.NO_ERROR, Outcome.WRONG_ANSWER, Outcome.RUNTIME_DEVICE)


@dataclass(frozen=True)
class PlayOff:
    """Who takes part, and how often each is measured. Not worth holding if nobody does."""

    candidates: Sequence[Candidate]
    rounds: int


def hold(
    incumbents: Incumbents, measurer: Measurer, elapsed: float, *, needed: int = 1
) -> list[Measurement]:
    """Hold the play-off of a run of ``elapsed`` seconds; returns what of it counts.

    It is needless for fewer than ``needed`` contestants. A trial with a false time may be the only
    one to take part. So where trials that took no part were clearly faster than the winner, or
    nobody won, these are measured, too; ``MOST`` times in all. Where it is interrupted, nothing of
    it counts.
    """
    trials = {it.candidate: it for it in incumbents.best_of_sketch.values()}
    trials |= {it.candidate: it for it in incumbents.finalists}
    others = (incumbents.champion, incumbents.favourite, incumbents.default)
    before = {it.candidate: it.seconds for it in (*others, *trials.values()) if it is not None}
    counted: list[Measurement] = []
    planned = plan(incumbents, elapsed, measurer.round_cost)
    if len(planned.candidates) < needed:
        return counted
    for _ in range(MOST):
        again = measurer.play_off(planned.candidates, planned.rounds)
        found = verdicts(checked(again))
        counted += found
        for candidate in planned.candidates:
            trials.pop(candidate, None)
        times = {it.candidate: it.seconds for it in counted if it.valid}
        beaten = min(times.values(), default=math.inf) / _slower(before, times)
        missed = [trial for trial in trials.values() if MARGIN * trial.seconds < beaten]
        if not found or not missed:
            break
        planned = _affordable(list(missed), elapsed, measurer.round_cost)
        if not planned.candidates:  # the best of them is worth the time
            planned = PlayOff([min(missed, key=lambda it: it.seconds).candidate], MIN_ROUNDS)
    apply(incumbents, counted)
    return counted


def _slower(before: Mapping[Candidate, float], again: Mapping[Candidate, float]) -> float:
    """How many times as slow the machine seems to be now: as much as the config that slowed down
    least, up to ``DRIFT``. One alone says nothing: the time of its trial may have been false."""
    ratios = [seconds / before[candidate] for candidate, seconds in again.items()]
    return min(DRIFT, max(1.0, min(ratios))) if len(ratios) > 1 else 1.0


def plan(incumbents: Incumbents, elapsed: float, cost: Callable[[Measurement], float]) -> PlayOff:
    """The play-off that a run of ``elapsed`` seconds can afford.

    The close best take part and, beside them, the best of each sketch that has none among them, the
    winner of earlier runs, which luckier trials may have crowded out, what the model liked most,
    whose trial may have come at a bad moment, and the default, to be compared with under the same
    conditions. ``cost`` tells the seconds that a round takes for a measured candidate. Where the
    time does not suffice for a few rounds of all, those stay out that would take all of it, however
    fast they are, and then the slowest; but the best is the last. Where that alone takes too long,
    there is no play-off.
    """
    close = [m for m in incumbents.finalists if m.seconds <= MARGIN * incumbents.best_seconds]
    known = {measurement.candidate: measurement for measurement in close}
    represented = {candidate.sketch for candidate in known}
    for sketch, its_best in incumbents.best_of_sketch.items():
        if sketch not in represented and its_best.seconds <= DRIFT * incumbents.best_seconds:
            known[its_best.candidate] = its_best
    for other in (incumbents.champion, incumbents.favourite, incumbents.default):
        if other is not None and other.valid:
            known.setdefault(other.candidate, other)
    return _affordable(list(known.values()), elapsed, cost)


def _affordable(
    contestants: list[Measurement], elapsed: float, cost: Callable[[Measurement], float]
) -> PlayOff:
    allowance = min(LONGEST, max(SHORTEST, SHARE * elapsed))
    while contestants:
        round_cost = sum(cost(measurement) for measurement in contestants)
        rounds = math.floor(min(MAX_ROUNDS, allowance / max(round_cost, 1e-9)))
        if rounds >= MIN_ROUNDS:
            return PlayOff([measurement.candidate for measurement in contestants], rounds)
        best = min(contestants, key=lambda measurement: measurement.seconds)
        others = [measurement for measurement in contestants if measurement is not best]
        if not others:
            break
        dear = [measurement for measurement in others if MIN_ROUNDS * cost(measurement) > allowance]
        contestants.remove(max(dear or others, key=lambda measurement: measurement.seconds))
    return PlayOff([], 0)


def verdicts(measured: Sequence[Measurement]) -> list[Measurement]:
    """The measurements of a play-off that count: times, wrong answers and crashes."""
    return [measurement for measurement in measured if measurement.outcome in _VERDICTS]


def apply(incumbents: Incumbents, measured: Sequence[Measurement]) -> None:
    """Let the times of a play-off replace those of the trials; what failed in it is out."""
    again = {measurement.candidate: measurement for measurement in verdicts(measured)}
    if incumbents.default is not None:
        newer = again.get(incumbents.default.candidate)
        if newer is not None and newer.valid:
            incumbents.default = newer
    confirmed = [measurement for measurement in again.values() if measurement.valid]
    if confirmed:
        incumbents.replace_best(confirmed)
