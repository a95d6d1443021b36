"""The option ``seconds``: how long is tuned, and for what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.networks.small import random_input, seeded, torch
from tests.networks.torch_backend.built import (
    check,
)
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.build.programs import compiled_kernels
from tunesmith.networks.build.selection import Origin
from tunesmith.networks.torch_backend import attempts
from tunesmith.store import open_store
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

    run({**stored, "seconds": 2})
    assert caplog.messages == ["tunesmith: tuning 1 task for 2 seconds"]
    with open_store(stored["store"]) as store:
        (task,) = store.tasks()
        runs = len(store.runs(task.key))
    assert runs
    run({**stored, "seconds": 2})
    run(stored)
    with open_store(stored["store"]) as store:
        assert len(store.runs(task.key)) == runs, "the seconds were spent already"
    assert origins == [Origin.STORE] * 3
