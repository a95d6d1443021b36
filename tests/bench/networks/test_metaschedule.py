"""MetaSchedule on whole networks: which rows get it, what is kept of a run, a real one."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.networks.rows import ratio, row, side
from tests.bench.peers.test_metaschedule import processes
from tests.patience import PATIENCE
from tunesmith.bench.networks import metaschedule
from tunesmith.bench.networks.comparison import with_inputs
from tunesmith.bench.networks.metaschedule import MetaScheduleBench, recorded
from tunesmith.bench.networks.metaschedule_process import first_batch, metaschedule_call, spent
from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.networks.workloads import NetworkWorkload
from tunesmith.bench.peers.metaschedule import MetaSchedule
from tunesmith.bench.timing.rotation import Rotation, Turns
from tunesmith.errors import TunesmithError
from tunesmith.networks import from_torch
from tunesmith.store import this_machine
from tunesmith.target import Target

DQN = NetworkWorkload("dqn")
RUN = {"trials": 40, "valid": 39, "rounds": 8, "seconds": 60.0, "tasks": 5, "tasks_tuned": 4}


def bench(seconds: float | None = None, *, again: bool = False) -> tuple[Any, list[str]]:
    said: list[str] = []
    store: Any = None  # nothing is built
    return MetaScheduleBench(seconds, 5, 7, store, said.append, again), said


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that runs were asked for, in place of making them."""
    found: list[float] = []

    def compared(_: object, __: object, seconds: float) -> dict[str, Any]:
        found.append(seconds)
        if seconds == 1.0:
            raise TunesmithError("MetaSchedule found nothing valid")
        return {**RUN, **ratio(2.0), **side(20.0)}

    monkeypatch.setattr(MetaScheduleBench, "_compared", compared)
    return found


def test_a_row_gets_metaschedule_for_the_same_seconds(asked: list[float]) -> None:
    known = row("dqn", {"openvino": 1.5})
    runner, said = bench()
    made = runner.row(DQN, known)
    assert asked == [known["tuning_seconds"]]
    assert {**made, "metaschedule": None} == {**known, "metaschedule": None}
    assert made["metaschedule"]["tasks_tuned"] == 4
    origin = made["metaschedule"]["origin"]
    assert origin["machine"] == this_machine()
    assert origin["settings"] == {"seconds": 600.0, "rounds": 5, "seed": 7}
    assert said == ["dqn: 2.00 times as fast as with MetaSchedule, which tuned 4 of 5 tasks"]
    assert runner.row(DQN, made) is None, "it has it"
    assert bench(30.0, again=True)[0].row(DQN, made)["metaschedule"]["ratio"] == 2.0
    assert asked[1:] == [30.0]


def test_a_failure_is_in_the_row_and_tried_again(asked: list[float]) -> None:
    runner, said = bench(1.0)
    made = runner.row(DQN, row("dqn", {}))
    assert made["metaschedule"]["missing"] == "MetaSchedule found nothing valid"
    assert said == ["dqn: MetaSchedule found nothing valid"]
    assert "ratio" in bench()[0].row(DQN, made)["metaschedule"]
    assert asked == [1.0, 600.0]


def test_without_a_row() -> None:
    with pytest.raises(TunesmithError, match="no row to add MetaSchedule to"):
        bench()[0].row(DQN, None)


def test_records_of_a_run_that_was_ended(tmp_path: Path) -> None:
    assert recorded(tmp_path)["tasks_tuned"] == 0
    found = [[0, [[], [1e-3]]], [0, [[], [1e10]]], [2, [[], [2e-3]]], [1, [[], None]]]
    whole = "".join(json.dumps(each) + "\n" for each in found)
    file = tmp_path / "database_tuning_record.json"
    file.write_text(whole + "[2, [[], [3e")
    run = {"trials": 4, "valid": 2, "tasks": None, "tasks_tuned": 2}
    assert recorded(tmp_path) == run
    assert file.read_text() == whole


