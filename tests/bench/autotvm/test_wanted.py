"""What was wanted beside what was found."""

from __future__ import annotations

from typing import Any

import pytest

from tunesmith.bench.autotvm.wanted import wanted_rows


def trees(own: float | None, **others: float | None) -> dict[str, Any]:
    lines = [{"line": name, "trials_to_95": trials} for name, trials in others.items()]
    found = {"line": "GBT", "trials_to_95": own, "thinking": 0.02}
    return {"settings": {"trials": 99}, "lines": [found, *lines]}


@pytest.mark.parametrize(
    ("own", "rival", "ours", "reached"),
    [
        (40.0, 80.0, "0.50", "yes"),
        (41.0, 80.0, "0.51", "no"),
        (40.0, None, "0.40", "yes"),
        (60.0, None, "less than 0.60", "too short"),
        (None, 80.0, "never", "no"),
        (None, None, "never", "too short"),
    ],
)
def test_times_random_trials(
    own: float | None, rival: float | None, ours: str, reached: str
) -> None:
    times, thinking = wanted_rows({"model": trees(own, random=rival)})
    assert times == ("`model`", "GBT's median trials ÷ random's", "0.5", ours, reached)
    assert thinking == ("`model`", "thinking", "10 %", "2.0 %", "yes")


def test_the_ga_has_a_figure_of_its_own() -> None:
    found = wanted_rows({"model-replay": trees(65.0, GA=100.0)})
    assert found[0] == ("`model-replay`", "GBT's median trials ÷ GA's", "0.7", "0.65", "yes")


@pytest.mark.parametrize(
    ("share", "ours", "reached"),
    [(0.33, "33.0 %", "yes"), (0.34, "34.0 %", "no"), (None, "never", "no")],
)
def test_transfer(share: float | None, ours: str, reached: str) -> None:
    line = {
        "line": "transfer",
        "thinking": 0.11,
        "catches_up_of_all": {"random": 0.1, "from nothing": share},
    }
    rows = wanted_rows({"transfer": {"settings": {"trials": 200}, "lines": [line]}})
    assert rows == [
        ("`transfer`", "trials to the end of **from nothing**", "33 %", ours, reached),
        ("`transfer`", "thinking", "10 %", "11.0 %", "no"),
    ]


def test_a_line_beside_none_tells_of_its_thinking_alone() -> None:
    """The run from nothing is not done yet, or the figures are of a version that did not count."""
    line = {"line": "transfer", "thinking": 0.05, "catches_up_of_all": {"random": 0.1}}
    for found in (line, {"line": "transfer", "thinking": 0.05}):
        rows = wanted_rows({"transfer": {"settings": {"trials": 200}, "lines": [found]}})
        assert rows == [("`transfer`", "thinking", "10 %", "5.0 %", "yes")]


def test_parts_without_the_line_have_none() -> None:
    assert wanted_rows({"objective": trees(1.0), "model": {"lines": []}}) == []
