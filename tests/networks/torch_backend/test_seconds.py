"""The option ``seconds``: how long is tuned, and for what."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from tests.networks.small import random_input, seeded, torch
from tests.networks.torch_backend.built import OPTIONS, Built, check
from tunesmith.budget import Budget, Stop
from tunesmith.measure.inline import InlineMeasurer
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.networks import from_torch
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.build.programs import compiled_kernels
from tunesmith.networks.build.selection import Origin
from tunesmith.networks.torch_backend import attempts, tuning
from tunesmith.networks.tune import HowToTune
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
def test_seconds_tune_first_and_what_is_stored_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    origins: list[Origin] = []

    def noted(*arguments: Any) -> Mapping[Task, LayerKernel]:
        found = compiled_kernels(*arguments)
        origins.extend(kernel.choice.origin for kernel in found.values())
        return found

    monkeypatch.setattr(attempts, "compiled_kernels", noted)
    model, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    stored = {"store": tmp_path / "tuning.db"}

    def run(options: Mapping[str, Any]) -> None:
        torch._dynamo.reset()
        check(model, data, ours=torch.compile(model, backend="tunesmith", options=options))

    run({**stored, "seconds": 6})
    assert caplog.messages == ["tunesmith: tuning 1 task for 6 seconds"]
    with open_store(stored["store"]) as store:
        (task,) = store.tasks()
        runs = len(store.runs(task.key))
        trials = sum(store.outcomes(task.key).values())
    assert runs
    run({**stored, "seconds": 6})
    run(stored)
    with open_store(stored["store"]) as store:
        assert len(store.runs(task.key)) == runs, "the seconds were spent already"
    # On a busy machine there may be no time for more than the default, which no build takes.
    assert origins == [Origin.STORE if trials > 1 else Origin.MODEL] * 3


class Scripted:
    """In place of tuning and of the store: which tasks are tuned, and for how long.

    ``tuned`` has the rows of their inputs; ``spent`` has the seconds of tasks by their keys.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tuned: list[tuple[list[int], float]] = []
        self.spent: dict[str, float] = {}
        monkeypatch.setattr(tuning, "tune_tasks", self.tune_tasks)
        monkeypatch.setattr(tuning, "seconds_of", float)
        monkeypatch.setattr(tuning, "open_store", lambda _: contextlib.nullcontext(self))

    def runs(self, key: str) -> float:
        return self.spent.get(key, 0.0)

    def tune_tasks(self, tasks: Mapping[Task, int], budget: Budget, how: HowToTune) -> Any:
        assert isinstance(how.measurers, LocalMeasurers), "one server for all tasks"
        assert budget.seconds is not None
        self.tuned.append((sorted(map(_rows, tasks)), budget.seconds))
        for task in tasks:
            self.spent[task.key] = self.runs(task.key) + budget.seconds / len(tasks)
        return SimpleNamespace(seconds=budget.seconds, stopped=Stop.SECONDS, failure="")


def _rows(task: Task) -> int:
    return task.operator.arguments[0].shape[0]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, built: Built) -> Scripted:
    assert not built
    return Scripted(monkeypatch)


def tuned_by(model: Any) -> Any:
    options = {**OPTIONS, "seconds": 60}
    return torch.compile(model, backend="tunesmith", options=options, dynamic=True)


def test_seconds_are_for_all_shapes_together(
    scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    model = seeded(torch.nn.Linear(6, 8))
    ours = tuned_by(model)
    for batch in (2, 3, 4):
        check(model, random_input(batch, 6), ours=ours)
    assert scripted.tuned == [([2], 60)]
    assert caplog.messages == ["tunesmith: tuning 1 task for 60 seconds"]


def test_a_later_process_tunes_the_shapes_that_are_left(scripted: Scripted) -> None:
    model = seeded(torch.nn.Linear(6, 8))
    for _ in range(3):
        torch._dynamo.reset()
        ours = tuned_by(model)
        for batch in (2, 3):
            check(model, random_input(batch, 6), ours=ours)
    assert scripted.tuned == [([2], 60), ([3], 30)]


def test_a_new_task_gets_its_share_whatever_others_have_had(
    scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    first, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    (known,) = from_torch(first, data, Target(cores=1)).tasks
    scripted.spent[known.key] = 540.0
    model = torch.nn.Sequential(first, seeded(torch.nn.Linear(8, 4)))
    for _ in range(2):
        torch._dynamo.reset()
        check(model, data, ours=tuned_by(model))
    assert scripted.tuned == [([2, 2], 30)], "and then the seconds are spent"
    assert caplog.messages == ["tunesmith: tuning 2 tasks for 30 seconds"]


@pytest.mark.parametrize(
    ("spent", "counts"),
    [
        ([0.0, 0.0], 0.0),
        ([540.0, 0.0], 30.0),
        ([10.0, 0.0], 10.0),
        # They were tuned together: one for longer, as it gained more.
        ([50.0, 10.0], 60.0),
        ([0.0], 0.0),
    ],
)
def test_what_counts_of_earlier_runs(spent: list[float], counts: float) -> None:
    assert tuning.credit(60.0, spent) == counts


class Interrupted(InlineMeasurer):
    """Measures three candidates, and is interrupted."""

    measured: ClassVar[list[Candidate]] = []

    def measure(self, candidate: Candidate) -> Measurement:
        if len(self.measured) == 3:
            raise KeyboardInterrupt
        self.measured.append(candidate)
        return Measurement(candidate.config, Outcome.NO_ERROR, (1e-3,))


def test_ctrl_c_comes_out_and_what_was_measured_is_stored(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalMeasurers, "measurer", lambda *_: Interrupted())
    monkeypatch.setattr(Interrupted, "measured", [])
    model, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    path = tmp_path / "tuning.db"
    options = {"store": path, "cores": 1, "seconds": 600}
    ours = torch.compile(model, backend="tunesmith", options=options)
    with torch.no_grad(), pytest.raises(KeyboardInterrupt):
        ours(data)
    assert not built
    with open_store(path) as store:
        (task,) = store.tasks()
        (run,) = store.runs(task.key)
        stored = [record.config.key for record in store.records(task.key)]
    assert sorted(stored) == sorted(each.config.key for each in Interrupted.measured)
    assert (len(stored), run.session.stopped) == (3, "interrupted")
