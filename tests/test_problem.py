"""How trials are measured: settings that make sense."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tunesmith.errors import UsageError
from tunesmith.problem import MeasureSettings


def test_counts_are_any_whole_numbers() -> None:
    settings = MeasureSettings(memory_limit=8e9, repeats=np.int64(5), workers=2.0)  # type: ignore[arg-type]
    found = settings.memory_limit, settings.repeats, settings.workers
    assert found == (8_000_000_000, 5, 2)
    assert {type(each) for each in found} == {int}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"repeats": 2.5}, "repeats must be a whole number, not 2.5"),
        ({"workers": 1.5}, "workers must be a whole number, not 1.5"),
        ({"workers": 0}, "at least one worker is needed, not 0"),
        ({"workers": math.inf}, "at least one worker is needed, not inf"),
        ({"cut_off": math.nan}, "cut_off must be at least 1, not nan"),
        ({"run_timeout": math.inf}, "run_timeout must be positive, not inf"),
        ({"memory_limit": 0}, "memory_limit must be positive, not 0"),
    ],
)
def test_what_makes_no_sense(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        MeasureSettings(**changes)
