"""How long the thinking takes: features of programs, planning a batch, the start of a run."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tunesmith.bench.pages.provenance import origin_now
from tunesmith.compiler.passes.pipelines import plain_loops
from tunesmith.errors import InstantiationError
from tunesmith.features.kinds import FeatureKind
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.task.program_features import features_of_programs
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import Operator, workload
from tunesmith.sketches import Sketch
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.favourite import favourite
from tunesmith.transfer.model import GlobalModel, transferred_of
from tunesmith.transfer.shipped import shipped_model
from tunesmith.tuners import Search
from tunesmith.tuners.autotvm import AutoTVM
from tunesmith.tuners.random import Random
from tunesmith.tuners.view import View
from tunesmith.tuning.branches import Branches

LAYER = "resnet18.C7"
SKETCHES = ("cpu_tiled", "cpu_direct", "cpu_im2col")
CANDIDATES = 1000
OBSERVED = 1000
SPLIT = 100

_PLANNED: dict[FeatureKind, float] = {"configuration": 0.3, "context-relation": 2.0}
_EARLY_BATCHES = 4
FEATURES_WANTED = 1.5
"""Seconds for the features of so many ``CANDIDATES``, on two cores."""
_START_WANTED = 1.0


def measure_speed() -> Iterator[dict[str, Any]]:
    """A row for each thing: ``what`` it is, its ``seconds``, how many were ``wanted``, if any."""
    task = _task()
    for sketch in SKETCHES:
        problem = TaskProblem.of(task, sketch)
        few, *many = _configs(problem, CANDIDATES + 1)
        problem.features([few], "context-relation")  # the processes are there from now on
        begun = time.perf_counter()
        problem.features(many, "context-relation")
        yield _row(f"features of {CANDIDATES:,} programs of {sketch}", begun, FEATURES_WANTED)
    problem = TaskProblem.of(task, SKETCHES[0])
    model = shipped_model(task.target)
    for kind, wanted in _PLANNED.items():
        yield _planning(problem, kind, wanted)
    yield _planning_early(problem, model)
    problems = problems_of(task)
    branches = Branches(joined(problems), Random(), 0, model)
    begun = time.perf_counter()
    branches.find_starts()
    yield _row("starts of a run, all sketches", begun, _START_WANTED)
    begun = time.perf_counter()
    favourite(problems, model)
    yield _row("favourite without a trial, all sketches", begun, _START_WANTED)


def split_features() -> Iterator[dict[str, Any]]:
    """Where the time of a program's features goes, in one process: a row for each sketch.

    The mean ``seconds`` of so many ``programs``, and of these the ``compiler``'s: until the sketch
    has scheduled a program by TVM, and TVM has lowered its loops. The rest is the program's hash,
    reading the loops, and the estimate. What programs of a sketch share was made before.
    """
    task = _task()
    operator, target = task.operator, task.target.resolved()
    for name in SKETCHES:
        problem = TaskProblem.of(task, name)
        sketch = problem.sketch
        configs = [
            config
            for config in _configs(problem, SPLIT)
            if _has_program(operator, target, sketch, config)
        ]
        begun = time.perf_counter()
        features_of_programs(operator, target, sketch, configs)
        made = time.perf_counter()
        for config in configs:
            plain_loops(sketch.program(operator, target, config))
        lowered = time.perf_counter()
        yield {
            "sketch": name,
            "programs": len(configs),
            "seconds": (made - begun) / len(configs),
            "compiler": (lowered - made) / len(configs),
            "origin": origin_now(),
        }


def _has_program(operator: Operator, target: Target, sketch: Sketch, config: Config) -> bool:
    try:
        sketch.program(operator, target, config)
    except InstantiationError:
        return False
    return True


def _task() -> Task:
    return Task(workload(LAYER), Target())


def _planning(problem: TaskProblem, kind: FeatureKind, wanted: float) -> dict[str, Any]:
    """A batch of 64 after so many observations, whose programs are known by then."""
    view = View(problem.space, problem.estimates, problem.features)
    search = AutoTVM(features=kind).start_on(view, 0)
    view.features(_observed(problem, search, OBSERVED), kind)
    what = f"a batch of 64 after {OBSERVED:,} trials, {kind} features"
    return _batch_row(what, search, 64, wanted)


def _planning_early(problem: TaskProblem, model: GlobalModel | None) -> dict[str, Any]:
    """A batch while the model of other tasks has weight."""
    tuner = AutoTVM()
    view = View(problem.space, problem.estimates, problem.features, transferred_of(problem, model))
    search, size = tuner.start_on(view, 0), tuner.transfer_batch
    for _ in range(_EARLY_BATCHES):
        _observe(problem, search, search.propose(size))
    what = f"a batch of {size} after {_EARLY_BATCHES * size} trials, with a model of other tasks"
    return _batch_row(what, search, size)


def _observed(problem: TaskProblem, search: Search, count: int) -> list[Config]:
    """So many random configs, which the search has seen with the times of their estimates."""
    configs = _configs(problem, count)
    _observe(problem, search, configs)
    return configs


def _observe(problem: TaskProblem, search: Search, configs: Sequence[Config]) -> None:
    """Show configs to a search, with the times of their estimates."""
    times = np.nan_to_num(problem.estimates(configs), nan=1.0)
    search.observe(
        [
            Measurement(config, Outcome.NO_ERROR, (seconds,))
            for config, seconds in zip(configs, times.tolist(), strict=True)
        ]
    )


def _batch_row(what: str, search: Search, size: int, wanted: float | None = None) -> dict[str, Any]:
    gc.collect()  # so that the garbage of what came before is not collected while it plans
    begun = time.perf_counter()
    search.propose(size)
    return _row(what, begun, wanted)


def _configs(problem: TaskProblem, count: int) -> list[Config]:
    return list(problem.space.sample_many(count, np.random.default_rng(0)))


def _row(what: str, begun: float, wanted: float | None) -> dict[str, Any]:
    return {
        "what": what,
        "seconds": time.perf_counter() - begun,
        "wanted": wanted,
        "origin": origin_now(),
    }
