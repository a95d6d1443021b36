"""The conformance suite of measurers: inherit it, say what to measure, and pytest does the rest.

::

    from tunesmith.testing.measurer import MeasurerConformance

    class TestMine(MeasurerConformance):
        healthy = tuple(Candidate(Config({"x": x})) for x in (1, 2, 3))
        failing = (Candidate(Config({"x": -1})),)

        @classmethod
        def make_measurer(cls) -> Measurer:
            return Mine(...)

It checks what a tuning loop relies on, whatever is measured and wherever: see the names of its
tests. Needs pytest.
"""

from __future__ import annotations

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest

from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import Measurer


class MeasurerConformance(ABC):
    """``healthy`` are at least three candidates that give a time, ``failing`` some that do not.

    ``patience`` is how long in seconds the measurer may take from one measurement to the next.
    """

    healthy: ClassVar[Sequence[Candidate]]
    failing: ClassVar[Sequence[Candidate]] = ()
    patience: ClassVar[float] = 60.0

    @classmethod
    @abstractmethod
    def make_measurer(cls) -> Measurer:
        """A new measurer."""

    # One serves most tests: starting a measurer may take seconds.
    @pytest.fixture(scope="class")
    @classmethod
    def shared(cls) -> Iterator[Measurer]:
        with contextlib.closing(cls.make_measurer()) as measurer:
            yield measurer

    @pytest.fixture
    def measurer(self, shared: Measurer) -> Measurer:
        shared.cancel()
        shared.collect(0.0)
        return shared

    def collect_all(self, measurer: Measurer) -> list[Measurement]:
        """Everything that is pending."""
        measurements: list[Measurement] = []
        while measurer.pending:
            some = measurer.collect(self.patience)
            assert some, f"nothing in {self.patience} seconds while {measurer.pending} are pending"
            measurements += some
        return measurements

    # -- trials ----------------------------------------------------------------------------------

    def test_everything_submitted_comes_back_once(self, measurer: Measurer) -> None:
        candidates = [*self.healthy, *self.failing, self.healthy[0]]
        measurer.submit(candidates[:1])
        measurer.submit(candidates[1:])
        measurements = self.collect_all(measurer)
        assert Counter(m.candidate for m in measurements) == Counter(candidates)
        assert measurer.collect(0.0) == []

    def test_submitting_nothing_changes_nothing(self, measurer: Measurer) -> None:
        measurer.submit([])
        assert measurer.pending == 0
        assert measurer.collect(0.0) == []

    def test_pending_counts_what_is_not_collected(self, measurer: Measurer) -> None:
        measurer.submit(self.healthy)
        assert measurer.pending == len(self.healthy)
        while measurer.pending:
            before = measurer.pending
            collected = measurer.collect(self.patience)
            assert measurer.pending == before - len(collected)

    def test_collecting_does_not_wait_when_nothing_is_pending(self, measurer: Measurer) -> None:
        assert measurer.collect(math.inf) == []

    def test_a_valid_trial_has_times(self, measurer: Measurer) -> None:
        measurer.submit(self.healthy)
        for measurement in self.collect_all(measurer):
            assert measurement.outcome is Outcome.NO_ERROR, measurement.message
            assert measurement.run_seconds
            assert all(0.0 < seconds < math.inf for seconds in measurement.run_seconds)
            assert measurement.build_time >= 0.0 and measurement.run_time >= 0.0
            assert measurement.message == "" or measurement.repeated

    def test_a_failure_is_a_measurement(self, measurer: Measurer) -> None:
        measurer.submit([*self.failing, *self.healthy])
        for measurement in self.collect_all(measurer):
            if measurement.candidate in self.failing:
                _assert_failed(measurement)
            else:
                assert measurement.valid, measurement.message

    def test_batch_is_positive(self, measurer: Measurer) -> None:
        assert measurer.batch >= 1

    def test_nothing_cancelled_is_collected(self, measurer: Measurer) -> None:
        measurer.submit(self.healthy)
        measurer.cancel()
        assert measurer.pending == 0
        assert measurer.collect(0.0) == []
        measurer.submit(self.healthy[:1])
        (measurement,) = self.collect_all(measurer)
        assert measurement.candidate == self.healthy[0] and measurement.valid

    # -- play-off --------------------------------------------------------------------------------

    def test_a_play_off_has_as_many_figures_as_rounds(self, measurer: Measurer) -> None:
        measurements = measurer.play_off(self.healthy, rounds=4)
        assert [m.candidate for m in measurements] == list(self.healthy)
        for measurement in measurements:
            assert measurement.valid, measurement.message
            assert len(measurement.run_seconds) == 4
            assert all(0.0 < seconds < math.inf for seconds in measurement.run_seconds)

    def test_a_play_off_of_nobody(self, measurer: Measurer) -> None:
        assert measurer.play_off([], rounds=3) == []

    def test_failures_in_a_play_off_are_measurements(self, measurer: Measurer) -> None:
        candidates = [*self.failing, *self.healthy]
        measurements = measurer.play_off(candidates, rounds=2)
        assert [m.candidate for m in measurements] == candidates
        for measurement in measurements:
            if measurement.candidate in self.failing:
                _assert_failed(measurement)
            else:
                assert len(measurement.run_seconds) == 2

    def test_a_play_off_keeps_what_is_pending(self, measurer: Measurer) -> None:
        measurer.submit(self.healthy[1:])
        measurements = measurer.play_off(self.healthy[:1], rounds=2)
        assert [m.candidate for m in measurements] == [self.healthy[0]]
        assert measurer.pending == len(self.healthy) - 1
        collected = self.collect_all(measurer)
        assert Counter(m.candidate for m in collected) == Counter(self.healthy[1:])

    # -- the machine, the end, and accounts ------------------------------------------------------

    def test_it_names_its_machine(self, measurer: Measurer) -> None:
        fingerprint = measurer.machine["fingerprint"]
        assert isinstance(fingerprint, str) and fingerprint

    def test_the_time_split_adds_up_and_stops_with_the_measurer(self) -> None:
        with contextlib.closing(self.make_measurer()) as measurer:
            assert sum(measurer.time_split().values()) == 0.0
            before = time.monotonic()
            measurer.submit(self.healthy)
            started = time.monotonic()
            self.collect_all(measurer)
            asked = time.monotonic()
            split = measurer.time_split()
            answered = time.monotonic()
            assert set(split) == {"build", "run", "idle"}
            assert all(seconds >= 0.0 for seconds in split.values())
            slack = 1e-6
            if measurer.simulated is None:
                shortest, longest = asked - started, answered - before
            else:
                shortest = longest = measurer.simulated
            assert shortest - slack <= sum(split.values()) <= longest + slack
        final = sum(measurer.time_split().values())
        assert final >= sum(split.values())
        assert sum(measurer.time_split().values()) == final

    def test_nothing_comes_after_the_close(self) -> None:
        measurer = self.make_measurer()
        measurer.submit(self.healthy)
        measurer.close()
        assert measurer.pending == 0
        assert measurer.collect(0.0) == []
        measurer.close()


def _assert_failed(measurement: Measurement) -> None:
    assert not measurement.valid
    assert measurement.run_seconds == ()
    assert measurement.seconds == math.inf and measurement.throughput == 0.0
    assert measurement.message and len(measurement.message.splitlines()) == 1
