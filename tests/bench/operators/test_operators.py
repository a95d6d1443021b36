"""``tunesmith bench operators``: what becomes of a workload, with sides that are not real."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.operators.rows import metaschedule, row
from tunesmith.bench.operators import operators, tuned
from tunesmith.bench.operators.operators import OperatorBench, OperatorSettings, comparison, verdict
from tunesmith.bench.operators.tuned import Tuned, tune_workload
from tunesmith.bench.operators.workloads import FUSED, operator_workloads
from tunesmith.bench.pages.curves import curve, start_share
from tunesmith.bench.peers.metaschedule import MetaSchedule
from tunesmith.bench.timing.rotation import Rotation, Turns
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.operators import ProductOperator, matmul
from tunesmith.progress import Progress
from tunesmith.store import open_store, this_machine
from tunesmith.target import Target

SIDE = {"kind": "kernel", "sketch": "cpu_tiled", "config": {}, "target": {}, "cores": 2}
TUNED = Tuned(
    SIDE,
    {
        "tuning_seconds": 50.0,
        "trials": 100,
        "sketch": "cpu_tiled",
        "config": {},
        "target": {"kind": "cpu", "mcpu": None, "cores": None},
    },
)
NAME = "resnet18.C3"
LAYER = operator_workloads()[NAME]


# --- Workloads


def test_there_are_all_workloads_and_their_variants() -> None:
    known = operator_workloads()
    plain = [name for name in known if not name.endswith(FUSED)]
    assert len(plain) == 12 + 9 + 9 + 3 + 3 + 3 + 2
    assert list(known) == [name + end for name in plain for end in ("", FUSED)]
    for name, operator in known.items():
        assert isinstance(operator, ProductOperator)
        assert operator.bias == operator.relu == name.endswith(FUSED)
        varying = name.startswith(("matmul", "opevo"))
        assert operator.constant_weights == (not varying)


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["resnet18.C1"], ["resnet18.C1"]),
        (["resnet18.C1?"], ["resnet18.C10", "resnet18.C11", "resnet18.C12"]),
        (["matmul.512*", "resnet18.C2"], ["resnet18.C2", "matmul.512", "matmul.512+bias+relu"]),
    ],
)
def test_patterns_choose(patterns: list[str], chosen: list[str]) -> None:
    assert list(operator_workloads(patterns)) == chosen


def test_a_pattern_that_nothing_fits() -> None:
    with pytest.raises(UsageError, match=r"unknown workload 'resnet18.C13': did you mean"):
        operator_workloads(["resnet18.C13"])
    with pytest.raises(UsageError, match="unknown workload"):
        operator_workloads(["*relu"], fused=False)


# --- Settings


@pytest.mark.parametrize("name", ["seconds", "fused_seconds", "pairs"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_settings_are_positive(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} must be positive, not {value}"):
        OperatorSettings(**{name: value})


def test_variants_are_tuned_for_half_the_time_unless_told() -> None:
    assert OperatorSettings(seconds=60).budget(NAME) == 60
    assert OperatorSettings(seconds=60).budget(NAME + FUSED) == 30
    assert OperatorSettings(seconds=60, fused_seconds=5).budget(NAME + FUSED) == 5


# --- Rows


def turns(seconds: float) -> Turns:
    return Turns(seconds, (seconds, 2 * seconds, 3 * seconds))


def test_the_best_peer_is_the_one_with_the_least_ratio() -> None:
    rotation = Rotation(
        {"tunesmith": turns(1e-3), "pytorch": turns(3e-3), "onnxruntime": turns(1.5e-3)},
        {"onednn": "it broke"},
    )
    found = comparison(rotation, 2_000_000, {"numpy": "not installed: numpy"})
    assert found["best_peer"] == "onnxruntime"
    assert found["best_peer_ratio"] == pytest.approx(1.5)
    assert found["gflops"] == pytest.approx(1.0)
    assert found["peers"]["pytorch"]["ratio"] == pytest.approx(3.0)
    assert found["peers"]["pytorch"]["gflops"] == pytest.approx(1 / 3)
    assert found["peers"]["pytorch"]["disturbed"], "twice as slow as alone"
    assert found["missing"] == {"numpy": "not installed: numpy", "onednn": "it broke"}
    assert verdict(found) == "1 GFLOP/s, 1.50 times as fast as ONNX Runtime, the best peer"


def test_the_way_of_a_peer_is_kept() -> None:
    theirs = Turns(1.0, (1.0, 1.0), "fused")
    found = comparison(Rotation({"tunesmith": theirs, "onednn": theirs}, {}), 1, {})
    assert found["peers"]["onednn"]["way"] == "fused"


def test_without_any_peer() -> None:
    found = comparison(Rotation({"tunesmith": turns(1.0)}, {}), 1, {})
    assert found["best_peer"] is found["best_peer_ratio"] is None
    assert verdict(found) == "0 GFLOP/s; no peer to compare with"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def bench(
    monkeypatch: pytest.MonkeyPatch, said: list[str], tmp_path: Path
) -> Iterator[Callable[..., OperatorBench]]:
    """Makes one whose tuning and comparing are not real."""

    @contextlib.contextmanager
    def watch(seconds: float, flops: float) -> Iterator[Callable[[Progress], None]]:
        assert flops == LAYER.flops
        yield lambda progress: None

    def rotated(module: str, sides: Any, pairs: int, **_: Any) -> Rotation:
        said.append(f"{pairs} rounds of {', '.join(sides)}")
        return Rotation({name: turns(1e-3) for name in sides}, {})

    def tuning(*_: Any, **options: Any) -> Tuned:
        said.append(f"fresh={options['fresh']}, prior={options['prior']}")
        return TUNED

    monkeypatch.setattr(operators, "rotate", rotated)
    monkeypatch.setattr(operators, "tune_workload", tuning)
    with open_store(tmp_path / "tuning.db") as store:
        yield lambda **settings: OperatorBench(
            OperatorSettings(**settings),
            Target(cores=2),
            store,
            MetaSchedule(),
            said.append,
            watch,
        )


def test_a_workload_is_tuned_and_compared(bench: Any, said: list[str]) -> None:
    made = bench(seconds=3, pairs=7, prior=False).row(NAME, LAYER, None)
    assert made["workload"] == NAME
    assert made["operator"] == LAYER.to_json()
    assert (made["trials"], made["tuning_seconds"]) == (100, 50.0)
    assert made["origin"]["settings"] == {
        "seconds": 3,
        "pairs": 7,
        "turn_seconds": 0.025,
        "seed": 0,
        "prior": False,
        "fresh": False,
    }
    assert made["origin"]["machine"] == this_machine()
    assert made["peers"].keys().isdisjoint(made["missing"])
    assert "numpy" in made["peers"]
    assert "metaschedule" not in made
    assert said[0] == f"{NAME}: tuning for 3 s ..."
    assert said[1] == "fresh=False, prior=False"
    assert said[2].startswith("7 rounds of tunesmith, ")


def test_what_has_a_row_is_left_alone_unless_told(bench: Any, said: list[str]) -> None:
    known = row(NAME, {"numpy": 2.0})
    assert bench().row(NAME, LAYER, known) is None
    assert said == []
    assert bench(again=True).row(NAME, LAYER, known)["trials"] == 100
    assert "fresh=False, prior=True" in said
    assert bench(fresh=True).row(NAME, LAYER, known)["trials"] == 100
    assert "fresh=True, prior=True" in said


def test_metaschedule_is_added_to_a_row_that_lacks_it(
    bench: Any, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def compared(rival: Any, ours: Any, seconds: float, pairs: int, seed: int) -> dict[str, Any]:
        assert ours["config"] == {"tile": [1, 2]}
        asked.append(seconds)
        return {"trials": 30, "seconds": 60.0, "ratio": 2.0}

    monkeypatch.setattr(operators, "compare_with_metaschedule", compared)
    known = row(NAME, {"numpy": 2.0})
    assert bench(metaschedule=["resnet18.C4"]).row(NAME, LAYER, known) is None
    made = bench(metaschedule=[NAME]).row(NAME, LAYER, known)
    assert asked == [known["tuning_seconds"]], "the same wall clock as ours"
    assert made["metaschedule"]["trials_per_second"] == 0.5
    assert made["origin"] == known["origin"], "only MetaSchedule's is new"
    assert made["metaschedule"]["origin"]["machine"] == this_machine()
    assert made["metaschedule"]["our_trials_per_second"] == pytest.approx(400 / 60)
    assert "2.00 times as fast as MetaSchedule's kernel" in said[-1]
    assert bench(metaschedule=[NAME]).row(NAME, LAYER, made) is None
    done = {**known, "metaschedule": metaschedule(2.0)}
    assert bench(metaschedule=[NAME]).row(NAME, LAYER, done) is None


def test_metaschedule_that_fails_costs_no_row(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise TunesmithError("MetaSchedule found nothing")

    monkeypatch.setattr(operators, "compare_with_metaschedule", fails)
    made = bench(metaschedule=[NAME]).row(NAME, LAYER, None)
    assert made["metaschedule"] == {"missing": "MetaSchedule found nothing"}


def test_our_own_side_must_run(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "rotate", lambda *_, **__: Rotation({}, {"tunesmith": "no"}))
    with pytest.raises(TunesmithError, match="our kernel failed: no"):
        bench().row(NAME, LAYER, None)


# --- Tuning


def test_the_share_of_a_start() -> None:
    speeds = [0.0, 1.0, 3.0, 2.0, 4.0]
    assert start_share(speeds, first=2) == 0.25
    assert start_share(speeds, first=3) == 0.75
    assert start_share(speeds) is None, "there were no more trials than those"
    assert start_share([0.0] * 30) is None


def test_a_curve_has_a_step_for_each_new_best() -> None:
    assert curve([0.0, 1.0, 1.0, 3.0, 2.0, 4.0]) == [(2, 0.25), (4, 0.75), (6, 1.0)]
    assert curve([0.0, 0.0]) == []


@pytest.mark.slow
def test_tuning_adds_to_earlier_runs_unless_fresh(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A busy machine may find nothing in a second: so many trials instead.
    monkeypatch.setattr(tuned, "Budget", lambda seconds: Budget(trials=int(seconds)))
    operator = matmul(m=16, n=16, k=16)
    with open_store(tmp_path / "tuning.db") as store:

        def run(trials: float, *, fresh: bool) -> dict[str, Any]:
            return tune_workload(
                operator,
                Target(cores=1),
                store,
                trials,
                seed=0,
                prior=True,
                fresh=fresh,
                watch=lambda progress: None,
            ).fields

        first, second, third = run(4, fresh=False), run(8, fresh=False), run(3, fresh=True)
    assert [found["trials"] for found in (first, second, third)] == [4, 8, 3]
    assert 0 < first["tuning_seconds"] < second["tuning_seconds"]
    assert second["curve"][-1][1] == 1.0
    assert third["curve"][0][0] <= 3
