"""Records of a store as a file: all trials, no more, and errors in a line."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunesmith.errors import UsageError
from tunesmith.machine import this_machine
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import conv2d, matmul
from tunesmith.space import Config
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.trials import failed, measured
from tunesmith.transfer.training_set import read_training_set, stored_set, write_training_set

PRODUCT = Task(matmul(m=64, n=64, k=64), Target(mcpu="znver4", cores=2))
IMAGE = Task(conv2d(ci=16, h=14, w=14, co=32, kernel=3), Target(mcpu="znver4", cores=2))


def add(store: Store, task: Task, count: int) -> dict[tuple[str, Config], float]:
    """Trials of each sketch, of which the first fails; returns their seconds."""
    problems = problems_of(task)
    session = store.begin_session(
        task.key,
        tuner="random",
        seed=0,
        description=joined(problems).describe(),
        target=task.target.to_json(),
        sketch=problems[0].sketch.name,
        sketch_version=problems[0].sketch.version,
    )
    expected = {}
    for problem in problems:
        view = session.by(problem.sketch.name, problem.sketch.version)
        configs = problem.space.sample_many(count, np.random.default_rng(0))
        trials: list[Measurement] = [failed(configs[0])]
        trials += [measured(config, 1e-3 * (1 + n)) for n, config in enumerate(configs[1:])]
        store.append(view, trials)
        store.confirm(view, [measured(configs[-1], 0.123456789)])
        for trial in trials:
            seconds = trial.seconds if trial.valid else np.nan
            expected[problem.sketch.name, trial.config] = seconds
        expected[problem.sketch.name, configs[-1]] = 0.1235
    return expected


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "set.json.gz"
    with open_store(tmp_path / "t.db") as store:
        expected = {task: add(store, task, count) for task, count in ((PRODUCT, 5), (IMAGE, 3))}
        other = store.begin_session("a function", tuner="random", seed=0)
        store.append(other, [measured(Config.from_values({"x": 1}), 1.0)])
        write_training_set(stored_set(store, {IMAGE.operator: ["a", "b"]}), path)
    found = read_training_set(path)
    assert found.machine["fingerprint"] == this_machine()["fingerprint"]
    assert "numpy" in found.versions
    assert found.trials == sum(map(len, expected.values()))
    for task, trials in expected.items():
        read = {
            (each.sketch, config): seconds
            for each in found.series
            if each.task == task
            for config, seconds in zip(each.configs, each.seconds.tolist(), strict=True)
        }
        assert read.keys() == trials.keys()
        for key, seconds in trials.items():
            np.testing.assert_allclose(read[key], seconds, rtol=1e-3)
    networks = {each.task: each.networks for each in found.series}
    assert networks == {PRODUCT: frozenset(), IMAGE: {"a", "b"}}


def test_the_same_store_gives_the_same_file(tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        add(store, PRODUCT, 3)
        for name in "ab":
            write_training_set(stored_set(store), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_store_without_trials(tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store, pytest.raises(UsageError, match="has no trials"):
        stored_set(store)


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b"no JSON", mtime=0),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(json.dumps({"format": "another"}).encode(), mtime=0),
        gzip.compress(
            json.dumps({"format": "tunesmith-training-set", "version": 1}).encode(), mtime=0
        ),
        gzip.compress(b"{}", mtime=0)[:-4],
    ],
    ids=["no gzip", "no JSON", "a list", "another format", "another version", "truncated"],
)
def test_what_is_no_training_set(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "set"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is no training set") as caught:
        read_training_set(path)
    assert "\n" not in str(caught.value)


def whole() -> dict[str, Any]:
    """What a file has inside."""
    sketch = {"name": "s", "version": 1, "parameters": ["x"], "configs": [[1]], "seconds": [0.5]}
    task = {
        "operator": PRODUCT.operator.to_json(),
        "target": PRODUCT.target.to_json(),
        "networks": [],
        "sketches": [sketch],
    }
    header = {"format": "tunesmith-training-set", "version": 2}
    return {**header, "machine": {}, "versions": {}, "tasks": [task]}


def broken(change: Callable[[Any], Any]) -> dict[str, Any]:
    found = whole()
    change(found)
    return found


@pytest.mark.parametrize(
    "content",
    [
        broken(lambda it: it.pop("tasks")),
        broken(lambda it: it.update(tasks=5)),
        broken(lambda it: it.update(machine=None)),
        broken(lambda it: it["tasks"][0].update(operator="stencil")),
        broken(lambda it: it["tasks"][0]["operator"].update(operator="stencil")),
        broken(lambda it: it["tasks"][0].update(target={"kind": "cpu"})),
        broken(lambda it: it["tasks"][0]["sketches"][0].update(configs=[[1, 2]])),
        broken(lambda it: it["tasks"][0]["sketches"][0].update(seconds=[])),
        broken(lambda it: it["tasks"][0]["sketches"][0].update(seconds=["\n fast"])),
    ],
)
def test_a_set_that_is_malformed_inside(tmp_path: Path, content: dict[str, Any]) -> None:
    path = tmp_path / "set"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(UsageError, match=r"cannot be read .*: make it again") as caught:
        read_training_set(path)
    assert "\n" not in str(caught.value)


def test_what_is_no_time_of_a_call_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "set"
    content = whole()
    sketch = content["tasks"][0]["sketches"][0]
    sketch.update(configs=[[n] for n in range(6)], seconds=[0.5, 0.0, -1.0, None, 1e999, 1e-3])
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    (only,) = read_training_set(path).series
    np.testing.assert_array_equal(only.seconds, [0.5, *[np.nan] * 4, 1e-3])


@pytest.mark.parametrize("times", [(), (0.0,), (-1.0,), (math.nan,), (math.inf,)])
def test_a_valid_trial_without_a_time_is_a_failure(
    tmp_path: Path, times: tuple[float, ...]
) -> None:
    with open_store(tmp_path / "t.db") as store:
        problem = problems_of(PRODUCT)[0]
        session = store.begin_session(
            PRODUCT.key,
            tuner="random",
            seed=0,
            description=problem.describe(),
            target=PRODUCT.target.to_json(),
            sketch=problem.sketch.name,
            sketch_version=problem.sketch.version,
        )
        store.append(session, [Measurement(problem.default, Outcome.NO_ERROR, times)])
        (only,) = stored_set(store).series
    assert np.isnan(only.seconds).all()


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"operator": "stencil", "target": "cpu"},
        {"operator": ["stencil"], "target": None},
        {"operator": {"operator": "matmul", "options": [1, 2]}, "target": {"kind": "cpu"}},
        {"operator": {"operator": "matmul", "options": {"m": [], "n": 1, "k": 1}}, "target": {}},
        {"operator": {"operator": {}, "options": {}}, "target": {}},
        {"operator": PRODUCT.operator.to_json(), "target": "cpu"},
        {"operator": PRODUCT.operator.to_json(), "target": {"kind": "tpu"}},
    ],
)
def test_descriptions_of_another_shape_are_no_tasks(
    tmp_path: Path, description: dict[str, Any]
) -> None:
    with open_store(tmp_path / "t.db") as store:
        add(store, PRODUCT, 2)
        other = store.begin_session("mine", tuner="random", seed=0, description=description)
        store.append(other, [measured(Config.from_values({"x": 1}), 1.0)])
        assert {each.task for each in stored_set(store).series} == {PRODUCT}


def test_the_sets_of_the_project_can_be_read() -> None:
    folder = Path(__file__).parents[2] / "data" / "training"
    paths = sorted(folder.glob("*.json.gz"))
    assert paths
    networks: set[str] = set()
    operators: set[str] = set()
    processors: set[str | None] = set()
    for path in paths:
        found = read_training_set(path)
        assert found.trials > 1_000
        networks |= {name for each in found.series for name in each.networks}
        operators |= {each.task.operator.label for each in found.series}
        processors |= {each.task.target.mcpu for each in found.series}
        assert np.nanmin(np.concatenate([each.seconds for each in found.series])) > 0.0
    assert len(networks) >= 8
    assert len(operators) >= 40
    assert len(processors) >= 3
    assert sum(path.stat().st_size for path in folder.rglob("*.json.gz")) <= 10e6
