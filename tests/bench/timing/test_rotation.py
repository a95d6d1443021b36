"""Any number of sides that take turns: the order, who fails, who was disturbed, who is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import psutil
import pytest

from tunesmith.bench.peers import SIDE
from tunesmith.bench.peers.library_peers import library_peer
from tunesmith.bench.timing import rotation
from tunesmith.bench.timing.rotation import Ratio, Turns, ratio_of, rotate
from tunesmith.bench.timing.side_process import Side
from tunesmith.errors import TunesmithError
from tunesmith.operators import matmul

SOLO = rotation._SOLO_ROUNDS


class FakeSide:
    """Takes as long as it says, and fails in the round that it says.

    ``seconds`` is a number, or one for each series of turns, as many each as there are alone.
    """

    log: ClassVar[list[str]] = []

    def __init__(self, module: str, description: Mapping[str, Any], patience: float = 0.0) -> None:
        self.peak_bytes = 0
        self._name, self._seconds = description["name"], description["seconds"]
        self._fails = description.get("fails")
        self._rounds = 0
        self.way = description.get("way")

    def ready(self) -> None:
        if self._fails == 0:
            raise TunesmithError(f"{self._name} cannot be")

    def round(self, seconds: float) -> float:
        self._rounds += 1
        if self._rounds == self._fails:
            raise TunesmithError(f"{self._name} broke")
        self._note("runs")
        if isinstance(self._seconds, float):
            return self._seconds
        series = self._seconds
        return float(series[min((self._rounds - 1) // SOLO, len(series) - 1)])

    def stop(self) -> None:
        self._note("stops")

    def go(self) -> None:
        self._note("goes")

    def close(self) -> None:
        self._note("ends")

    def _note(self, what: str) -> None:
        FakeSide.log.append(f"{self._name} {what}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    FakeSide.log = []
    if "real" not in request.node.name:
        monkeypatch.setattr(rotation, "Side", FakeSide)
        monkeypatch.setattr(rotation, "_PAUSE", 0.0)


def described(**seconds: float | list[float]) -> dict[str, dict[str, Any]]:
    return {name: {"name": name, "seconds": value} for name, value in seconds.items()}


def test_all_but_one_are_stopped() -> None:
    rotate(SIDE, described(a=1.0, b=2.0, c=3.0), 2)
    working: set[str] = set()
    for line in FakeSide.log:
        name, what = line.split()
        if what == "runs":
            assert working <= {name}, "another side was not stopped"
            working.add(name)
        elif what == "stops":
            working.discard(name)
    assert FakeSide.log[-3:] == ["c ends", "b ends", "a ends"]


def test_every_second_round_goes_backwards() -> None:
    rotate(SIDE, described(a=1.0, b=2.0, c=3.0), 3)
    turns = [line[0] for line in FakeSide.log if line.endswith("runs")]
    alone = "a" * SOLO + "b" * SOLO + "c" * SOLO
    assert "".join(turns) == alone + "abc" + "cba" + "abc" + alone


def test_a_side_that_cannot_run_is_left_out_and_said() -> None:
    sides = described(a=1.0, b=2.0, c=3.0)
    sides["b"]["fails"] = 0
    sides["c"]["fails"] = SOLO + 2  # after its rounds alone, in the second one of the rotation
    heard: list[str] = []
    found = rotate(SIDE, sides, 4, say=heard.append)
    assert found.failed == {"b": "b cannot be", "c": "c broke"}
    assert found.turns == {"a": Turns(1.0, (1.0,) * 4)}
    assert heard == ["a", "b", "c"]
    assert FakeSide.log.count("c ends") >= 1


def test_a_ratio_is_that_of_each_round() -> None:
    ours = Turns(1.0, (1.0, 2.0, 4.0))
    other = Turns(3.0, (3.0, 6.0, 4.0))
    assert ratio_of(other, ours) == Ratio(3.0, 1.0, 3.0)


@pytest.mark.parametrize(
    ("alone", "disturbed"), [(1.0, False), (1.2, False), (0.7, True), (2.0, True)]
)
def test_a_side_that_lost_its_solo_speed_is_marked(alone: float, disturbed: bool) -> None:
    assert Turns(alone, (0.5, 1.0, 9.0)).disturbed is disturbed


def test_the_faster_solo_run_counts_and_one_rotation_is_enough() -> None:
    found = rotate(SIDE, described(a=[2.0, 1.0, 1.0], b=[1.0, 1.0, 2.0]), SOLO)
    assert found.turns == {name: Turns(1.0, (1.0,) * SOLO) for name in "ab"}
    assert FakeSide.log.count("a runs") == 3 * SOLO, "alone, in turn, alone"


def test_a_rotation_that_disturbs_a_side_is_repeated() -> None:
    found = rotate(SIDE, described(a=1.0, b=[1.0, 1.5, 1.0, 1.25, 1.0]), SOLO)
    assert found.turns["b"] == Turns(1.0, (1.25,) * SOLO)
    assert FakeSide.log.count("a runs") == 5 * SOLO, "the solo run between two serves both"


def test_of_three_disturbed_rotations_the_least_disturbed_one_counts() -> None:
    b = [1.0, 3.0, 1.0, 2.0, 1.0, 2.5, 1.0]
    found = rotate(SIDE, described(a=1.0, b=b), SOLO)
    assert found.turns["b"] == Turns(1.0, (2.0,) * SOLO)
    assert found.turns["b"].disturbed
    assert FakeSide.log.count("a runs") == (2 * rotation.ROTATIONS + 1) * SOLO
    FakeSide.log = []
    # One side that is disturbed more is better than two that are.
    c = [1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0]
    found = rotate(SIDE, described(a=1.0, b=b, c=c), SOLO)
    assert (found.turns["b"].seconds, found.turns["c"].seconds) == (3.0, 1.0)


def test_a_side_that_breaks_in_a_later_rotation_is_left_out() -> None:
    sides = described(a=1.0, b=[1.0, 2.0, 1.0, 1.5, 1.0])
    sides["c"] = {"name": "c", "seconds": 1.0, "fails": 3 * SOLO + 1}
    found = rotate(SIDE, sides, SOLO)
    assert found.failed == {"c": "c broke"}
    assert set(found.turns) == {"a", "b"}
    assert found.turns["b"].seconds == 1.0


# --- Real processes

OPERATOR = matmul(m=8, n=8, k=8).to_json()
NUMPY = {"kind": "peer", "peer": "numpy", "operator": OPERATOR, "cores": 1}


def test_a_real_side_does_nothing_while_it_is_stopped() -> None:
    with Side(SIDE, NUMPY) as side:
        side.ready()
        side.stop()
        process = psutil.Process(side._process.pid)
        deadline = time.monotonic() + 60
        while process.status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < deadline
        side.go()
        assert side.round(0.001) > 0
    assert not process.is_running()


def test_real_sides_have_as_many_threads_as_asked_for() -> None:
    with Side(SIDE, {**NUMPY, "cores": 3}) as side:
        side.ready()  # before, the environment of a process that is being started may read as empty
        environment = psutil.Process(side._process.pid).environ()
    names = ("TVM_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    assert {environment[name] for name in names} == {"3"}


def test_a_real_side_that_takes_too_long_is_given_up() -> None:
    message = "no answer within 0 s: it was given up"
    with Side(SIDE, NUMPY, patience=0) as side, pytest.raises(TunesmithError, match=message):
        side.ready()


def test_a_real_side_dies_with_the_process_that_started_it() -> None:
    program = (
        "import sys, time\n"
        "from tunesmith.bench.timing.side_process import Side\n"
        f"side = Side({SIDE!r}, {NUMPY!r})\n"
        "side.ready()\n"
        "side.stop()\n"
        "print(side._process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    side = psutil.Process(int(parent.stdout.readline()))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while side.is_running() and side.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the stopped side is still there"
        time.sleep(0.01)


def test_the_way_of_a_side_is_told() -> None:
    sides = described(a=1.0, b=2.0)
    sides["b"]["way"] = "fused"
    found = rotate(SIDE, sides, 1)
    assert [turns.way for turns in found.turns.values()] == [None, "fused"]


def test_a_real_side_chooses_a_way() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    operator = matmul(m=8, n=8, k=8)
    with Side(SIDE, library_peer("pytorch").side(operator, 1)) as side:
        side.ready()
        assert side.way is None
        side.round(0.001)
        assert side.way in {"new result", "same result"}
