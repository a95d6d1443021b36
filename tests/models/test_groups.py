"""Points of several groups."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.models.groups import members_of


@given(numbers=st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_each_group_has_its_points_in_order(numbers: list[int]) -> None:
    expected = [
        [place for place, number in enumerate(numbers) if number == group]
        for group in sorted(set(numbers))
    ]
    found = members_of(np.array(numbers, dtype=np.int64))
    assert [those.tolist() for those in found] == expected
