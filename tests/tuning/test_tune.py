"""The tuning loop: when it stops, what it tries, where the time and the records go."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scripted import Scripted, config, failing_at, line, number, stored, trials_of
from tunesmith.budget import Budget, Stop
from tunesmith.errors import InstantiationError, TunesmithError, UsageError
from tunesmith.measure.function import FunctionProblem
from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES, Progress
from tunesmith.space import Config, Factorization, Space
from tunesmith.store import Store, open_store
from tunesmith.tuners import Tuner
from tunesmith.tuners.tuner import Search
from tunesmith.tuning import deadline
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


# --- Stops


def test_so_many_trials(store: Store) -> None:
    problem = Scripted()
    result = tune(problem, "random", Budget(trials=7), store=store)
    assert result.stopped is Stop.TRIALS
    assert (result.trials, result.valid, len(problem.log)) == (7, 7, 7)


def test_so_many_seconds(store: Store) -> None:
    space = Space([Factorization("tile", 1 << 30, 5)])
    problem = FunctionProblem(space, lambda config: 1.0, name="one")
    result = tune(problem, "random", Budget(seconds=0.05), store=store)
    assert result.stopped is Stop.SECONDS
    assert result.trials > 0
    assert result.time["total"] >= 0.05


def test_waiting_ends_with_the_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "LOOK_UP", 600.0)
    problem = Scripted(before=lambda trials: time.sleep(0.002))
    tune(problem, "grid", Budget(seconds=60.0), store=store)  # it ends with the space
    assert max(problem.patience) <= 60.0
    assert problem.patience == sorted(set(problem.patience), reverse=True)


def test_a_target_in_seconds(store: Store) -> None:
    problem = Scripted(seconds=lambda n: 50.0 - n)
    result = tune(problem, "grid", Budget(target_seconds=40.0, trials=30), store=store)
    assert result.stopped is Stop.TARGET
    assert result.trials == 10
    assert result.best is not None
    assert result.best.seconds == 40.0


def test_a_target_in_gflops(store: Store) -> None:
    problem = Scripted(seconds=lambda n: 50.0 - n, flops=80e9)
    result = tune(problem, "grid", Budget(target_gflops=2.0), store=store)
    assert (result.stopped, result.trials) == (Stop.TARGET, 10)
    assert result.best is not None
    assert result.best.gflops == pytest.approx(2.0)


def test_a_target_in_gflops_means_nothing_without_operations(store: Store) -> None:
    result = tune(Scripted(size=5), "grid", Budget(target_gflops=1e-9), store=store)
    assert result.stopped is Stop.EXHAUSTED


def test_patience_counts_trials_since_the_last_gain(store: Store) -> None:
    problem = Scripted(seconds=lambda n: {1: 9.0, 4: 8.0}.get(n, 10.0))
    result = tune(problem, "grid", Budget(patience=5), store=store)
    assert result.stopped is Stop.PATIENCE
    assert result.trials == 4 + 5


def test_a_space_that_is_used_up(store: Store) -> None:
    problem = Scripted(size=6)
    result = tune(problem, "random", Budget(trials=100, seconds=60), store=store)
    assert result.stopped is Stop.EXHAUSTED
    assert sorted(map(number, problem.log)) == [1, 2, 3, 4, 5, 6]


def test_no_budget_at_all_ends_with_the_space(store: Store) -> None:
    assert tune(Scripted(size=6), "grid", store=store).stopped is Stop.EXHAUSTED


def test_an_interrupt_ends_the_run_like_a_budget(store: Store) -> None:
    problem = Scripted(before=failing_at(4, KeyboardInterrupt()), finalists=3)
    result = tune(problem, "grid", store=store)
    assert result.stopped is Stop.INTERRUPTED
    assert result.trials == 4
    assert result.best is not None
    assert result.best.config == config(1)
    assert trials_of(stored(store)) == [1, 2, 3, 4]
    assert problem.rounds == [], "whoever interrupts does not want to wait for a play-off"
    (session,) = store.sessions("scripted")
    assert session.stopped == "interrupted"
    assert session.finished is not None


def test_an_interrupt_inside_a_function_ends_the_run() -> None:
    def function(config: Config) -> float:
        if number(config) == 3:
            raise KeyboardInterrupt
        return 1.0

    result = tune(FunctionProblem(line(5), function), "grid")
    assert (result.stopped, result.trials) == (Stop.INTERRUPTED, 2)


def test_whatever_ends_the_run_the_measurer_is_closed(store: Store) -> None:
    problem = Scripted(before=failing_at(2, TunesmithError("the board is gone")))
    with pytest.raises(TunesmithError, match="the board is gone"):
        tune(problem, "grid", store=store)
    tune(problem, "grid", store=store)
    assert [measurer.closed for measurer in problem.measurers] == [True, True]


# --- What is tried


def test_the_default_comes_first_and_once(store: Store) -> None:
    problem = Scripted(size=6, default=config(4))
    result = tune(problem, "grid", store=store)
    assert list(map(number, problem.log)) == [4, 1, 2, 3, 5, 6]
    assert result.default is not None
    assert (result.default.config, result.default.seconds) == (config(4), 4.0)


def test_a_budget_of_one_trial_is_the_default(store: Store) -> None:
    problem = Scripted(default=config(4), batch=8)
    result = tune(problem, "random", Budget(trials=1), store=store)
    assert problem.log == [config(4)]
    assert result.best is not None
    assert result.best.config == config(4)


def test_a_default_that_fails_is_no_default(store: Store) -> None:
    problem = Scripted(size=3, seconds=lambda n: math.inf if n == 2 else n, default=config(2))
    result = tune(problem, "grid", store=store)
    assert result.default is None
    assert result.outcomes == {Outcome.RUNTIME_DEVICE: 1, Outcome.NO_ERROR: 2}
    assert result.best is not None


@given(
    tuner=st.sampled_from(["random", "grid", "genetic"]),
    size=st.integers(1, 40),
    trials=st.integers(1, 50),
    batch=st.integers(1, 9),
    burst=st.integers(1, 9),
    default=st.integers(1, 40),
    seed=st.integers(0, 5),
)
def test_no_config_is_tried_twice_and_no_trial_goes_over_the_budget(
    *, tuner: str, size: int, trials: int, batch: int, burst: int, default: int, seed: int
) -> None:
    problem = Scripted(
        size=size,
        batch=batch,
        burst=burst,
        default=config(default) if default <= size else None,
        seconds=lambda n: math.inf if n % 5 == 0 else float(n),
    )
    with open_store("sqlite://") as store:
        result = tune(problem, tuner, Budget(trials=trials), store=store, seed=seed)
        assert stored(store) != []
        assert trials_of(stored(store)) == list(map(number, problem.log))
    assert len(set(problem.log)) == len(problem.log) == min(size, trials)
    assert result.trials == len(problem.log)
    assert problem.default is None or problem.default in problem.log
    valid = [number(tried) for tried in problem.log if number(tried) % 5]
    assert result.valid == len(valid)
    assert (None if result.best is None else number(result.best.config)) == min(valid, default=None)


def test_all_trials_fail(store: Store) -> None:
    problem = Scripted(size=5, seconds=lambda n: math.inf, default=config(1), finalists=3)
    result = tune(problem, "grid", Budget(target_seconds=1.0), store=store)
    assert result.stopped is Stop.EXHAUSTED
    assert (result.trials, result.valid, result.best, result.default) == (5, 0, None, None)
    assert result.outcomes == {Outcome.RUNTIME_DEVICE: 5}
    assert problem.rounds == []
    assert store.best("scripted") is None


def test_each_failure_is_counted_in_its_class() -> None:
    def function(config: Config) -> float:
        if number(config) == 1:
            raise InstantiationError("no")
        return math.nan if number(config) == 2 else 1.0

    result = tune(FunctionProblem(line(3), function, name="f"), "grid")
    assert result.outcomes == {
        Outcome.INSTANTIATION_ERROR: 1,
        Outcome.WRONG_ANSWER: 1,
        Outcome.NO_ERROR: 1,
    }


class Reluctant(Tuner):
    """Proposes one config at a time, however many are asked for, and at most ``most``."""

    name: ClassVar[str] = "reluctant"
    most: ClassVar[int] = 5

    def start(self, space: Space, seed: int) -> Search:
        return ReluctantSearch(space, seed)


class ReluctantSearch(Search):
    def propose(self, count: int) -> list[Config]:
        return super().propose(min(count, 1))

    def next_config(self) -> Config | None:
        return None if len(self.seen) >= Reluctant.most else self.fresh_config()


def test_a_tuner_may_propose_less_than_it_is_asked_for(store: Store) -> None:
    problem = Scripted(batch=8, burst=8)
    result = tune(problem, Reluctant(), Budget(trials=20), store=store)
    assert result.stopped is Stop.EXHAUSTED
    assert result.trials == len(set(problem.log)) == Reluctant.most


def test_what_a_tuner_knows_already_it_does_not_propose(store: Store) -> None:
    """A tuner that ends at once still leaves the default, which the loop adds."""
    problem = Scripted(size=1, default=config(1))
    result = tune(problem, "random", store=store)
    assert (result.stopped, problem.log) == (Stop.EXHAUSTED, [config(1)])


def test_the_same_seed_tries_the_same(store: Store) -> None:
    logs = []
    for seed in (3, 3, 4):
        problem = Scripted()
        tune(problem, "genetic", Budget(trials=20), store=store, seed=seed, fresh=True)
        logs.append(problem.log)
    assert logs[0] == logs[1] != logs[2]


@pytest.mark.parametrize(
    ("tuner", "seed", "message"),
    [("genetics", 0, "did you mean genetic"), ("random", -1, "give 0 or more")],
)
def test_what_cannot_be_is_refused(store: Store, tuner: str, seed: int, message: str) -> None:
    problem = Scripted()
    with pytest.raises(UsageError, match=message):
        tune(problem, tuner, store=store, seed=seed)
    assert (problem.log, store.tasks()) == ([], [])


# --- Time and progress


def busy(n: int) -> float:
    return sum(i * 1e-9 for i in range(20_000 + n))


def test_the_time_adds_up(store: Store) -> None:
    problem = Scripted(seconds=busy)
    result = tune(problem, "genetic", Budget(trials=30), store=store)
    time = result.time
    assert set(time) == {*PHASES, "total"}
    assert math.isclose(sum(time[phase] for phase in PHASES), time["total"])
    assert all(time[phase] >= 0.0 for phase in PHASES)
    assert time["search"] > 0.0
    assert time["run"] >= sum(m.run_time for m in stored(store)) - 1e-6 > 0.0
    (session,) = store.sessions("scripted")
    assert session.time_split == {phase: time[phase] for phase in PHASES}


def test_showing_progress_has_a_phase_of_its_own(store: Store) -> None:
    result = tune(
        Scripted(), "grid", Budget(trials=3), store=store, progress=lambda state: time.sleep(0.05)
    )
    assert result.time["record"] >= 0.15


def test_progress_only_grows(store: Store) -> None:
    states: list[Progress] = []
    problem = Scripted(
        seconds=lambda n: math.inf if n % 4 == 0 else n, default=config(17), batch=4, burst=3
    )
    tune(problem, "random", Budget(trials=10), store=store)
    result = tune(problem, "random", Budget(trials=30), store=store, progress=states.append)
    assert [state.trials for state in states] == sorted({state.trials for state in states})
    assert states[0].trials > 10
    for before, after in itertools.pairwise(states):
        assert after.valid >= before.valid
        assert after.elapsed >= before.elapsed
        assert (after.best_seconds or math.inf) <= (before.best_seconds or math.inf)
        assert all(after.outcomes[kind] >= count for kind, count in before.outcomes.items())
        assert after.time["run"] >= before.time["run"]
    for state in states:
        assert set(state.time) == set(PHASES)
        assert sum(state.outcomes.values()) == state.trials
        assert state.default_seconds == 17.0
    assert (states[-1].trials, states[-1].outcomes) == (result.trials, result.outcomes)
    assert result.best is not None
    assert states[-1].best_seconds == result.best.seconds


def test_progress_without_anything_valid(store: Store) -> None:
    states: list[Progress] = []
    tune(Scripted(seconds=lambda n: math.inf, size=2), "grid", store=store, progress=states.append)
    assert [(s.trials, s.valid, s.best_seconds, s.default_seconds) for s in states] == [
        (1, 0, None, None),
        (2, 0, None, None),
    ]


# --- Where records go


def test_a_function_leaves_no_file_unless_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    problem = Scripted(size=4)
    results = [tune(problem, "grid"), tune(problem, "grid")]
    assert [(result.trials, result.resumed) for result in results] == [(4, 0), (4, 0)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("as_text", [True, False])
def test_a_store_may_be_given_by_its_name(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "folder" / "tuning.db"
    result = tune(Scripted(size=4), "grid", store=str(path) if as_text else path)
    assert result.trials == 4
    with open_store(path) as store:
        assert trials_of(stored(store)) == [1, 2, 3, 4]


def test_the_session_tells_how_the_run_was_made(store: Store) -> None:
    problem = Scripted(default=config(2))
    result: Result = tune(problem, "genetic", Budget(trials=6, patience=50), store=store, seed=9)
    (session,) = store.sessions("scripted")
    assert (session.tuner, session.seed, session.stopped) == ("genetic", 9, "trials")
    assert session.tuner_settings["population"] == 100
    assert session.budget["trials"] == 6
    assert session.budget["seconds"] is None
    assert (session.sketch, session.sketch_version) == ("line", 1)
    assert session.target == {"kind": "script"}
    assert session.default == config(2)
    assert result.resumed == 0


def test_a_run_that_is_short_for_its_tuner_is_told_of(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    tune(Scripted(), "genetic", Budget(trials=5), store=store)
    [told] = [record.getMessage() for record in caplog.records]
    assert told.startswith("tunesmith: tuner 'genetic': its first 100 configs are random")


def test_a_run_that_time_ended_in_its_random_start_has_advice(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    result = tune(Scripted(), "genetic", Budget(patience=2), store=store)
    assert f"so a run of {result.trials} trials is random search: try" in result.advice
    assert tune(Scripted(), "genetic", Budget(patience=2), store=store).advice == "", "it goes on"
    whole = tune(Scripted(), "genetic", Budget(seconds=600.0), store=store, fresh=True)
    assert whole.stopped is Stop.EXHAUSTED
    assert whole.advice == "", "nothing is left to try"
    assert caplog.records == []


def test_a_run_that_goes_on_is_not_short(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    tune(Scripted(), "random", Budget(trials=5), store=store)
    tune(Scripted(), "genetic", Budget(trials=9), store=store)
    assert caplog.records == []
