"""Which sketches' records of a task count: those of today's versions, and of the name asked for."""

from __future__ import annotations

from typing import Any

import pytest

from tunesmith.cli.past_runs import current_sketches
from tunesmith.sketches import sketches

GEMM = ("cpu_gemm", sketches()["cpu_gemm"].version)
TILED = ("cpu_tiled", sketches()["cpu_tiled"].version)
OLD = ("cpu_gemm", 0)


class Tuned:
    """A store, as far as it is asked."""

    def sketches(self, key: str) -> list[tuple[str, int]]:
        assert key == "a task"
        return [GEMM, OLD, TILED]


@pytest.mark.parametrize(
    ("only", "found"),
    [(None, [GEMM, TILED]), ("cpu_gemm", [GEMM]), ("gemm", [GEMM]), ("tiled", [TILED]), ("em", [])],
)
def test_the_name_may_leave_out_the_targets(only: str | None, found: list[tuple[str, int]]) -> None:
    store: Any = Tuned()
    assert current_sketches(store, "a task", only) == found
