"""A run over several sketches: each has its search, all share the trials and the play-off."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tests.scripted import config, line, number
from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError
from tunesmith.measure.activity import Activity
from tunesmith.measure.inline import InlineMeasurer
from tunesmith.measure.task.portfolio import Portfolio
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import Operator, matmul
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.sketches import Sketch
from tunesmith.space import Config, Space
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.result import SketchTrials
from tunesmith.tuning.tune import tune

TASK = Task(matmul(m=4, n=4, k=4), Target(cores=1))
Seconds = Callable[[int], float]


@dataclass(frozen=True)
class Line(Sketch):
    """A sketch over one parameter ``n``, whose default is the last value."""

    name: str  # type: ignore[misc] # a class variable elsewhere
    version: int = 1  # type: ignore[misc]
    size: int = 40
    model: Mapping[int, float] = field(default_factory=dict)

    def supports(self, operator: Operator, target: Target) -> bool:
        return True

    def space(self, operator: Operator, target: Target) -> Space:
        return line(self.size)

    def default(self, operator: Operator, target: Target) -> Config:
        return config(self.size)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        raise NotImplementedError

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return self.model.get(number(config))


@dataclass(frozen=True)
class Played:
    """Sketches whose trials take the ``seconds`` of their sketch, times ``again`` in a play-off.

    ``log`` keeps the trials, ``rounds`` those of the play-off: sketches and numbers.
    """

    alternatives: Sequence[TaskProblem]
    seconds: Mapping[str, Seconds]
    again: float = 1.0
    batch: int = 1
    log: list[tuple[str, int]] = field(default_factory=list)
    rounds: list[tuple[str, int]] = field(default_factory=list)

    key: ClassVar[str] = TASK.key
    flops: ClassVar[float | None] = None
    finalists: ClassVar[int] = 5

    def describe(self) -> Mapping[str, Any]:
        return Portfolio(tuple(self.alternatives)).describe()

    def measurer(self, settings: MeasureSettings) -> PlayedMeasurer:
        return PlayedMeasurer(self)


class PlayedMeasurer(InlineMeasurer):
    """Measures in this process."""

    def __init__(self, problem: Played) -> None:
        super().__init__()
        self._problem = problem

    @property
    def batch(self) -> int:
        return self._problem.batch

    def measure(self, candidate: Candidate) -> Measurement:
        return self._timed(candidate, self._problem.log, 1.0)

    def measure_once(self, candidate: Candidate) -> Measurement:
        return self._timed(candidate, self._problem.rounds, self._problem.again)

    def _timed(
        self, candidate: Candidate, log: list[tuple[str, int]], factor: float
    ) -> Measurement:
        n = number(candidate.config)
        log.append((candidate.sketch, n))
        with self.spending(Activity.RUN):
            start = time.perf_counter()
            seconds = self._problem.seconds[candidate.sketch](n) * factor
            spent = time.perf_counter() - start
        if math.isinf(seconds):
            return Measurement(candidate.config, Outcome.RUNTIME_DEVICE, run_time=spent)
        return Measurement(candidate.config, Outcome.NO_ERROR, (seconds,), run_time=spent)


def played(seconds: Mapping[str, Seconds], *sketches: Line, **others: Any) -> Played:
    """Sketches of these names; those given replace the plain ones."""
    given = {sketch.name: sketch for sketch in sketches}
    chosen = [given.get(name, Line(name)) for name in seconds]
    return Played([TaskProblem(TASK, it) for it in chosen], seconds, **others)


def up(best: float) -> Seconds:
    """From the best at 1 slowly up to the default."""
    return lambda n: best * (1 + n / 10)


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


def test_the_best_of_all_sketches_is_found(store: Store) -> None:
    problem = played({"a": up(3.0), "b": up(1.0), "c": up(2.0)})
    result = tune(problem, "random", Budget(trials=100), store=store)
    assert result.best is not None
    assert (result.best.sketch, result.best.config) == ("b", config(1))
    assert isinstance(result.best.problem, TaskProblem)
    assert result.best.problem.space.contains(result.best.config)
    assert result.best.to_json()["sketch"] == "b"
    assert {name for name, _ in problem.log} == {"a", "b", "c"}
    assert result.sketches["b"] == SketchTrials(40, 1.1)
    assert sum(it.trials for it in result.sketches.values()) == result.trials == 100
    assert result.problem is problem


def test_what_is_compared_with_is_the_default_of_the_first_sketch(store: Store) -> None:
    problem = played({"a": up(1.0), "b": up(0.1)})
    result = tune(problem, "random", Budget(trials=10), store=store)
    assert problem.log[0] == ("a", 40)
    assert result.default is not None
    assert (result.default.sketch, result.default.config) == ("a", config(40))
    assert ("b", 40) in problem.log[:4], "each sketch begins with its own default"


def test_a_budget_of_one_trial_is_the_default(store: Store) -> None:
    problem = played({"a": up(1.0), "b": up(0.1)}, batch=8)
    tune(problem, "random", Budget(trials=1), store=store)
    assert problem.log == [("a", 40)]


def test_spaces_that_are_used_up_end_the_run(store: Store) -> None:
    problem = played({"a": up(1.0), "b": up(2.0)}, Line("a", size=3), Line("b", size=5), batch=4)
    result = tune(problem, "genetic", Budget(trials=100), store=store)
    assert result.stopped is Stop.EXHAUSTED
    assert sorted(problem.log) == [*(("a", n) for n in (1, 2, 3)), *(("b", n) for n in range(1, 6))]


@examples(30)
@given(
    tuner=st.sampled_from(["random", "grid", "genetic"]),
    sizes=st.lists(st.integers(1, 20), min_size=2, max_size=4),
    steps=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    batch=st.integers(1, 9),
    prior=st.booleans(),
)
def test_runs_that_follow_each_other_try_each_candidate_once(
    *, tuner: str, sizes: Sequence[int], steps: Sequence[int], batch: int, prior: bool
) -> None:
    names = "abcd"[: len(sizes)]
    models: list[Mapping[int, float]] = [{}, {2: 1.0, 3: 2.0}, {1: 4.0}, {}]
    problem = played(
        {name: lambda n: math.inf if n % 5 == 0 else float(n) for name in names},
        *(
            Line(name, size=size, model=models[i])
            for i, (name, size) in enumerate(zip(names, sizes, strict=True))
        ),
        batch=batch,
    )
    done = 0
    with open_store("sqlite://") as opened:
        for step in steps:
            budget = Budget(trials=done + step)
            result = tune(problem, tuner, budget, store=opened, prior=prior)
            assert result.resumed == done
            done = min(sum(sizes), done + step)
            assert result.trials == len(problem.log) == done
        stored = [(r.sketch, number(r.config)) for r in opened.records(TASK.key)]
    assert sorted(stored) == sorted(problem.log)
    assert len(set(problem.log)) == len(problem.log)


# --- The store


def test_records_are_filed_by_sketch_with_plain_configs(store: Store) -> None:
    problem = played({"a": up(1.0), "b": up(2.0)}, Line("b", version=7))
    result = tune(problem, "random", Budget(trials=20), store=store)
    for record in store.records(TASK.key):
        assert (record.sketch, record.sketch_version) in {("a", 1), ("b", 7)}
        assert list(record.config) == ["n"]
    for sketch, version in (("a", 1), ("b", 7)):
        own = store.measurements(TASK.key, sketch=sketch, sketch_version=version)
        assert len(own) == result.sketches[sketch].trials
    assert sorted(store.sketches(TASK.key)) == [("a", 1), ("b", 7)]


def test_a_run_is_one_session(store: Store) -> None:
    problem = played({"a": up(2.0), "b": up(1.0)})
    result = tune(problem, "random", Budget(trials=20), store=store, prior=False)
    (run,) = store.runs(TASK.key)
    assert result.best is not None
    assert (run.trials, run.best_seconds) == (20, result.best.seconds)
    assert run.best_sketch == "b"
    assert run.sketches == {name: it.trials for name, it in result.sketches.items()}
    assert run.session.sketches == [("a", 1), ("b", 1)]
    assert run.session.default == config(40)
    assert run.session.description["prior"] is False
    assert run.session.stopped == "trials"


def test_a_run_with_one_sketch_and_one_with_several_share_their_trials(store: Store) -> None:
    problem = played({"a": up(1.0), "b": up(2.0)}, Line("a", size=10))
    alone = Played([problem.alternatives[1]], problem.seconds)
    first = tune(alone, "random", Budget(trials=6), store=store)
    both = tune(problem, "random", Budget(trials=26), store=store)
    assert (both.resumed, both.trials) == (6, 26)
    assert not set(alone.log) & set(problem.log)
    again = tune(alone, "random", Budget(trials=40), store=store)
    assert again.resumed == both.sketches["b"].trials > first.trials
    assert len(alone.log) == len(set(alone.log))


def test_a_newer_version_of_one_sketch_begins_anew_and_the_others_go_on(store: Store) -> None:
    older = played({"a": up(1.0), "b": up(2.0)})
    first = tune(older, "random", Budget(trials=20), store=store)
    newer = played({"a": up(1.0), "b": up(2.0)}, Line("a", version=2))
    second = tune(newer, "random", Budget(trials=20), store=store)
    assert second.resumed == first.sketches["b"].trials


def test_what_a_store_did_not_take_is_imported_with_its_sketch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("full")

    problem = played({"a": up(1.0), "b": up(2.0)})
    with open_store(tmp_path / "a.db") as store, open_store(tmp_path / "b.db") as other:
        for method in ("add", "merge"):
            monkeypatch.setattr(store, method, refuse)
        for _ in range(3):
            result = tune(problem, "random", Budget(trials=9), store=store, seed=len(problem.log))
            assert result.rescued is not None
            assert other.import_rescued(result.rescued) == 1
        stored = {(r.sketch, number(r.config)) for r in other.records(TASK.key)}
        assert stored == set(problem.log)


# --- The play-off


def test_finalists_of_all_sketches_meet_in_the_play_off(store: Store) -> None:
    problem = played({"a": up(1.0), "b": up(1.01)}, again=2.0)
    result = tune(problem, "grid", Budget(trials=60), store=store)
    places = list(dict.fromkeys(problem.rounds))
    assert places == problem.rounds[: len(places)], "each has a round in turn"
    assert {name for name, _ in places} == {"a", "b"}
    assert ("a", 40) in places, "and so has the default"
    assert result.best is not None
    assert result.best.seconds == pytest.approx(2.2)
    confirmed = store.records(TASK.key, play_off=True)
    assert {(r.sketch, number(r.config)) for r in confirmed} == set(places)


def test_the_best_of_a_sketch_whose_trials_came_at_a_bad_moment_takes_part(store: Store) -> None:
    def drifting(n: int) -> float:
        return up(1.0)(n) * (0.8 if problem.rounds else 1.7)

    problem = played({"a": up(1.0), "b": drifting, "c": up(2.5)})
    result = tune(problem, "grid", Budget(trials=60), store=store)
    assert [n for name, n in set(problem.rounds) if name == "b"] == [1], "its best alone"
    assert not [name for name, n in problem.rounds if name == "c" and n == 1], "too far off"
    assert result.best is not None
    assert (result.best.sketch, result.best.config) == ("b", config(1))


def test_the_winner_of_an_earlier_run_with_one_sketch_is_the_best_of_a_later_one(
    store: Store,
) -> None:
    problem = played({"a": up(1.0), "b": up(1.5)})
    tune(problem, "grid", Budget(trials=80), store=store)
    again = tune(problem, "grid", Budget(trials=80), store=store)
    assert again.best is not None
    assert (again.best.sketch, again.best.config) == ("a", config(1))


# --- Good starts


def test_good_starts_come_right_after_the_first_default(store: Store) -> None:
    model = {n: 1.0 + n for n in (7, 8, 9)}
    problem = played({"a": up(1.0), "b": up(1.0)}, Line("b", model=model))
    tune(problem, "grid", Budget(trials=20), store=store)
    assert problem.log[:2] == [("a", 40), ("b", 7)]
    assert [n for name, n in problem.log if name == "b"][:4] == [7, 8, 9, 40]
    assert [n for name, n in problem.log if name == "a"][:3] == [40, 1, 2]


@pytest.mark.parametrize(
    ("budget", "first"),
    [
        (Budget(seconds=600), [("a", 9), ("b", 9)]),
        (Budget(trials=18), [("a", 9), ("b", 7)]),
    ],
    ids=["seconds", "trials"],
)
def test_defaults_come_first_where_they_cost_no_trials(
    store: Store, budget: Budget, first: list[tuple[str, int]]
) -> None:
    """While starts are looked for they cost no time."""
    lines = Line("a", size=9), Line("b", size=9, model={7: 1.0})
    problem = played({"a": up(1.0), "b": up(1.0)}, *lines, batch=4)
    tune(problem, "grid", budget, store=store)
    assert problem.log[:2] == first
    assert len(set(problem.log)) == 18


def test_without_a_prior_the_search_is_left_alone(store: Store) -> None:
    problem = played({"a": up(1.0), "b": up(1.0)}, Line("b", model={7: 1.0}))
    tune(problem, "grid", Budget(trials=12), store=store, prior=False)
    assert [n for name, n in problem.log if name == "b"][:3] == [40, 1, 2]


def test_a_resumed_run_does_not_repeat_good_starts(store: Store) -> None:
    problem = played({"a": up(1.0)}, Line("a", model={n: 1.0 + n for n in (7, 8, 9)}))
    tune(problem, "grid", Budget(trials=3), store=store)
    tune(problem, "grid", Budget(trials=6), store=store)
    assert [n for _, n in problem.log] == [40, 7, 8, 9, 1, 2]


def test_the_same_seed_tries_the_same(store: Store) -> None:
    logs = []
    for seed in (3, 3, 4):
        model = {n: float(n % 7 + 1) for n in range(1, 30)}
        problem = played({"a": up(1.0), "b": up(1.2)}, Line("b", model=model))
        tune(problem, "genetic", Budget(trials=40), store=store, seed=seed, fresh=True)
        logs.append(problem.log)
    assert logs[0] == logs[1] != logs[2]


# --- What others are told


def test_progress_tells_of_sketches(store: Store) -> None:
    states: list[Progress] = []
    problem = played({"a": up(2.0), "b": up(1.0)})
    tune(problem, "random", Budget(trials=10), store=store, progress=states.append)
    assert sum(states[-1].sketches.values()) == 10
    assert states[-1].best_sketch == "b"


def test_a_candidate_says_its_sketch() -> None:
    assert Candidate(config(3), "a") != Candidate(config(3), "b")
    assert Candidate(config(3)).sketch == ""
    measured = Measurement(config(3), Outcome.NO_ERROR, (1.0,), sketch="a")
    assert measured.candidate == Candidate(config(3), "a")
