"""Simulated devices: what becomes of trials, and when."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.bench.scale.test_clock import Ticking
from tests.scripted import config, number
from tunesmith.bench.scale.fleet import FleetSettings, SimulatedFleet
from tunesmith.errors import UsageError
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import Measurer
from tunesmith.testing.measurer import MeasurerConformance

FAULTLESS: dict[str, Any] = {"stragglers": 0.0, "failing": 0.0, "life": math.inf}


def answer(candidate: Candidate) -> Measurement:
    """Config n takes n seconds to build and as many to run; every tenth fails."""
    n = number(candidate.config)
    fails = n % 10 == 0
    return Measurement(
        candidate.config,
        Outcome.COMPILE_HOST if fails else Outcome.NO_ERROR,
        () if fails else (1.0 / n,),
        build_time=float(n),
        run_time=float(n),
    )


def candidates(*numbers: int) -> list[Candidate]:
    return [Candidate(config(n), "line") for n in numbers]


def faultless(devices: int = 1, **others: Any) -> FleetSettings:
    return FleetSettings(devices, **{**FAULTLESS, "trial_seconds": None, **others})


def fleet_of(
    settings: FleetSettings, host: Callable[[], float] = lambda: 0.0, **others: Any
) -> SimulatedFleet:
    return SimulatedFleet(answer, settings, host=host, **others)


def collected(fleet: SimulatedFleet) -> list[Measurement]:
    found: list[Measurement] = []
    while fleet.pending:
        found += fleet.collect(math.inf)
    return found


class TestSimulatedFleet(MeasurerConformance):
    healthy = tuple(candidates(1, 2, 3))
    failing = tuple(candidates(10))

    @classmethod
    def make_measurer(cls) -> Measurer:
        return SimulatedFleet(answer, faultless(2))


class TestSimulatedFleetThatFails(MeasurerConformance):
    """Devices die while they measure, and trials take ten times as long."""

    healthy = tuple(candidates(1, 2, 3))
    failing = tuple(candidates(10, 20))
    patience = 10_000.0  # simulated

    @classmethod
    def make_measurer(cls) -> Measurer:
        return SimulatedFleet(answer, faultless(2, stragglers=0.5, life=50.0, outage=5.0))


def test_a_device_measures_one_trial_after_the_other() -> None:
    fleet = fleet_of(faultless())
    fleet.submit(candidates(3, 1))
    (first,) = fleet.collect(math.inf)
    assert (first.candidate, fleet.seconds) == (candidates(3)[0], 6.0)
    (second,) = fleet.collect(math.inf)
    assert (second.candidate, fleet.seconds) == (candidates(1)[0], 8.0)
    assert fleet.improvements == [(6.0, 1 / 3, 1)]
    assert fleet.simulated == 8.0
    assert fleet.usage().busy == 1.0


def test_several_devices_measure_at_a_time() -> None:
    fleet = fleet_of(faultless(3))
    fleet.submit(candidates(3, 1, 2, 5))
    assert [number(m.config) for m in collected(fleet)] == [1, 2, 3, 5]
    assert fleet.seconds == 12.0
    assert fleet.usage().measured == 22.0
    assert fleet.usage().alive == 36.0


def test_a_wait_ends_after_its_time() -> None:
    fleet = fleet_of(faultless())
    fleet.submit(candidates(3))
    assert fleet.collect(2.5) == []
    assert fleet.seconds == 2.5
    assert len(fleet.collect(3.5)) == 1
    assert fleet.seconds == 6.0


def test_a_device_idles_while_the_host_works() -> None:
    clock = Ticking()
    fleet = fleet_of(faultless(), clock)
    for _ in range(5):
        fleet.submit(candidates(1))
        clock.now += 0.25  # no wait: the device is measuring
        assert len(fleet.collect(math.inf)) == 1
        clock.now += 0.5  # the device has nothing to do
    fleet.cancel()
    usage = fleet.usage()
    assert usage.seconds == pytest.approx(12.5)
    assert usage.measured == pytest.approx(10.0)
    assert usage.host == pytest.approx(3.75)
    assert usage.busy == pytest.approx(1.0 - 5 * 0.5 / 12.5)


def test_trials_end_while_the_host_works() -> None:
    clock = Ticking()
    fleet = fleet_of(faultless(2), clock)
    fleet.submit(candidates(1, 2, 3))
    clock.now += 7.0
    assert sorted(number(m.config) for m in fleet.collect(0.0)) == [1, 2]
    assert fleet.seconds == 7.0
    assert len(fleet.collect(math.inf)) == 1
    assert fleet.seconds == 8.0
    assert fleet.simulated == 1.0


def test_trials_have_the_length_that_is_asked_for() -> None:
    fleet = fleet_of(FleetSettings(50, stragglers=0.02, failing=0.0, life=math.inf))
    fleet.submit(candidates(*range(1, 2001)))
    measurements = collected(fleet)
    lengths = sorted(m.build_time + m.run_time for m in measurements)
    assert sum(lengths) / len(lengths) == pytest.approx(1.0, abs=0.1)
    usual = 1.0 / 1.18
    slow = [length for length in lengths if length > 2.0 * usual]
    assert 20 <= len(slow) <= 60
    assert slow[0] >= 5.0 * usual
    assert slow[-1] <= 15.0 * usual
    assert lengths[0] >= 0.5 * usual


def test_a_share_of_the_trials_fails() -> None:
    fleet = fleet_of(faultless(10, failing=0.2))
    fleet.submit(candidates(*range(1, 1001)))
    outcomes = Counter(m.outcome for m in collected(fleet))
    assert 160 <= outcomes[Outcome.RUNTIME_DEVICE] <= 240
    assert 60 <= outcomes[Outcome.COMPILE_HOST] <= 100
    assert outcomes.total() == 1000


def test_what_a_dead_device_measured_is_measured_again() -> None:
    settings = faultless(2, life=40.0, outage=7.0, notice=3.0)
    fleet = fleet_of(settings)
    numbers = range(1, 21)
    fleet.submit(candidates(*numbers))
    assert sorted(number(m.config) for m in collected(fleet)) == list(numbers)
    usage = fleet.usage()
    assert fleet.lost > 0
    assert usage.measured > 2 * sum(numbers)
    assert usage.alive < 2 * usage.seconds


def test_nothing_of_what_was_given_up_comes_back() -> None:
    fleet = fleet_of(faultless(3, life=4.0, outage=2.0, notice=50.0))
    fleet.submit(candidates(*range(1, 10)))
    fleet.collect(20.0)
    fleet.cancel()
    fleet.submit(candidates(1))
    assert [number(m.config) for m in collected(fleet)] == [1]


def test_it_ends_a_run_after_its_time_and_its_trials() -> None:
    fleet = fleet_of(faultless(), seconds=10.0, trials=3)
    fleet.submit(candidates(4, 3, 2, 1))
    fleet.collect(math.inf)
    fleet.collect(math.inf)
    assert (fleet.seconds, fleet.batch, fleet.pending) == (14.0, 2, 2)
    fleet.collect(math.inf)
    assert (fleet.seconds, fleet.batch, fleet.pending) == (18.0, 0, 0)


def test_the_queue_is_as_long_as_is_asked_for() -> None:
    assert FleetSettings(10, ahead=0.0).wanted == 10
    assert FleetSettings(10, ahead=0.25).wanted == 13
    assert FleetSettings(10).wanted == 20


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("devices", 0, "at least one device is needed, not 0"),
        ("trial_seconds", 0.0, "trial_seconds must be positive, not 0.0"),
        ("life", -1.0, "life must be positive, not -1.0"),
        ("failing", 1.5, "failing must be between 0 and 1, not 1.5"),
        ("notice", -1.0, "notice must be 0 or more, not -1.0"),
        ("ahead", math.inf, "ahead must be 0 or more, not inf"),
    ],
)
def test_settings_make_sense(name: str, value: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        FleetSettings(**{name: value})
