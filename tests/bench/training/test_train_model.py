"""The model that ships: trained on all, tested on what it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.transfer.made_up import SIZES, series
from tunesmith.bench.training.train_model import train_model
from tunesmith.errors import UsageError
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.model import GlobalModel, learn
from tunesmith.transfer.training_set import Series, TrainingSet

pytest.importorskip("xgboost", reason="XGBoost is not installed")

MACHINE = {"cpu": "a processor", "fingerprint": "1"}
OTHER = {"cpu": "another processor", "fingerprint": "2"}


def sets(mcpu: str = "znver4", machine: Mapping[str, str] = MACHINE) -> TrainingSet:
    target = Target(mcpu=mcpu, cores=2)
    found: list[Series] = []
    for number, size in enumerate((*SIZES, 224, 256)):
        each = series(size, 130, network=f"net{number}")
        task = Task(each.task.operator, target)
        found.append(replace(each, task=task, machine=machine["fingerprint"]))
    return TrainingSet(machine, {}, found)


def test_networks_are_held_out() -> None:
    told: list[str] = []
    trained = train_model([sets()], told.append)
    assert trained.model.trials == 7 * 130
    figures = trained.figures
    assert figures["networks"]["tasks"] == figures["estimates"]["tasks"] == 7
    assert figures["networks"]["correlation"] > figures["estimates"]["correlation"]
    assert figures["processors"] == {}
    (described,) = figures["sets"]
    assert (described["trials"], described["networks"]) == (910, 7)
    assert trained.model.origin["networks"] == [f"net{number}" for number in range(7)]
    assert told[:2] == ["the model of all trials", "networks held out: part 1 of 5"]


def test_trials_of_another_version_of_a_sketch_are_told_of() -> None:
    told: list[str] = []
    known = sets()
    old = replace(known.series[0], sketch_version=known.series[0].sketch_version + 1)
    train_model([replace(known, series=[old, *known.series[1:]])], told.append)
    assert told[0] == "130 trials are left out: their sketches are gone, or of another version"


def test_kinds_of_processor_are_held_out() -> None:
    figures = train_model([sets(), sets("haswell", OTHER)]).figures
    assert set(figures["processors"]) == {"haswell", "znver4"}
    for each in figures["processors"].values():
        assert each["model"]["tasks"] == each["networks"]["tasks"] == 7
        assert each["networks"]["correlation"] > each["estimates"]["correlation"]


def test_processors_that_run_the_same_code_are_of_different_kinds() -> None:
    trained = train_model([sets("haswell"), sets("haswell", OTHER), sets()])
    kinds = trained.figures["processors"]
    assert set(kinds) == {"haswell on a processor", "haswell on another processor", "znver4"}
    assert all(each["estimates"]["tasks"] == each["model"]["tasks"] == 7 for each in kinds.values())
    assert trained.figures["estimates"]["tasks"] == 21
    assert trained.model.tasks == 14


def test_what_the_same_processor_ran_with_other_code_is_not_learned_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned: list[set[str]] = []

    def learn_and_tell(series: Sequence[Series], **options: Any) -> GlobalModel:
        learned.append({each.machine for each in series})
        return learn(series, **options)

    monkeypatch.setattr("tunesmith.bench.training.train_model.learn", learn_and_tell)
    trained = train_model([sets("haswell"), sets("haswell", OTHER), sets()])
    assert list(trained.figures["processors"]) == [
        "haswell on a processor",
        "haswell on another processor",
        "znver4",
    ]
    assert learned[-3:] == [{"2"}, {"1"}, {"2"}]
    assert train_model([sets("haswell"), sets()]).figures["processors"] == {}


def test_one_model_is_for_one_kind_of_target() -> None:
    gpu = replace(
        sets().series[0],
        task=Task(sets().series[0].task.operator, Target("cuda", arch="sm_90")),
        sketch="cuda_tiled",
        sketch_version=0,
    )
    from tunesmith.sketches import sketch_for

    version = sketch_for(gpu.task.operator, gpu.task.target, "cuda_tiled").version
    mixed = TrainingSet(MACHINE, {}, [*sets().series, replace(gpu, sketch_version=version)])
    with pytest.raises(UsageError, match="one kind of target, not for cpu and cuda"):
        train_model([mixed])


def test_too_few_trials_are_counted_before_networks_are_held_out() -> None:
    few = sets()
    told: list[str] = []
    with pytest.raises(UsageError, match=r"needs 500 trials of .*, and there are 390"):
        train_model([replace(few, series=few.series[:3])], told.append)
    assert told == ["the model of all trials"]


def test_enough_trials_are_enough_though_some_are_held_out() -> None:
    few = sets()
    trained = train_model([replace(few, series=few.series[:4])])
    assert trained.model.trials == 520
    assert trained.figures["networks"]["tasks"] == 4
