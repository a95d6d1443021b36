"""A kernel of ours against all libraries: who takes part, and what becomes of the turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tunesmith.bench.peers import against_libraries as module
from tunesmith.bench.peers.against_libraries import ratios_to_libraries
from tunesmith.bench.peers.library_peers import library_peer, library_peers
from tunesmith.bench.peers.sides import kernel_side_of, library_sides
from tunesmith.bench.timing.rotation import Rotation, Turns
from tunesmith.errors import TunesmithError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import conv2d, matmul
from tunesmith.target import Target
from tunesmith.task import Task

TARGET = Target(cores=1)
MATMUL = matmul(m=8, n=8, k=8)


class Rotated:
    """In place of ``rotate``: each side takes the seconds that it is given; the others fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        self.seconds = seconds
        self.sides: list[str] = []
        monkeypatch.setattr(module, "rotate", self.rotate)

    def rotate(self, _: str, sides: Mapping[str, Any], rounds: int, **_others: Any) -> Rotation:
        self.sides = list(sides)
        turns = {name: Turns(time, (time,) * rounds) for name, time in self.seconds.items()}
        return Rotation(turns, {name: "broken" for name in sides if name not in turns})


def test_every_library_that_can_takes_part() -> None:
    sides, missing = library_sides(conv2d(ci=3, h=8, w=8, co=4, kernel=3), 1, None)
    assert {*sides, *missing} == set(library_peers())
    assert not {*sides} & {*missing}
    assert all(side["kind"] == "peer" and side["cores"] == 1 for side in sides.values())
    absent = {peer.name for peer in library_peers().values() if peer.missing() is not None}
    assert absent <= set(missing)


def test_ratios_have_the_libraries_titles(monkeypatch: pytest.MonkeyPatch) -> None:
    rotated = Rotated(monkeypatch, tunesmith=2e-3, numpy=3e-3)
    found = ratios_to_libraries(MATMUL, TARGET, {"kind": "kernel"})
    assert found == {"NumPy": pytest.approx(1.5)}
    assert rotated.sides[0] == "tunesmith"
    assert "numpy" in rotated.sides


def test_our_own_side_has_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    Rotated(monkeypatch, numpy=3e-3)
    with pytest.raises(TunesmithError, match="our kernel failed: broken"):
        ratios_to_libraries(MATMUL, TARGET, {"kind": "kernel"})


def test_real_sides_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = TaskProblem.of(Task(MATMUL, TARGET))
    parts = {
        "sketch": problem.sketch.name,
        "config": problem.default.to_json(),
        "target": {"kind": "cpu", "cores": 1},
    }
    numpy = {"numpy": library_peer("numpy").side(MATMUL, 1)}
    monkeypatch.setattr(module, "library_sides", lambda *_: (numpy, {}))
    monkeypatch.setattr(module, "_ROUNDS", 3)
    monkeypatch.setattr(module, "_TURN_SECONDS", 0.005)
    found = ratios_to_libraries(MATMUL, TARGET, kernel_side_of(MATMUL, parts))
    assert list(found) == ["NumPy"]
    assert found["NumPy"] > 0
