"""Tuning of networks: real trials, and how the seconds are shared with runs that are scripted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tunesmith as ts
from tests.networks.reporting.records import add_run
from tests.networks.small import (
    Residual,
    SeveralResults,
    random_input,
    result_of,
    seeded,
    torch,
)
from tests.patience import PATIENCE
from tunesmith.budget import Budget, Stop
from tunesmith.cli.network.choice import knows
from tunesmith.errors import UsageError
from tunesmith.networks import NetworkProgress, from_torch
from tunesmith.networks import tune as module
from tunesmith.networks.build.selection import Choice, stored
from tunesmith.operators import dense
from tunesmith.problem import MeasurerLostError
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.tuners import tuner


def tasks(*layers: int) -> dict[Task, int]:
    return {Task(dense(n=8, k=8 + number)): count for number, count in enumerate(layers)}


class Scripted:
    """In place of ``tune``: each call takes ten seconds, and halves the time of its task once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.calls: list[tuple[Task, float, bool]] = []
        self.late: list[float] = []
        self.failing: Task | None = None
        self.stop = Stop.SECONDS
        self.lost_after = math.inf
        monkeypatch.setattr(module, "tune", self.tune)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))

    def tune(self, task: Task, _tuner: Any, budget: Budget, **options: Any) -> Any:
        assert budget.seconds is not None
        if len(self.calls) >= self.lost_after:
            raise MeasurerLostError("no device is left")
        times = sum(task == called for called, *_ in self.calls)
        self.calls.append((task, budget.seconds, options["prior"]))
        self.late.append(options["late_seconds"])
        self.now += 10.0
        seconds = 1e-3 / (1 + min(times, 1))
        fails = self.stop is Stop.INTERRUPTED or task == self.failing
        best = None if fails else SimpleNamespace(seconds=seconds)
        resumed = 10 * times
        return SimpleNamespace(
            best=best,
            stopped=self.stop,
            trials=resumed + 10,
            own_trials=10,
            failure="",
            rescued=None,
            lost="",
        )


def tuned(many: dict[Task, int], seconds: float, tmp_path: Path, **others: Any) -> Any:
    with open_store(tmp_path / "tuning.db") as store:
        how = module.HowToTune(tuner("random"), store)
        return module.tune_tasks(many, Budget(seconds=seconds), how, **others)


def test_every_task_gets_its_starts_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripted, many = Scripted(monkeypatch), tasks(1, 5, 2)
    result = tuned(many, 75.0, tmp_path)
    one, five, two = many
    assert [call[0] for call in scripted.calls[:4]] == [five, two, one, five], "most work first"
    tried = dict.fromkeys(many, 0)
    for task, _, prior in scripted.calls:
        assert prior == (tried[task] < 17)
        tried[task] += 10
    assert max(tried.values()) > 17
    assert result.stopped is Stop.SECONDS
    assert {each.task: each.trials for each in result.tasks} == tried


def test_records_that_no_build_takes_are_no_knowledge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another version of a sketch has other programs."""
    scripted, many = Scripted(monkeypatch), tasks(1)
    (task,) = many
    with open_store(tmp_path / "tuning.db") as store:
        add_run(store, task, [1e-6] * 30, version=99)
        how = module.HowToTune(tuner("random"), store)
        result = module.tune_tasks(many, Budget(seconds=10.0), how)
        assert scripted.calls[0][2], "with starts"
        assert math.isinf(result.tasks[0].before)
        assert not knows(store, SimpleNamespace(tasks=many))  # type: ignore[arg-type]
        add_run(store, task, [1e-6] * 30)
        known = module.tune_tasks(many, Budget(seconds=10.0), how)
        assert known.tasks[0].before == 1e-6
        assert not scripted.calls[-1][2], "it has had its starts"
        assert knows(store, SimpleNamespace(tasks=many))  # type: ignore[arg-type]


def test_the_model_of_other_tasks_is_found_once_within_the_seconds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And who wants to know hears of it."""
    scripted = Scripted(monkeypatch)

    def slowly(_store: Any, _target: Any, transfer: bool, tell: Callable[[str], None]) -> None:
        assert transfer
        tell("learning from 600 trials")
        scripted.now += 15.0

    monkeypatch.setattr(module, "model_for", slowly)
    heard: list[str] = []
    with open_store(tmp_path / "tuning.db") as store:
        how = module.HowToTune(tuner("random"), store, tell=heard.append)
        result = module.tune_tasks(tasks(1, 1), Budget(seconds=30.0), how)
    assert heard == ["learning from 600 trials"]
    assert (len(scripted.calls), result.seconds) == (2, 35.0)


