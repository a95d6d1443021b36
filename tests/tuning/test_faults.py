"""A store that fails in the middle of a run: the run ends, and nothing that it measured is lost."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scripted import (
    Scripted,
    ScriptedMeasurer,
    config,
    failing_at,
    number,
    stored,
    trials_of,
)
from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError, TunesmithError, UsageError
from tunesmith.measurement import LONGEST_PHASE, Candidate, Measurement, Outcome
from tunesmith.problem import MeasurerLostError, MeasureSettings
from tunesmith.store import Record, Store, open_store
from tunesmith.tuning.branches import Branches
from tunesmith.tuning.tune import tune

FULL = "its disk is full: free some space"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        yield opened


def breaking(
    monkeypatch: pytest.MonkeyPatch, store: Store, method: str, error: BaseException, calls: int = 0
) -> None:
    """Let a method of the store raise after so many calls that work."""
    works = iter(range(calls))
    whole: Callable[..., Any] = getattr(store, method)

    def broken(*arguments: Any, **options: Any) -> Any:
        if next(works, None) is None:
            raise error
        return whole(*arguments, **options)

    monkeypatch.setattr(store, method, broken)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch, store: Store) -> Store:
    """A store whose disk is full from the fourth batch on."""
    breaking(monkeypatch, store, "add", StoreError(FULL), calls=3)
    for method in ("merge", "finish_session"):
        breaking(monkeypatch, store, method, StoreError(FULL))
    return store


def test_what_the_store_did_not_take_is_in_a_file(full: Store, path: Path, tmp_path: Path) -> None:
    problem = Scripted(seconds=lambda n: 10.0 - n)
    result = tune(problem, "grid", Budget(trials=8), store=full)
    assert (result.stopped, result.failure) == (Stop.STORE, FULL)
    assert list(map(number, problem.log)) == [1, 2, 3, 4], "the run ends there"
    assert trials_of(stored(full)) == [1, 2, 3]
    assert result.rescued is not None
    assert result.rescued.parent == path.parent
    with open_store(tmp_path / "other.db") as other:
        assert other.import_rescued(result.rescued) == 1
        assert trials_of(stored(other)) == [4]


def test_a_trial_that_was_not_stored_counts(full: Store) -> None:
    result = tune(Scripted(seconds=lambda n: 10.0 - n), "grid", store=full)
    assert result.trials == 4
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(4), 6.0)


def test_after_the_import_a_run_goes_on(full: Store, path: Path) -> None:
    problem = Scripted(size=9)
    result = tune(problem, "grid", store=full)
    assert result.rescued is not None
    with open_store(path) as store:
        store.import_rescued(result.rescued)
        rest = tune(problem, "grid", store=store)
        assert (rest.resumed, rest.trials) == (4, 9)
        assert trials_of(stored(store)) == list(range(1, 10))


def test_a_batch_that_failed_is_tried_once_more(
    monkeypatch: pytest.MonkeyPatch, store: Store, path: Path
) -> None:
    """There may be room again by the end of the run."""
    breaking(monkeypatch, store, "add", StoreError(FULL), calls=2)
    result = tune(Scripted(batch=2, burst=2), "grid", store=store)
    assert (result.stopped, result.failure, result.rescued) == (Stop.STORE, FULL, None)
    assert sorted(trials_of(stored(store))) == [1, 2, 3, 4, 5, 6]
    assert list(path.parent.glob("*.jsonl")) == []
    (session,) = store.sessions("scripted")
    assert session.stopped == "store"


def test_a_store_that_fails_only_at_the_end(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    breaking(monkeypatch, store, "finish_session", StoreError(FULL))
    result = tune(Scripted(), "grid", Budget(trials=3), store=store)
    assert (result.stopped, result.failure, result.rescued) == (Stop.STORE, FULL, None)
    assert (result.trials, len(stored(store))) == (3, 3)


def test_the_first_failure_is_the_one_to_tell(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    breaking(monkeypatch, store, "add", StoreError(FULL))
    for method in ("merge", "finish_session"):
        breaking(monkeypatch, store, method, StoreError("and now it is locked"))
    assert tune(Scripted(), "grid", store=store).failure == FULL


def test_a_store_that_fails_before_the_first_trial(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    breaking(monkeypatch, store, "begin_session", StoreError(FULL))
    problem = Scripted()
    with pytest.raises(StoreError, match=FULL):
        tune(problem, "grid", store=store)
    assert problem.log == []


def test_a_play_off_that_was_not_stored(
    monkeypatch: pytest.MonkeyPatch, store: Store, tmp_path: Path
) -> None:
    breaking(monkeypatch, store, "add", StoreError(FULL), calls=3)
    breaking(monkeypatch, store, "merge", StoreError(FULL))
    problem = Scripted(
        size=3, seconds=lambda n: 1 + n / 50, again=lambda n: 2 - n / 50, finalists=3
    )
    result = tune(problem, "grid", store=store)
    assert result.best is not None
    assert result.best.config == config(3), "its times count all the same"
    assert result.rescued is not None
    with open_store(tmp_path / "other.db") as other:
        assert other.import_rescued(result.rescued) == 3
        assert trials_of(stored(other, play_off=True)) == [1, 2, 3]
        assert stored(other) == []


def test_no_folder_takes_the_file(monkeypatch: pytest.MonkeyPatch, full: Store) -> None:
    def nowhere(records: object, folder: Path | None) -> Path:
        raise StoreError("unsaved records cannot be written to any folder")

    monkeypatch.setattr("tunesmith.tuning.recorder.rescue", nowhere)
    result = tune(Scripted(), "grid", store=full)
    assert result.failure == f"{FULL}; unsaved records cannot be written to any folder"
    assert (result.trials, result.rescued) == (4, None)


@pytest.mark.parametrize("before", [True, False])
def test_an_interrupt_while_a_trial_is_stored(
    monkeypatch: pytest.MonkeyPatch, store: Store, path: Path, before: bool
) -> None:
    """Whether the transaction got through or not, the trial is there once."""
    add = store.add
    interrupts = failing_at(2, KeyboardInterrupt())

    def interrupted(records: Sequence[Record]) -> None:
        done = store.count("scripted")
        if before:
            interrupts(done)
        add(records)
        interrupts(done)

    monkeypatch.setattr(store, "add", interrupted)
    problem = Scripted(size=6)
    result = tune(problem, "grid", store=store)
    assert (result.stopped, result.failure, result.rescued) == (Stop.INTERRUPTED, "", None)
    assert result.trials == 3
    assert trials_of(stored(store)) == [1, 2, 3]
    assert list(path.parent.glob("*.jsonl")) == []
    assert tune(problem, "grid", store=store).resumed == 3
    assert list(map(number, problem.log)) == [1, 2, 3, 4, 5, 6]


def test_an_interrupt_while_the_search_learns(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    """The trials that it learns from are stored already."""
    observe, interrupts = Branches.observe, failing_at(3, KeyboardInterrupt())

    def interrupted(self: Branches, measurements: Sequence[Measurement]) -> None:
        interrupts(store.count("scripted"))
        observe(self, measurements)

    monkeypatch.setattr(Branches, "observe", interrupted)
    result = tune(Scripted(), "grid", store=store)
    assert (result.stopped, result.trials) == (Stop.INTERRUPTED, 3)
    assert trials_of(stored(store)) == [1, 2, 3]


# -- what has ended when the run does


class Elsewhere(ScriptedMeasurer):
    """What is submitted is measured at once, and collected up to ``burst`` at a time."""

    def __init__(self, problem: Scripted) -> None:
        super().__init__(problem)
        self._ended: list[Measurement] = []

    @property
    def pending(self) -> int:
        return len(self._ended)

    def submit(self, candidates: Sequence[Candidate], best: float = math.inf) -> None:
        super().submit(candidates, best)
        while self._queue:
            self._ended.append(self._measured(self._queue.popleft()))

    def collect(self, timeout: float) -> list[Measurement]:
        self._problem.between(len(self._problem.log))
        count = self._problem.burst if timeout else len(self._ended)
        found, self._ended = self._ended[:count], self._ended[count:]
        return found


class MeasuredElsewhere(Scripted):
    def measurer(self, settings: MeasureSettings) -> ScriptedMeasurer:
        return Elsewhere(self)


@pytest.mark.parametrize(
    ("error", "stopped"),
    [(KeyboardInterrupt(), Stop.INTERRUPTED), (MeasurerLostError("gone"), Stop.LOST)],
)
def test_what_has_ended_counts_where_a_run_is_ended(
    store: Store, error: BaseException, stopped: Stop
) -> None:
    problem = MeasuredElsewhere(batch=4, burst=2, between=failing_at(6, error))
    result = tune(problem, "grid", store=store)
    assert (result.stopped, result.trials) == (stopped, 6)
    assert trials_of(stored(store)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("error", [TunesmithError("its process dies"), SystemExit(143)])
def test_what_has_ended_is_stored_where_a_run_breaks_down(
    store: Store, error: BaseException
) -> None:
    problem = MeasuredElsewhere(batch=4, burst=2, between=failing_at(6, error))
    with pytest.raises(type(error)):
        tune(problem, "grid", store=store)
    assert trials_of(stored(store)) == [1, 2, 3, 4, 5, 6]


def test_what_has_ended_counts_where_the_budget_is_used_up(store: Store) -> None:
    problem = MeasuredElsewhere(batch=4, burst=2)
    result = tune(problem, "grid", Budget(target_seconds=1.0), store=store)
    assert (result.stopped, result.trials) == (Stop.TARGET, 4)
    assert trials_of(stored(store)) == [1, 2, 3, 4]


def test_what_has_ended_is_in_a_file_where_the_store_fails_then(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    for method in ("add", "merge"):
        breaking(monkeypatch, store, method, StoreError(FULL), calls=1 if method == "add" else 0)
    problem = MeasuredElsewhere(batch=4, burst=2, between=failing_at(6, KeyboardInterrupt()))
    result = tune(problem, "grid", store=store)
    assert (result.failure, result.trials) == (FULL, 6)
    assert result.rescued is not None
    assert len(result.rescued.read_text().splitlines()) >= 4


def test_the_file_of_a_run_that_is_torn_down_is_told_of(
    monkeypatch: pytest.MonkeyPatch, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """There is no result that could tell."""
    for method in ("add", "merge"):
        breaking(monkeypatch, store, method, StoreError(FULL))
    problem = MeasuredElsewhere(batch=4, burst=2, between=failing_at(4, SystemExit(143)))
    with pytest.raises(SystemExit):
        tune(problem, "grid", store=store)
    (line,) = caplog.messages
    assert re.fullmatch(rf"tunesmith: {FULL}; 'tunesmith import .*\.jsonl' adds the rest", line)


def test_what_was_being_stored_is_not_lost_by_what_comes_after_it(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    add, calls = store.add, iter(range(10))

    def interrupted(records: Sequence[Record]) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt
        add(records)

    monkeypatch.setattr(store, "add", interrupted)
    result = tune(MeasuredElsewhere(batch=4, burst=2), "grid", store=store)
    assert (result.stopped, result.trials) == (Stop.INTERRUPTED, 6)
    assert sorted(trials_of(stored(store))) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"problem": 42}, r"problem must be a Task or a problem \(a BaseProblem\), not 42"),
        ({"tuner": 3}, "tuner must be a name or a Tuner, not 3"),
        ({"budget": 60}, "budget must be a Budget, not 60"),
    ],
)
def test_what_is_no_problem_tuner_or_budget_is_told(
    arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        tune(**{"problem": Scripted(), **arguments})


@pytest.mark.parametrize(
    ("error", "stopped"), [(SystemExit(143), "terminated"), (TunesmithError("no"), "failed")]
)
def test_a_run_that_is_torn_down_says_so_in_the_store(
    tmp_path: Path, error: BaseException, stopped: str
) -> None:
    def tear_down(_: object) -> None:
        raise error

    problem = Scripted()
    with open_store(tmp_path / "records.db") as store:
        with pytest.raises(type(error)):
            tune(problem, "grid", store=store, progress=tear_down)
        (session,) = store.sessions(problem.key)
        assert session.stopped == stopped
        assert session.finished is not None


# -- a measurer whose numbers make no sense


@pytest.mark.parametrize("tuner", ["auto", "grid"])
def test_a_time_that_is_none_is_a_trial_that_failed(store: Store, tuner: str) -> None:
    odd = {2: math.nan, 3: -1.0, 4: 0.0, 5: math.inf, 6: 1e300}

    def reports(trial: Measurement) -> Measurement:
        return replace(trial, run_seconds=(odd.get(number(trial.config), trial.seconds),))

    problem = Scripted(reports=reports, size=30, finalists=3)
    result = tune(problem, tuner, Budget(trials=30), store=store)
    assert result.outcomes[Outcome.UNKNOWN_ERROR] == 4
    assert "the measurer reports a call of" in result.failures[Outcome.UNKNOWN_ERROR]
    assert result.best is not None
    assert result.best.seconds == 1.0
    times = sorted(it.seconds for it in stored(store) if it.valid)
    assert times == [1.0, *range(7, 31), 1e300]


@pytest.mark.parametrize("tuner", ["auto", "grid"])
def test_a_cost_that_is_none_counts_as_a_week_or_as_nothing(store: Store, tuner: str) -> None:
    odd = {1: math.inf, 2: 1e300, 3: math.nan, 4: -1.0}

    def reports(trial: Measurement) -> Measurement:
        cost = odd.get(number(trial.config), 0.25)
        return replace(trial, build_time=cost, run_time=cost)

    problem = Scripted(reports=reports, size=30, finalists=3)
    result = tune(problem, tuner, Budget(trials=30), store=store)
    assert result.outcomes[Outcome.NO_ERROR] == 30
    assert result.best is not None
    assert result.best.seconds == 1.0
    costs = {number(it.config): (it.build_time, it.run_time) for it in stored(store)}
    expected = {1: LONGEST_PHASE, 2: LONGEST_PHASE, 3: 0.0, 4: 0.0}
    assert costs == {n: (expected.get(n, 0.25),) * 2 for n in range(1, 31)}
    assert not problem.rounds  # of a config whose trial took a week


def test_a_time_that_is_none_in_the_play_off_wins_nothing(store: Store) -> None:
    problem = Scripted(
        seconds=lambda n: 1.0 + n / 100,
        again=lambda n: math.nan if n == 1 else 1.0 + n / 100,
        finalists=3,
    )
    result = tune(problem, "grid", Budget(trials=10), store=store)
    assert result.best is not None
    assert number(result.best.config) == 2
