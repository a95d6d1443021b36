"""The axes of reductions: those that count, and in groups of neighbours."""

from __future__ import annotations

import pytest

from tunesmith.networks.axes import neighbouring, reduced_axes


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [
        ((2, 3, 4), (1,), (1,)),
        ((2, 3, 4), (-1, 0), (0, 2)),
        ((2, 1, 4), (1, 2), (2,)),
        ((2, 1, 4), None, (0, 2)),
        ((2, 1, 4), (1,), ()),
        ((), None, ()),
    ],
)
def test_axes_of_one_element_do_not_count(
    shape: tuple[int, ...], axes: tuple[int, ...] | None, expected: tuple[int, ...]
) -> None:
    assert reduced_axes(shape, axes) == expected


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [
        ((2, 3, 4), (0, 1), [(0, 1)]),
        ((2, 3, 4), (0, 2), [(0,), (2,)]),
        ((2, 1, 4, 5, 6), (0, 2, 4), [(0, 2), (4,)]),
        ((2, 3), (), []),
    ],
)
def test_axes_between_which_there_is_one_element_are_neighbours(
    shape: tuple[int, ...], axes: tuple[int, ...], expected: list[tuple[int, ...]]
) -> None:
    assert neighbouring(shape, axes) == expected
