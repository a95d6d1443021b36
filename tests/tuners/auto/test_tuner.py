"""Tunesmith's own tuner: the suite, and the parts that are its own."""

from __future__ import annotations

import dataclasses
import math
from collections import deque

import numpy as np
import pytest

from tunesmith.errors import UsageError
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Space
from tunesmith.testing.trials import distance_cost, failed, measured, space_named
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners import tuner
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.auto.observations import standardised
from tunesmith.tuners.auto.region import Region
from tunesmith.tuners.auto.tuner import AutoSearch
from tunesmith.tuners.view import View


class TestAuto(TunerConformance):
    tuner = Auto()
    learns = True
    learning_trials = 150
    trials = 120


def test_it_is_known_by_name() -> None:
    assert tuner("auto", near=4) == Auto(near=4)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"initial": 1}, "initial must be 2 or more"),
        ({"model_size": 9}, "model_size must be 10 or more"),
        ({"near": 0}, "near must be 1 or more"),
        ({"patience": 0}, "patience must be 1 or more"),
        ({"varied": -1}, "varied must be 0 or more"),
        ({"random": -1}, "random must be 0 or more"),
        ({"liked": -1}, "liked must be 0 or more"),
        ({"told_apart": 0.0}, "told_apart must be more than 0 and at most 1"),
        ({"round_share": 1.1}, "round_share must be between 0 and 1"),
        ({"refit": 0.0}, "refit must be above 0"),
    ],
)
def test_settings_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        tuner("auto", **options)


def test_proposals_in_a_row_differ_and_do_not_crowd() -> None:
    """What is pending is known to the model, so its neighbours promise less."""
    space = Space([Ordinal(name, tuple(range(1, 65))) for name in "ab"])
    search = Auto().start(space, 0)
    for config in search.propose(40):
        a, b = config["a"], config["b"]
        assert isinstance(a, int)
        assert isinstance(b, int)
        search.observe([measured(config, 1.0 + abs(a - 20) + abs(b - 40))])
    batch = search.propose(12)
    assert len(set(batch)) == 12
    assert max(space.distance(batch[0], other) for other in batch) > 3


def test_predictions_of_what_is_pending_keep_their_meaning() -> None:
    """When the units of values, the line over the estimates and the mean cost have changed."""
    space = Space([Ordinal(name, tuple(range(1, 65))) for name in "ab"])

    def seconds(config: Config) -> float:
        return float(sum(config.values()))  # type: ignore[arg-type] # numbers

    search = Auto().start_on(View(space, lambda configs: np.array([*map(seconds, configs)])), 0)
    first = search.propose(7)
    search.observe([measured(config, 1.0) for config in first])
    (waiting,) = search.propose(1)
    _, (log, cost, chance) = search._pending[waiting]
    assert abs(log) < 0.5, "a second, as all before"
    later = search.propose(20)
    search.observe([measured(config, 100.0 * seconds(config)) for config in later])
    standard = standardised(search._known.logs, 1.0)
    search._trend.fit(search._known.configs, standard.values)
    rows, expected = search._expected(standard, mean_cost=-3.0, share=0.5)
    place = [*search._pending].index(waiting)
    (of_estimate,) = search._trend.of([waiting])
    assert of_estimate != 0.0
    value = (log - standard.middle) / standard.deviation - of_estimate
    assert expected[place].tolist() == pytest.approx([value, cost + 3.0, chance - 0.5])
    np.testing.assert_array_equal(rows[place], search._coordinates.of(waiting))