def test_slices_end_with_the_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripted = Scripted(monkeypatch)
    result = tuned(tasks(1, 1), 25.0, tmp_path)
    assert [seconds for _, seconds, _ in scripted.calls] == [8.0, 8.0, 5.0]
    assert result.seconds == 30.0


def test_late_trials_end_with_the_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripted = Scripted(monkeypatch)
    tuned(tasks(1, 1), 25.0, tmp_path)
    assert scripted.late == [8.0, 7.0, 0.0]


def test_a_task_that_fails_shortens_no_later_slices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After three slices without a valid trial, the others get parts of all that is left."""
    scripted, many = Scripted(monkeypatch), tasks(2, 1)
    scripted.failing = next(iter(many))
    tuned(many, 600.0, tmp_path)
    assert [task for task, *_ in scripted.calls[:4]].count(scripted.failing) == 3
    assert [seconds for _, seconds, _ in scripted.calls[:4]] == [150.0] * 4
    assert [task == scripted.failing for task, *_ in scripted.calls[4:]] == [False] * 56
    assert scripted.calls[4][1] == pytest.approx((600 - 40) / 12)


def test_a_short_budget_is_for_all_tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripted = Scripted(monkeypatch)
    tuned(tasks(1, 1, 1, 1), 24.0, tmp_path)
    assert [seconds for _, seconds, _ in scripted.calls] == [6.0, 14 / 3, 2.0]


def test_an_interrupted_slice_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripted = Scripted(monkeypatch)
    scripted.stop = Stop.INTERRUPTED
    result = tuned(tasks(1, 1), 100.0, tmp_path)
    assert (result.stopped, len(scripted.calls)) == (Stop.INTERRUPTED, 1)
    assert math.isinf(result.call_seconds)
    assert module.summary(result)["call_seconds"] is None


def test_devices_that_are_lost_end_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Between two slices; the first one counts."""
    scripted = Scripted(monkeypatch)
    scripted.lost_after = 1
    result = tuned(tasks(2, 1), 100.0, tmp_path)
    assert (result.stopped, result.lost) == (Stop.LOST, "no device is left")
    assert [each.after for each in result.tasks] == [1e-3, math.inf]
    summary = module.summary(result)
    assert (summary["stopped"], summary["lost"]) == ("lost", "no device is left")


def test_exhausted_tasks_end_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripted = Scripted(monkeypatch)
    scripted.stop = Stop.EXHAUSTED
    assert tuned(tasks(1, 1), 1000.0, tmp_path).stopped is Stop.EXHAUSTED
    assert len(scripted.calls) == 2


def test_a_budget_needs_seconds(tmp_path: Path) -> None:
    with open_store(tmp_path / "tuning.db") as store, pytest.raises(UsageError, match="of seconds"):
        module.tune_tasks(tasks(1), Budget(trials=3), module.HowToTune(tuner("random"), store))


@pytest.mark.slow
def test_a_network_is_tuned_and_built_from_the_store(tmp_path: Path) -> None:
    model, data = seeded(SeveralResults()), random_input(2, 6)
    network, seen = from_torch(model, data), list[NetworkProgress]()
    with open_store(tmp_path / "tuning.db") as store:
        choices: list[Choice] = []
        deadline = time.monotonic() + PATIENCE
        while not choices:  # a busy machine may measure a default alone in the time
            assert time.monotonic() < deadline
            result = ts.tune(network, ts.Budget(seconds=6), store=store, progress=seen.append)
            assert math.isfinite(result.call_seconds)
            assert all(each.trials > 0 for each in result.tasks)
            assert {state.task for state in seen} == set(network.tasks)
            assert seen[-1].timed == seen[-1].tasks == 1
            choices = [choice for task in network.tasks for choice in stored(task, store)]
        compiled = network.build(store)
        known = module.tune_tasks(
            network.tasks, Budget(seconds=0.1), module.HowToTune(tuner("auto"), store)
        )
    assert min(choice.seconds or 0.0 for choice in choices) == result.tasks[0].after
    for found, expected in zip(compiled(data), result_of(model, data), strict=True):
        torch.testing.assert_close(found, expected)
    assert compiled.relative_error is not None
    assert compiled.relative_error < 1e-5
    # A run begins with the times that the store has.
    assert known.tasks[0].before == result.tasks[0].after


def test_a_build_that_is_wrong_is_refused() -> None:
    model, data = seeded(Residual()), random_input(1, 3, 8, 8)
    network = from_torch(model, data)
    source = network.source
    assert source is not None
    wrong = replace(network, source=lambda inputs: [source(inputs)[0] + 1])
    with pytest.raises(ts.TunesmithError, match="the compiled network differs from its source by"):
        wrong.build(contenders=1)
