"""The conformance suite fails tuners that break their contract."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space
from tunesmith.testing.trials import measured
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners import Random, Search, Tuner
from tunesmith.tuners.opevo import OpEvo, OpEvoSearch
from tunesmith.tuners.random import RandomSearch


class Repeating(RandomSearch):
    """Forgets what it proposed."""

    def propose(self, count: int) -> list[Config]:
        return [self.space.sample(self.rng) for _ in range(count)]


class Careless(RandomSearch):
    """Takes no notice of constraints."""

    def next_config(self) -> Config | None:
        return self.space.config_at(int(self.rng.integers(self.space.cartesian_size)))


class Waiting(RandomSearch):
    """Proposes nothing while a measurement is pending."""

    def propose(self, count: int) -> list[Config]:
        return super().propose(count) if len(self.seen) == len(self._observed) else []


class Forgetful(RandomSearch):
    """Counts only its own proposals as seen."""

    def observe(self, measurements: Sequence[Measurement]) -> None:
        super().observe([m for m in measurements if m.config in self.seen])


class Seedless(RandomSearch):
    """Has one sequence for all seeds."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, 0)


class Greedy(RandomSearch):
    """Gives up when a trial fails."""

    def observe(self, measurements: Sequence[Measurement]) -> None:
        assert all(measurement.valid for measurement in measurements)


class Sulking(RandomSearch):
    """Proposes nothing right after a failure."""

    sulks = False

    def observe(self, measurements: Sequence[Measurement]) -> None:
        super().observe(measurements)
        self.sulks = not all(measurement.valid for measurement in measurements)

    def propose(self, count: int) -> list[Config]:
        return [] if self.sulks else super().propose(count)


class Corrupting(RandomSearch):
    """Goes on to work on the configs that it has handed out."""

    def learn(self, measurement: Measurement) -> None:
        measurement.config._values["unroll"] = 64


class Minimising(OpEvoSearch):
    """Takes seconds for fitness."""

    def learn(self, measurement: Measurement) -> None:
        if measurement.valid:
            upside_down = measured(measurement.config, 1.0 / measurement.seconds)
            super().learn(upside_down)


class Optimistic(OpEvoSearch):
    """Thinks that a trial that took no time was fast."""

    def learn(self, measurement: Measurement) -> None:
        valid = measurement.valid
        super().learn(measurement if valid else measured(measurement.config, 1e-9))


class Confused(OpEvoSearch):
    """Takes results to come in the order of the proposals."""

    def __init__(self, settings: OpEvo, space: Space, seed: int) -> None:
        super().__init__(settings, space, seed)
        self.waiting: list[Config] = []

    def propose(self, count: int) -> list[Config]:
        configs = super().propose(count)
        self.waiting += configs
        return configs

    def learn(self, measurement: Measurement) -> None:
        super().learn(dataclasses.replace(measurement, config=self.waiting.pop(0)))


@dataclass(frozen=True)
class Broken(Tuner):
    """Makes searches of a class that breaks the contract."""

    name: ClassVar[str] = "broken"
    search: ClassVar[Callable[[Space, int], Search]]

    def start(self, space: Space, seed: int) -> Search:
        return type(self).search(space, seed)


@dataclass(frozen=True)
class Misled(OpEvo):
    """An evolution that learns the wrong thing."""

    search: ClassVar[type[OpEvoSearch]]

    def start(self, space: Space, seed: int) -> OpEvoSearch:
        return type(self).search(self, space, seed)


def suite_for(tuner: Tuner, *, learns: bool = False) -> TunerConformance:
    suite = type("Suite", (TunerConformance,), {"tuner": tuner, "learns": learns})()
    assert isinstance(suite, TunerConformance)
    return suite


CHECKS: list[tuple[type[Search], Callable[[TunerConformance], None]]] = [
    (Repeating, lambda s: s.test_a_long_run_proposes_new_and_valid_configs_only("permutation")),
    (Repeating, lambda s: s.test_asked_for_more_than_is_left_it_returns_what_is_left()),
    (Careless, lambda s: s.test_a_long_run_proposes_new_and_valid_configs_only("constrained")),
    (Waiting, lambda s: s.test_proposes_while_everything_is_pending("mixed")),
    (Waiting, lambda s: s.test_observations_come_late_out_of_order_and_in_part()),
    (Forgetful, lambda s: s.test_configs_it_never_proposed_count_as_seen()),
    (Forgetful, lambda s: s.test_a_space_that_is_all_observed_has_nothing_to_propose()),
    (Seedless, lambda s: s.test_another_seed_gives_other_proposals()),
    (Greedy, lambda s: s.test_every_trial_fails("mixed")),
    (Sulking, lambda s: s.test_every_single_result_makes_room_for_a_proposal()),
    (Corrupting, lambda s: s.test_what_it_observes_is_left_as_it_was()),
    (Corrupting, lambda s: s.test_what_it_proposed_is_left_as_it_was()),
]


@pytest.mark.parametrize(("search", "check"), CHECKS)
def test_a_broken_tuner_fails(
    search: type[Search], check: Callable[[TunerConformance], None]
) -> None:
    broken = type("BrokenInOneWay", (Broken,), {"search": search})
    check(suite_for(Random()))
    with pytest.raises(AssertionError):
        check(suite_for(broken()))


def test_a_tuner_that_does_not_learn_cannot_claim_to() -> None:
    with pytest.raises(AssertionError, match="random search"):
        suite_for(Random(), learns=True).test_it_learns_from_a_smooth_problem()


MISLED = "test_it_learns_where_half_fails_and_results_come_late_and_in_any_order"


@pytest.mark.parametrize(
    ("search", "check"),
    [
        (Minimising, "test_it_learns_from_a_smooth_problem"),
        (Optimistic, MISLED),
        (Confused, MISLED),
    ],
)
def test_a_tuner_that_learns_the_wrong_thing_fails(search: type[OpEvoSearch], check: str) -> None:
    misled = type("MisledInOneWay", (Misled,), {"search": search})
    getattr(suite_for(OpEvo(), learns=True), check)()
    with pytest.raises(AssertionError, match="random search"):
        getattr(suite_for(misled(), learns=True), check)()
