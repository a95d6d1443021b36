"""Which programs a network gets: from the store, from the model, and when they fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.networks.build.faulty import BROKEN, CRASHES, REFUSES, WORKS, Faulty
from tunesmith.errors import TunesmithError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.networks.build import programs, selection
from tunesmith.networks.build.programs import BuildState, HowToBuild, compiled_kernels
from tunesmith.networks.build.selection import (
    Choice,
    Origin,
    defaults,
    pick,
    picked,
    weights_as_read,
)
from tunesmith.networks.build.weights_limit import Use
from tunesmith.operators import conv2d, dense
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.tir.weights import prepared_weights
from tunesmith.space import Config
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.task import Task

DENSE = Task(dense(n=8, k=16, bias=True))
# Winograd's weights are larger by far; with 16 pixels a model thinks it fastest.
CONV = Task(conv2d(ci=64, h=16, w=16, co=64, kernel=3, padding=1, bias=True, constant_weights=True))
CONV_BYTES = 4 * 64 * 64 * 9


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """Workers have to find the tests: sketches are sent by name."""
    monkeypatch.syspath_prepend(str(pytestconfig.rootpath))


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let these sketches be all that there are."""

    def replaced(*sketches: Faulty) -> None:
        def problems(task: Task) -> tuple[TaskProblem, ...]:
            return tuple(TaskProblem(task, sketch) for sketch in sketches)

        monkeypatch.setattr(selection, "problems_of", problems)
        monkeypatch.setattr(programs, "problems_of", problems)

    return replaced


class Here:
    """In place of a pool: calls in this process."""

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None: ...

    def map(self, function: Callable[..., Any], calls: list[Any]) -> Iterator[tuple[int, Any]]:
        return enumerate(function(*call) for call in calls)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No workers, which take long to start."""
    monkeypatch.setattr(programs, "WorkerPool", Here)


def choice_of(task: Task, how: HowToBuild, constant_bytes: int = 0) -> Choice:
    kernels = compiled_kernels({task: Use()}, constant_bytes, Target(), how)
    return kernels[task].choice


def stored_trial(store: Store, choice: Choice, seconds: float | None) -> None:
    """A trial of a choice: valid if it took seconds."""
    sketch = choice.problem.sketch
    session = store.begin_session(
        choice.problem.key,
        tuner="random",
        seed=0,
        sketch=sketch.name,
        sketch_version=sketch.version,
    )
    trial = Measurement(choice.config, Outcome.RUN_TIMEOUT)
    if seconds is not None:
        trial = Measurement(choice.config, Outcome.NO_ERROR, run_seconds=(seconds,))
    store.append(session, [replace(trial, sketch=sketch.name)])


@pytest.mark.usefixtures("here")
def test_a_task_without_a_valid_trial_takes_the_models_pick(tmp_path: Path) -> None:
    choices = picked(problems_of(DENSE), 0)
    best = min(choices, key=lambda choice: choice.seconds or 0.0)
    with open_store(tmp_path / "tuning.db") as store:
        stored_trial(store, choices[0], None)
        found = choice_of(DENSE, HowToBuild(store))
        assert (found.origin, found.config, found.seconds) == (
            Origin.MODEL,
            best.config,
            best.seconds,
        )
        slow = max(choices, key=lambda choice: choice.seconds or 0.0)
        stored_trial(store, slow, 1.0)
        known = choice_of(DENSE, HowToBuild(store))
    assert (known.origin, known.config, known.seconds) == (Origin.STORE, slow.config, 1.0)


@pytest.mark.usefixtures("here")
def test_a_task_whose_default_alone_was_measured_takes_the_models_pick(tmp_path: Path) -> None:
    choices = picked(problems_of(DENSE), 0)
    slow = max(choices, key=lambda choice: choice.seconds or 0.0)
    default = defaults(DENSE)[0]
    with open_store(tmp_path / "tuning.db") as store:
        stored_trial(store, default, 1e-9)
        assert choice_of(DENSE, HowToBuild(store)).origin is Origin.MODEL
        stored_trial(store, slow, 1.0)
        known = choice_of(DENSE, HowToBuild(store))
    assert (known.origin, known.config) == (Origin.STORE, default.config)


def test_a_pick_that_cannot_be_compiled_gives_way_to_the_next_and_then_to_the_default(
    only: Callable[..., None],
) -> None:
    lines: list[str] = []
    how = HowToBuild(say=lines.append)
    only(Faulty(CRASHES, default=CRASHES), Faulty(REFUSES, WORKS, default=WORKS))
    next_best = choice_of(DENSE, how)
    assert (next_best.origin, next_best.config["how"]) == (Origin.MODEL, WORKS)
    assert [line.partition(": ")[2] for line in lines] == [
        "faulty fails, the next best program is tried: killed by SIGSEGV",
        "faulty fails, the next best program is tried: no such program",
    ]
    only(Faulty(BROKEN, default=WORKS))
    default = choice_of(DENSE, how)
    assert (default.origin, default.config["how"]) == (Origin.DEFAULT, WORKS)
    only(Faulty(CRASHES, default=CRASHES))
    with pytest.raises(TunesmithError, match=r"^dense\(.* cannot be compiled: killed by SIGSEGV$"):
        choice_of(DENSE, how)


def test_a_stored_best_that_crashes_gives_way_to_a_pick(
    only: Callable[..., None], tmp_path: Path
) -> None:
    only(Faulty(CRASHES, WORKS, default=WORKS))
    problem = TaskProblem(DENSE, Faulty(CRASHES, WORKS, default=WORKS))
    crashing = Choice(problem, Config({"how": CRASHES}), 1e-6, Origin.STORE)
    lines: list[str] = []
    with open_store(tmp_path / "tuning.db") as store:
        stored_trial(store, crashing, 1e-6)
        found = choice_of(DENSE, HowToBuild(store, say=lines.append))
    assert (found.origin, found.config["how"]) == (Origin.MODEL, WORKS)
    assert len(lines) == 1


@pytest.mark.usefixtures("here")
def test_weights_are_kept_within_a_limit() -> None:
    lines: list[str] = []
    sizes = []
    for growth in (100.0, 2.0, 1.0):
        how = HowToBuild(max_growth=growth, say=lines.append)
        kernels = compiled_kernels({CONV: Use()}, CONV_BYTES, Target(), how)
        choice, prepared = kernels[CONV].choice, kernels[CONV].prepared
        assert choice.weight_bytes == (CONV_BYTES if prepared is None else prepared.bytes)
        sizes.append(choice.weight_bytes)
    assert sizes[0] >= 4 * CONV_BYTES, "Winograd's tiles of 4x4 outputs"
    assert CONV_BYTES < sizes[1] <= 2 * CONV_BYTES, "smaller tiles"
    assert sizes[2] == CONV_BYTES
    assert lines == []


@pytest.mark.usefixtures("here")
def test_weights_that_several_batches_share_are_counted_once() -> None:
    """They are in memory once as they are, and for each batch that lays them out."""
    lines: list[str] = []
    shape: dict[str, Any] = {
        "ci": 64,
        "h": 16,
        "w": 16,
        "co": 64,
        "kernel": 3,
        "padding": 1,
        "bias": True,
    }
    tasks = [Task(conv2d(n=batch, **shape, constant_weights=True)) for batch in (1, 2, 4)]
    uses = {task: Use(1, frozenset({"weights"})) for task in tasks}
    for growth in (1.0, 2.0, 3.0):
        how = HowToBuild(max_growth=growth, say=lines.append)
        kernels = compiled_kernels(uses, CONV_BYTES, Target(), how)
        laid_out = [it.prepared.bytes for it in kernels.values() if it.prepared is not None]
        as_they_are = CONV_BYTES if len(laid_out) < len(tasks) else 0
        assert sum(laid_out) + as_they_are <= growth * CONV_BYTES
        assert bool(laid_out) == (growth > 1), "what may be laid out is"
    assert lines == []


@pytest.mark.usefixtures("here")
def test_a_limit_that_cannot_be_kept_is_said_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The store knows large weights only: a pick is smaller. Without one it is said."""
    large = max(picked(problems_of(CONV), 0), key=lambda choice: choice.weight_bytes or 0)
    lines: list[str] = []
    with open_store(tmp_path / "tuning.db") as store:
        stored_trial(store, large, 1e-6)
        how = HowToBuild(store, max_growth=1.0, say=lines.append)
        small = choice_of(CONV, how, CONV_BYTES)
        assert (small.origin, small.weight_bytes, lines) == (Origin.MODEL, CONV_BYTES, [])
        only_large = [it for it in problems_of(CONV) if it.sketch.name == large.problem.sketch.name]
        monkeypatch.setattr(programs, "problems_of", lambda _: tuple(only_large))
        assert choice_of(CONV, how, CONV_BYTES).problem.sketch.name == large.problem.sketch.name
    (line,) = lines
    assert line.startswith("no choice of programs keeps the weights within 1 times their original ")


