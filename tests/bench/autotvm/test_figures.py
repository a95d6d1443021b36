"""The rows of an experiment's lines: runs are compared in pairs of the same problem and repeat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.bench.compare.runs import MEASURED, trace
from tunesmith.bench.autotvm.lines import lines
from tunesmith.bench.compare.runs import Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import summarise
from tunesmith.bench.compare.tuners import TunerChoice
from tunesmith.tuners import tuner

LIMIT = 4


def rows_of(traces: Mapping[str, Mapping[int, Trace]]) -> dict[str, Any]:
    """The rows of lines, each with its traces by repeat, on one workload."""
    choices = {name: TunerChoice(name, tuner("random")) for name in traces}
    results = Results([MEASURED], list(choices.values()))
    for name, of_repeats in traces.items():
        for repeat, each in of_repeats.items():
            results.traces[Run(MEASURED, choices[name], repeat)] = each
    return {row["line"]: row for row in lines(summarise(results), LIMIT)}


def found_at(place: int, best: float = 1e-3) -> Trace:
    """Four trials, of which this one is the best."""
    return trace(*[best if number == place else 3e-3 for number in range(1, LIMIT + 1)])


def test_pairs_have_the_same_repeat() -> None:
    """A run that is missing moves no other one."""
    rows = rows_of(
        {
            "transfer": {0: found_at(1), 2: found_at(2)},
            "from nothing": {1: found_at(4), 2: found_at(4)},
        }
    )
    assert rows["transfer"]["ratios"]["from nothing"] == 2 / 4
    assert rows["transfer"]["catches_up"]["from nothing"] == 2 / 4
    assert rows["transfer"]["catches_up_of_all"]["from nothing"] == 2 / LIMIT
    assert rows["transfer"]["never_catches_up"]["from nothing"] == 0.0


def test_errors_are_of_the_mean_over_runs() -> None:
    rows = rows_of({"transfer": {0: found_at(1), 1: found_at(1, 2e-3)}})
    assert rows["transfer"]["best"] == pytest.approx(0.75)
    assert rows["transfer"]["best_error"] == pytest.approx(0.25), "of two: half of the difference"


def test_what_is_found_after_some_trials() -> None:
    """Shares of the best of all, 1 ms: of 3 ms a third, and half of the runs are there at once."""
    rows = rows_of({"transfer": {0: found_at(1), 1: found_at(4)}})
    expected = {"best": pytest.approx(2 / 3), "error": pytest.approx(1 / 3)}
    assert rows["transfer"]["after"] == {"1": expected}, "a run has four trials"


def test_without_a_common_repeat_nothing_is_compared() -> None:
    rows = rows_of({"transfer": {0: found_at(1)}, "from nothing": {1: found_at(4)}})
    row = rows["transfer"]
    names = ("ratios", "sooner", "later", "catches_up", "catches_up_of_all", "never_catches_up")
    for name in names:
        assert row[name] == {"from nothing": None}


@pytest.mark.parametrize(
    ("bests", "share", "never"),
    [((1e-3, 1e-3), 1.0, 0.0), ((1e-3, 2e-3), None, 0.5), ((2e-3, 2e-3), None, 1.0)],
)
def test_those_that_never_catch_up_are_counted(
    bests: Sequence[float], share: float | None, never: float
) -> None:
    rows = rows_of(
        {
            "transfer": {number: found_at(4, best) for number, best in enumerate(bests)},
            "from nothing": {0: found_at(4), 1: found_at(4)},
        }
    )
    assert rows["transfer"]["catches_up"]["from nothing"] == share
    assert rows["transfer"]["catches_up_of_all"]["from nothing"] == share
    assert rows["transfer"]["never_catches_up"]["from nothing"] == never


def test_the_median_is_over_all_runs_and_never_where_half_did_not_come_so_far() -> None:
    places = {0: found_at(1), 1: found_at(3), 2: found_at(4, 2e-3)}
    assert rows_of({"GA": places})["GA"]["trials_to_95"] == 3
    rows = rows_of({"GA": {**places, 3: found_at(4, 2e-3)}})
    assert rows["GA"]["trials_to_95"] is None
    assert rows["GA"]["reached"] == 0.5


@pytest.mark.parametrize(
    ("own", "other", "ratio"),
    [
        (found_at(1), found_at(4), 1 / 4),
        (found_at(2), found_at(4, 2e-3), 2 / (LIMIT + 1)),
        (found_at(4, 2e-3), found_at(2), None),
        (found_at(4, 2e-3), found_at(3, 2e-3), 1.0),
    ],
    ids=["both", "the first alone", "the other alone", "neither"],
)
def test_pairs_of_which_not_both_come_so_far(own: Trace, other: Trace, ratio: float | None) -> None:
    best = found_at(1)
    rows = rows_of({"GBT": {0: own}, "random": {0: other}, "from nothing": {1: best}})
    assert rows["GBT"]["ratios"]["random"] == ratio
    told = rows["GBT"]["sooner"]["random"], rows["GBT"]["later"]["random"]
    assert told == ((0.0, 1.0) if ratio is None else (float(ratio < 1.0), 0.0))


def test_nobody_has_to_catch_up_with_a_run_that_found_nothing() -> None:
    nothing = trace(*[math.inf] * LIMIT)
    rows = rows_of({"transfer": {0: found_at(1)}, "from nothing": {0: nothing}})
    assert rows["transfer"]["catches_up"]["from nothing"] is None
    assert rows["transfer"]["never_catches_up"]["from nothing"] is None
    assert rows["transfer"]["mean_catches_up"]["from nothing"] is None


def test_the_trials_after_which_one_mean_is_as_high_as_another_in_the_end() -> None:
    """The means of shares 1/3, 2/3, 2/3, 1 and 1/3, 1/3, 2/3, 2/3 of the best speed."""
    rows = rows_of(
        {
            "transfer": {0: found_at(2), 1: found_at(4)},
            "from nothing": {0: trace(3e-3, 3e-3, 3e-3, 3e-3), 1: found_at(3)},
            "random": {0: trace(3e-3, 3e-3, 3e-3, 3e-3)},
        }
    )
    assert rows["transfer"]["mean_catches_up"] == {"from nothing": 2, "random": 1}
    assert rows["from nothing"]["mean_catches_up"] == {"random": 1}
    assert rows["random"]["mean_catches_up"] == {"from nothing": None}
    low, high = rows["transfer"]["mean_catches_up_between"]["from nothing"]
    assert 1 <= low <= 2 <= high <= LIMIT
    assert rows["random"]["mean_catches_up_between"]["from nothing"][1] is None


def test_bootstrap_samples_have_the_same_repeats_of_both() -> None:
    """So a line is always as good as its like, but not as one of other repeats."""
    ends = (1e-3, 2e-3, 3e-3)
    one, other = (
        {first + place: trace(*[best] * LIMIT) for place, best in enumerate(ends)}
        for first in (0, len(ends))
    )
    rows = rows_of({"transfer": one, "GA": other, "from nothing": one})
    assert rows["transfer"]["mean_catches_up_between"]["from nothing"] == [1, 1]
    assert rows["GA"]["mean_catches_up_between"]["from nothing"] == [1, None]
