"""How far results are from those of the source."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.networks.check import relative_error

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("found", "expected", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([INF, -INF, 2.0], [INF, -INF, 2.0], 0.0),
        ([INF, 3.0], [INF, 2.0], 0.5),
        ([INF, 2.0], [-INF, 2.0], INF),
        ([1.0, 2.0], [INF, 2.0], INF),
        ([NAN, 2.0], [NAN, 2.0], 0.0),
        ([NAN, 2.0], [1.0, 2.0], INF),
    ],
)
def test_infinities_hide_no_other_difference(
    found: list[float], expected: list[float], error: float
) -> None:
    arrays = [np.array(each, np.float32) for each in (found, expected)]
    assert relative_error([arrays[0]], [arrays[1]]) == error