def test_a_process_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def silent(*_: object) -> dict[str, Any]:
        raise TunesmithError("MetaSchedule failed: no answer within 360 s")

    monkeypatch.setattr(MetaSchedule, "run", silent)
    described = {"folder": str(tmp_path)}
    with pytest.raises(TunesmithError, match="no answer within 360 s"):
        metaschedule._tuned(described, Target(cores=1), 60.0)
    (tmp_path / "database_tuning_record.json").write_text("[0, [[], [1e-3]]]\n")
    run = metaschedule._tuned(described, Target(cores=1), 60.0)
    assert (run["tasks_tuned"], run["seconds"]) == (1, 60.0)


def test_speeds_are_those_of_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: dict[str, Any] = {}
    turns = {
        "tunesmith": Turns(0.010, (0.010, 0.012, 0.010)),
        "metaschedule": Turns(0.025, (0.030, 0.024, 0.050)),
    }
    failed: dict[str, str] = {}

    def rotated(_: str, found: Any, *__: object, **___: object) -> Rotation:
        sides.update(found)
        return Rotation(turns, failed)

    monkeypatch.setattr(metaschedule, "_tuned", lambda *_: RUN)
    monkeypatch.setattr(metaschedule, "rotate", rotated)
    model, target = ComparedModel("dqn", None, 1, "inputs.npz"), Target(cores=1)
    compared = partial(metaschedule.compare_with_metaschedule, model, Path("net.so"), target)
    assert compared(60.0, rounds=3) == {
        **RUN,
        **{"ratio": pytest.approx(3.0), "low": pytest.approx(2.0), "high": pytest.approx(5.0)},
        **{"milliseconds": 30.0, "alone": 25.0, "our_milliseconds": 10.0, "disturbed": False},
    }
    assert {name: each["kind"] for name, each in sides.items()} == {
        "tunesmith": "ours",
        "metaschedule": "metaschedule",
    }
    assert not Path(sides["metaschedule"]["folder"]).exists(), "its records are removed"
    failed["metaschedule"] = "TVM cannot build it"
    with pytest.raises(TunesmithError, match="programs failed: TVM cannot build it"):
        compared(60.0, rounds=3)


def test_first_rounds_of_all_tasks_take_half_of_the_time() -> None:
    assert first_batch([1e9] * 4, 1000.0) == 64, "its own number"
    assert first_batch([1e9] * 4, 120.0) == 10
    assert first_batch([1e9] * 4, 10.0) == 8, "a search for fewer is not worth its time"


def test_where_the_time_went() -> None:
    profile = {
        "EvoSearch/Sample": 3.0,
        "EvoSearch/Sample/Inner": 2.0,
        "SendToBuilder": 4.0,
        "SendToRunner": 2.0,
        "MeasureCallback/UpdateCostModel": 1.0,
        "Total": 12.0,
    }
    found = spent(profile)
    assert found == {
        **{"searching": 3.0, "building": 4.0, "running": 2.0, "learning": 1.0},
        "other": pytest.approx(2.0),
    }


@pytest.mark.slow
def test_a_real_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    from tests.networks.small import Residual, random_input, result_of, seeded

    monkeypatch.setattr(metaschedule, "_GRACE_SECONDS", PATIENCE)
    module, example = seeded(Residual()), random_input(1, 3, 6, 6)
    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(module, (example,)), file)
    target = Target(cores=1)
    network = from_torch(module, example, target)
    model = with_inputs(ComparedModel(None, str(file), 1), network.example(), tmp_path)
    folder = tmp_path / "records"
    folder.mkdir()
    described = {
        **{"model": model.to_json(), "target": {"kind": "cpu", "mcpu": None, "cores": 1}},
        **{"seconds": 1.0, "seed": 0, "folder": str(folder)},
    }
    run = metaschedule._tuned(described, target, 1.0)
    assert processes() == []
    assert 0 < run["tasks_tuned"] <= run["tasks"]
    assert recorded(folder)["tasks_tuned"] == run["tasks_tuned"]
    (array,) = model.arrays().values()
    result = metaschedule_call(model, target, str(folder))()
    expected = result_of(module, torch.from_numpy(array))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)
