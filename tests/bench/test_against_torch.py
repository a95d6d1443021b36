"""How the best of a run is set beside what other libraries offer."""

from __future__ import annotations

import pytest

from tests.scripted import Scripted
from tunesmith.bench import against_torch
from tunesmith.bench.against_torch import compare_with_peers
from tunesmith.bench.peers import sides
from tunesmith.bench.peers.sides import has_torch, kernel_side, peer_versions, torch_side
from tunesmith.bench.timing.paired import Comparison
from tunesmith.budget import Stop
from tunesmith.errors import TunesmithError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.problem import Problem
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.result import Found, Result

PROBLEM = TaskProblem.of(Task(matmul(m=8, n=8, k=8), Target(cores=1)))
MEASURED = Measurement(PROBLEM.default, Outcome.NO_ERROR, (2.0,))


def result(problem: Problem, best: Measurement | None) -> Result:
    return Result(
        problem=problem,
        best=None if best is None else Found(problem, best),
        default=None,
        trials=1,
        outcomes={},
        time={},
        stopped=Stop.TRIALS,
    )


@pytest.fixture
def said() -> list[str]:
    return []


def test_a_peers_time_is_ours_times_the_ratio(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    comparison = Comparison(3.0, 2.5, 3.5, 1.0, 3.0, 1.0, 3.0, 25)
    monkeypatch.setattr(against_torch, "has_torch", lambda: True)
    monkeypatch.setattr(against_torch, "compare_with_torch", lambda found: comparison)
    assert compare_with_peers(result(PROBLEM, MEASURED), said.append) == {"PyTorch": 6.0}
    assert said == ["comparing with PyTorch, in turn ..."]


def test_without_pytorch_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    for module in (against_torch, sides):
        monkeypatch.setattr(module, "has_torch", lambda: False)
    assert compare_with_peers(result(PROBLEM, MEASURED), said.append) == {}
    assert said == [
        "PyTorch is not installed, so it is not compared with: 'make setup TORCH=1' adds it"
    ]
    assert peer_versions() == {}


def test_a_comparison_that_fails_costs_no_result(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    def fails(found: Found) -> Comparison:
        raise TunesmithError("no such operator")

    monkeypatch.setattr(against_torch, "has_torch", lambda: True)
    monkeypatch.setattr(against_torch, "compare_with_torch", fails)
    assert compare_with_peers(result(PROBLEM, MEASURED), said.append) == {}
    assert said[-1] == "PyTorch cannot be compared with: no such operator"


def test_there_is_nothing_to_compare(said: list[str]) -> None:
    assert compare_with_peers(result(PROBLEM, None), said.append) == {}
    assert compare_with_peers(result(Scripted(), MEASURED), said.append) == {}
    assert said == []


def test_both_sides_know_what_they_run() -> None:
    ours, theirs = kernel_side(Found(PROBLEM, MEASURED)), torch_side(PROBLEM)
    assert ours["operator"] == theirs["operator"] == PROBLEM.task.operator.to_json()
    assert ours["cores"] == theirs["cores"] == 1
    assert ours["config"] == PROBLEM.default.to_json()
    assert ours["sketch"] == PROBLEM.sketch.name
    assert Target(**ours["target"]) == PROBLEM.task.target


def test_versions() -> None:
    if not has_torch():
        pytest.skip("PyTorch is not installed")
    assert peer_versions()["torch"][0].isdigit()
