"""A line where a run is little more than its tuner's random start."""

from __future__ import annotations

import pytest

from tunesmith.tuners import Tuner, tuner
from tunesmith.tuners.short_runs import short_run


@pytest.mark.parametrize(
    ("name", "trials", "kind"),
    [("genetic", 40, "is random"), ("nose", 100, "is random"), ("nose", 200, "is mostly random")],
)
def test_a_run_that_is_short_for_its_tuner(name: str, trials: int, kind: str) -> None:
    assert short_run(tuner(name), trials) == (
        f"tuner '{name}': its first 100 configs are random, so a run of {trials} trials {kind} "
        f"search: try {name}:population=20, or more trials"
    )


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
