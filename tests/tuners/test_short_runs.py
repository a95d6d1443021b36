"""A line where a run is little more than its tuner's random start."""

from __future__ import annotations

import pytest

from tunesmith.tuners import Tuner, tuner
from tunesmith.tuners.annealing import Annealing
from tunesmith.tuners.autotvm import AutoTVM
from tunesmith.tuners.short_runs import short_run


@pytest.mark.parametrize(
    ("known", "trials", "line"),
    [
        (
            tuner("genetic"),
            40,
            "tuner 'genetic': its first 100 configs are random, so a run of 40 trials is random "
            "search: try population=20, or more trials",
        ),
        (
            tuner("nose"),
            200,
            "tuner 'nose': its first 100 configs are random, so a run of 200 trials is mostly "
            "random search: try population=20, or more trials",
        ),
        (
            AutoTVM(),
            64,
            "tuner 'autotvm': its first 64 configs are random, so a run of 64 trials is random "
            "search: try batch=20, or more trials",
        ),
        (
            tuner("genetic"),
            39,
            "tuner 'genetic': its first 100 configs are random, so a run of 39 trials is random "
            "search: try more trials",
        ),
        (
            tuner("genetic", population=10),
            15,
            "tuner 'genetic': its first 10 configs are random, so a run of 15 trials is mostly "
            "random search: try more trials",
        ),
    ],
)
def test_a_run_that_is_short_for_its_tuner(known: Tuner, trials: int, line: str) -> None:
    assert short_run(known, trials) == line


def test_each_sketch_has_a_random_start() -> None:
    assert short_run(tuner("genetic"), 300) == ""
    assert short_run(tuner("genetic"), 300, searches=3) == (
        "tuner 'genetic': its first 100 configs with each of 3 sketches are random, so a run of "
        "300 trials is random search: try population=20, or more trials"
    )


def test_a_model_of_other_tasks_is_a_start() -> None:
    assert short_run(AutoTVM(), 64, transfers=True) == ""
    assert short_run(AutoTVM(transfer=False), 64, transfers=True) != ""


@pytest.mark.parametrize(
    ("known", "trials"),
    [
        (tuner("genetic"), 201),
        (tuner("genetic"), None),
        (tuner("genetic", population=20), 100),
        (tuner("auto"), 10),
        (tuner("random"), 10),
    ],
)
def test_a_run_that_is_not(known: Tuner, trials: int | None) -> None:
    assert short_run(known, trials) == ""


def test_random_starts_are_as_long_as_the_options_say() -> None:
    assert tuner("nose").random_start() == tuner("genetic").random_start() == 100
    assert tuner("nose", population=20).random_start() == 20
    assert tuner("opevo", parents=32).random_start() == 32
    assert Annealing(starts=7).random_start() == 7
    assert AutoTVM(batch=16).random_start() == 16
    assert tuner("random").random_start() == 0