@pytest.mark.usefixtures("here")
def test_cold_weights_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a network too large for the caches, what is fastest depends on how slow memory is."""
    choices = picked(problems_of(CONV), 0)
    sizes = [choice.weight_bytes or 0 for choice in choices]
    fastest = min(choices, key=lambda choice: choice.seconds or 0.0).weight_bytes
    assert fastest != min(sizes)
    how = HowToBuild(max_growth=100.0)
    monkeypatch.setattr(Machine, "bandwidth", lambda *_: 1e3)
    assert choice_of(CONV, how, CONV_BYTES).weight_bytes == fastest, "all fits into the caches"
    assert choice_of(CONV, how, 10**12).weight_bytes == min(sizes)
    monkeypatch.setattr(Machine, "bandwidth", lambda *_: 1e18)
    assert choice_of(CONV, how, 10**12).weight_bytes == fastest


@pytest.mark.parametrize("task", [DENSE, CONV], ids=["dense", "conv2d"])
def test_picks_are_weighed_and_the_same_each_time(task: Task) -> None:
    choices = picked(problems_of(task), 0)
    assert choices == picked(problems_of(task), 0)
    assert pick(task).seconds == min(choice.seconds or 0.0 for choice in choices)
    for choice in choices:
        program = choice.problem.program(choice.config)
        prepared = prepared_weights(program)
        if task is DENSE:
            assert choice.weight_bytes == 0, "weights that are no constants"
        else:
            assert choice.weight_bytes == (CONV_BYTES if prepared is None else prepared.bytes)
            assert choice.laid_out == (prepared is not None)
            assert weights_as_read(choice.problem, choice.config) == (
                choice.weight_bytes,
                choice.laid_out,
            )
    by_sketch = {choice.problem.sketch.name for choice in choices}
    assert len(by_sketch) > 1


@pytest.mark.usefixtures("here")
def test_progress_is_told_by_task() -> None:
    seen: list[BuildState] = []
    tasks = {DENSE: Use(2), Task(dense(n=4, k=8)): Use()}
    kernels = compiled_kernels(tasks, 0, Target(), HowToBuild(tell=seen.append))
    assert list(kernels) == list(tasks)
    assert [(state.doing, state.done, state.total) for state in seen] == [
        ("choosing", 1, 2),
        ("choosing", 2, 2),
        ("compiling", 1, 2),
        ("compiling", 2, 2),
    ]
    assert {state.label for state in seen} == {task.operator.label for task in tasks}