def first_odd_parts(round_share: float) -> list[int]:
    """The odd parts of all numbers in the first configs of many searches."""
    space = Space([Ordinal(name, tuple(range(1, 129))) for name in "abc"])
    values = [
        value
        for seed in range(20)
        for config in Auto(round_share=round_share).start(space, seed).propose(6)
        for value in config.values()
    ]
    return [value // (value & -value) for value in values if isinstance(value, int)]


def test_round_numbers_come_first_as_far_as_they_are_favoured() -> None:
    evenly = [value // (value & -value) for value in range(1, 129)]
    assert np.median(first_odd_parts(1.0)) < np.median(evenly) / 4
    assert np.median(first_odd_parts(0.67)) < np.median(evenly) / 2
    assert 0.6 < np.mean(first_odd_parts(0.0)) / np.mean(evenly) < 1.5


def test_what_is_never_observed_does_not_pile_up() -> None:
    """A record that lacks most configs never answers for them."""
    space = Space([Ordinal(name, tuple(range(1, 65))) for name in "ab"])
    search = Auto().start(space, 0)
    for number in range(400):
        (config,) = search.propose(1)
        if number < 10 or number % 20 == 0:
            search.observe([measured(config, 1.0 + number % 7)])
    assert len(search._pending) <= 64
    assert len(search.seen) == 400


def test_its_length_scales_begin_at_the_distance_of_random_configs() -> None:
    """However many dimensions there are: two configs share as much."""
    for count, least in ((1, 0.5), (20, 10.0)):
        space = Space([Categorical(f"c{n}", tuple("abcd")) for n in range(count)])
        search = Auto().start(space, 0)
        distance = search._current_pool().distance
        assert distance > least
        assert search._current_model()._found.scales == pytest.approx(distance)


def test_it_avoids_what_fails() -> None:
    space = space_named("mixed")
    search = Auto().start(space, 1)
    for _ in range(60):
        for config in search.propose(2):
            good = config["layout"] == "NHWC"
            search.observe([measured(config, 1.0) if good else failed(config)])
    late = search.propose(20)
    assert sum(config["layout"] == "NHWC" for config in late) >= 15


def test_of_equal_promises_it_takes_the_cheap_one() -> None:
    """Two valleys are equally deep; in one of them a trial takes ten times as long."""
    space = Space([Ordinal(name, tuple(range(64))) for name in "ab"])
    dear = 0
    for seed in range(6):
        search = Auto().start(space, seed)
        for _ in range(60):
            (config,) = search.propose(1)
            a, b = config["a"], config["b"]
            assert isinstance(a, int)
            assert isinstance(b, int)
            trial = measured(config, 10.0 + min(abs(a - 8), abs(a - 56)) + abs(b - 30))
            cost = 10.0 if a >= 32 else 1.0
            search.observe([dataclasses.replace(trial, build_time=cost, run_time=0.0)])
            dear += a >= 32
    assert dear < 6 * 60 / 4


def test_a_space_of_one_config_has_no_coordinates() -> None:
    space = Space([Ordinal("n", (4,))])
    search = Auto().start(space, 0)
    assert search.propose(3) == [Config({"n": 4})]
    search.observe([measured(Config({"n": 4}), 1.0)])
    assert search.propose(1) == []


def test_a_region_counts_its_own_trials_without_a_better_one() -> None:
    region = Region(seen=12)
    for log in (0.5, math.inf, 0.2, 0.3, 0.4):
        region.count(log)
    assert (region.valid, region.fruitless) == (4, 2)
    region.count(0.25, own=False)
    assert (region.valid, region.fruitless) == (5, 2), "that of another run"
    region.count(0.1, own=False)
    assert (region.valid, region.fruitless) == (6, 0), "but it is better"
    assert region.proposed(range(20)) == 8


def test_records_of_earlier_runs_use_up_no_patience() -> None:
    """Their best is refined, however many were not better."""
    space = Space([Ordinal(name, tuple(range(32))) for name in "abc"])

    def seconds(config: Config) -> float:
        return 1.0 + sum(abs(v - 9.0) for v in _numbers(config))

    records = sorted(space.sample_many(300, np.random.default_rng(5)), key=seconds)
    search = Auto(patience=40).start(space, 0)
    search.observe([measured(config, seconds(config)) for config in records])
    found = []
    for _ in range(30):
        (config,) = search.propose(1)
        found.append(seconds(config))
        search.observe([measured(config, found[-1])])
        assert search._region.number == 0
    assert min(found[:5]) < seconds(records[0])
    assert min(found) == 1.0


@pytest.mark.parametrize("false", [1e3, 1e9, 1e300])
def test_one_absurd_time_does_little_harm(false: float) -> None:
    """The third trial is said to take that long. A random search ends at 7 on average."""
    sizes = {"m": 4, "k": 2, "n": 4}
    space = Space([Factorization(name, 1024, parts) for name, parts in sizes.items()])
    ends = []
    for seed in range(4):
        aim = space.sample(np.random.default_rng((seed, 9)))
        search = Auto().start(space, seed)
        best = math.inf
        for number in range(60):
            (config,) = search.propose(1)
            seconds = 1.0 + space.distance(config, aim)
            best = min(best, seconds)
            search.observe([measured(config, false if number == 2 else seconds)])
        ends.append(best)
    assert np.mean(ends) <= 3.0


def _numbers(config: Config) -> list[float]:
    return [float(value) for value in config.values() if isinstance(value, int)]


@pytest.mark.parametrize("pending", [1, 12])
def test_it_begins_anew_elsewhere(pending: int) -> None:
    """Of a valley that cannot get deeper, whose last configs may still be pending."""
    space = Space([Ordinal(name, tuple(range(64))) for name in "abc"])
    search = Auto(patience=40).start(space, 0)
    waiting: deque[Config] = deque()
    first: list[Config] = []
    for _ in range(1000):
        if search._region.number == 2:
            break
        waiting += search.propose(pending - len(waiting))
        if search._region.number == 1:
            first.append(waiting[-1])
        config = waiting.popleft()
        search.observe([measured(config, 1.0 + sum(abs(v - 9.0) for v in _numbers(config)))])
    assert search._region.number == 2
    bottom = dict.fromkeys("abc", 9)
    known = search._known
    of_first = [known.configs[place] for place in known.of_region(1)]
    assert of_first[: Auto().initial] == first[: Auto().initial], "what was pending is not of it"
    near = [space.distance(config, bottom) <= 3 for config in of_first[: Auto().initial]]
    assert not any(near)
    assert len(known.of_region(0)) + len(of_first) + len(known.of_region(2)) == len(known)


def test_a_cost_that_is_infinite_or_none_does_no_harm() -> None:
    """The model of costs stays finite, so the search goes on and finds the valley."""
    space = Space([Ordinal(name, tuple(range(64))) for name in "ab"])
    search = Auto().start(space, 0)
    best = math.inf
    for number in range(80):
        (config,) = search.propose(1)
        cost = (math.inf, math.nan, -1.0, 1e300)[number] if number < 4 else 0.1
        a, b = _numbers(config)
        seconds = 1.0 + abs(a - 20) + abs(b - 40)
        best = min(best, seconds)
        search.observe([dataclasses.replace(measured(config, seconds), build_time=cost)])
    assert np.isfinite(search._known.costs).all()
    assert best < 4.0


def _spread_space() -> Space:
    return Space([Ordinal(name, tuple(range(1, 33))) for name in "abcdef"])


def _cost(config: Config) -> float:
    return 1.0 + sum(
        abs(number - aim)
        for number, aim in zip(config.values(), (3, 9, 14, 20, 26, 31), strict=True)
        if isinstance(number, int)
    )


def _observed(search: AutoSearch, configs: list[Config]) -> None:
    search.observe([measured(config, _cost(config)) for config in configs])


def test_a_few_at_once_are_what_one_after_the_other_is() -> None:
    at_once, one_by_one = (Auto().start(_spread_space(), 3) for _ in range(2))
    for search in (at_once, one_by_one):
        _observed(search, search.propose(40))
    singles = [config for _ in range(64) for config in one_by_one.propose(1)]
    assert at_once.propose(64) == singles


def test_many_at_once_are_new_and_come_closer_than_one_step() -> None:
    """A batch goes where the model hopes, not only to neighbours of what was observed."""
    search = Auto().start(_spread_space(), 3)
    first = search.propose(300)
    _observed(search, first)
    many = search.propose(300)
    assert len({*first, *many}) == 600
    near = {config for each in first for config in search.space.neighbours(each)}
    further = [config for config in many if config not in near]
    assert min(map(_cost, many)) < 0.8 * min(map(_cost, first))
    assert len(further) > 30


def test_a_large_batch_is_not_taken_for_a_search_that_is_stuck() -> None:
    """Those of a batch were proposed before the first of them was known to be good."""
    search = Auto(patience=50).start(_spread_space(), 3)
    first = sorted(search.propose(300), key=_cost)
    _observed(search, first)  # the best one comes first, and nothing after it is better
    many = search.propose(300)
    assert min(map(_cost, many)) < _cost(first[0])


def test_a_model_that_is_never_refitted() -> None:
    space = space_named("mixed")
    search = Auto(refit=math.inf).start(space, 0)
    for number in range(12):
        search.observe([measured(config, 1.0 + number) for config in search.propose(1)])
    assert len(search.propose(1)) == 1


def test_hundreds_of_wide_parameters() -> None:
    """Values of which hardly any is round."""
    space = Space([Ordinal(f"p{place}", tuple(range(1, 10_001))) for place in range(150)])
    search, cost = Auto().start(space, 0), distance_cost(space)
    for _ in range(10):
        found = search.propose(1)
        assert len(found) == 1
        search.observe([measured(config, cost(config)) for config in found])


def test_a_config_has_at_most_so_many_variations() -> None:
    space = Space([Ordinal(f"p{place}", tuple(range(20))) for place in range(100)])
    search = Auto().start(space, 0)
    (config,) = search.propose(1)
    assert len(set(search._neighbourhood.variations(config).configs)) == 1024
