"""Runs of one task that go on at the same time: they share trials, and repeat none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scripted import Scripted, config, number, stored, trials_of
from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError
from tunesmith.measurement import Measurement, Outcome
from tunesmith.store import Session, Store, open_store
from tunesmith.tuning import sharing
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune


class Other:
    """Another run of the same problem, at its own connection to the store."""

    def __init__(self, path: Path) -> None:
        self.store = open_store(path)
        self.session: Session = self.store.begin_session(
            "scripted", tuner="other", seed=0, sketch="line", sketch_version=1
        )

    def claim(self, *numbers: int, seconds: float = 600.0) -> list[float]:
        return self.store.claim([(self.session, config(n)) for n in numbers], seconds)

    def measure(self, *numbers: int) -> None:
        """Each takes its number in seconds."""
        times = [Measurement(config(n), Outcome.NO_ERROR, (float(n),)) for n in numbers]
        self.store.append(self.session, times)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.db"


@pytest.fixture
def other(path: Path) -> Iterator[Other]:
    made = Other(path)
    with made.store:
        yield made


def at(trial: int, act: Callable[[], object]) -> Callable[[int], None]:
    """For ``before``: acts when so many trials were done."""

    def check(done: int) -> None:
        if done == trial:
            act()

    return check


def run(problem: Scripted, path: Path, trials: int | None = None, *, fresh: bool = False) -> Result:
    return tune(problem, "grid", Budget(trials=trials), store=path, fresh=fresh)


def tried(problem: Scripted) -> list[int]:
    return list(map(number, problem.log))


def test_what_others_measure_meanwhile_is_not_repeated_and_counts(path: Path, other: Other) -> None:
    problem = Scripted(
        size=9, seconds=lambda n: 10.0 + n, before=at(2, lambda: other.measure(5, 7))
    )
    result = run(problem, path)
    assert tried(problem) == [1, 2, 3, 4, 6, 8, 9]
    assert (result.trials, result.resumed, result.shared, result.own_trials) == (9, 0, 2, 7)
    assert result.stopped is Stop.EXHAUSTED
    assert result.best is not None
    assert (number(result.best.config), result.best.seconds) == (5, 5.0)
    assert sorted(trials_of(stored(other.store))) == list(range(1, 10))


def test_what_is_learned_reaches_the_measurer_the_bandit_and_the_budget(
    path: Path, other: Other
) -> None:
    problem = Scripted(size=9, seconds=lambda n: 10.0, before=at(2, lambda: other.measure(4, 9)))
    result = run(problem, path, trials=7)
    assert (result.stopped, result.trials) == (Stop.TRIALS, 7)
    assert problem.known_best[:2] == [math.inf, 10.0]
    assert problem.known_best[-1] == 4.0, "the best of another run is the one to beat"
    assert result.sketches["line"].trials == 7


def test_a_claimed_config_is_left_to_the_one_that_claimed_it(path: Path, other: Other) -> None:
    assert other.claim(2, 3) == [0.0, 0.0]
    problem = Scripted(size=6, before=at(3, lambda: other.measure(2, 3)))
    result = run(problem, path)
    assert tried(problem) == [1, 4, 5, 6]
    assert (result.trials, result.shared, result.stopped) == (6, 2, Stop.EXHAUSTED)


def test_a_run_that_died_gives_its_configs_back(path: Path, other: Other) -> None:
    assert other.claim(1, 3, seconds=5.0) == [0.0, 0.0]  # long enough on a busy machine
    problem = Scripted(size=4)
    result = run(problem, path)
    assert tried(problem)[:2] == [2, 4]
    assert sorted(tried(problem)) == [1, 2, 3, 4], "the run waits until they are free"
    assert (result.trials, result.shared, result.stopped) == (4, 0, Stop.EXHAUSTED)


def test_a_run_does_not_wait_longer_than_its_budget(path: Path, other: Other) -> None:
    other.claim(2)
    problem = Scripted(size=2)
    result = tune(problem, "grid", Budget(seconds=1.5), store=path)
    assert (result.stopped, tried(problem)) == (Stop.SECONDS, [1])


def test_own_configs_are_claimed_until_they_are_stored(path: Path, other: Other) -> None:
    seen: list[list[float]] = []
    problem = Scripted(size=4, batch=2, before=at(0, lambda: seen.append(other.claim(1, 2, 3))))
    run(problem, path, trials=2)
    ((first, second, third),) = seen
    assert 0.0 < first <= 30.0
    assert 0.0 < second <= 30.0
    assert third == 0.0
    assert other.claim(1, 2, 4) == [math.inf, math.inf, 0.0], "nothing is held after the end"


def test_a_fresh_run_neither_learns_nor_leaves_anything_out(path: Path, other: Other) -> None:
    other.claim(1)
    problem = Scripted(size=4, before=at(1, lambda: other.measure(2, 3)))
    result = run(problem, path, fresh=True)
    assert tried(problem) == [1, 2, 3, 4]
    assert (result.trials, result.resumed, result.shared) == (4, 0, 0)


def test_another_version_of_the_sketch_is_another_matter(path: Path, other: Other) -> None:
    other.claim(1)
    problem = Scripted(size=4, version=2, before=at(1, lambda: other.measure(2, 3)))
    assert run(problem, path).shared == 0
    assert tried(problem) == [1, 2, 3, 4]


def test_a_play_off_needs_trials_of_ones_own(path: Path, other: Other) -> None:
    other.claim(1, 2, seconds=600.0)
    problem = Scripted(size=2, finalists=2)
    measured = iter([True])

    def sleep(_seconds: float) -> None:
        if next(measured, False):
            other.measure(1, 2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tunesmith.tuning.run.time.sleep", sleep)
        result = run(problem, path)
    assert (problem.log, problem.rounds) == ([], [])
    assert (result.trials, result.shared) == (2, 2)
    assert result.best is not None


def test_claims_are_renewed_while_the_run_lives(
    path: Path, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[float] = []
    whole = Store.renew_claims

    def renew(store: Store, session: Session, seconds: float) -> None:
        renewed.append(seconds)
        whole(store, session, seconds)

    monkeypatch.setattr(Store, "renew_claims", renew)
    monkeypatch.setattr(sharing, "_CLAIM_SECONDS", 0.003)
    run(Scripted(size=6), path)
    assert renewed
    assert all(seconds >= 0.003 for seconds in renewed)


def test_no_claim_lasts_longer_than_its_run_has(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a measurer says of how long a trial took: others wait for claims."""
    claimed: list[float] = []
    whole = Store.claim

    def claim(store: Store, wanted: Any, seconds: float) -> list[float]:
        claimed.append(seconds)
        return whole(store, wanted, seconds)

    monkeypatch.setattr(Store, "claim", claim)
    begun = time.monotonic()
    run(Scripted(size=6, reports=lambda trial: replace(trial, build_time=math.inf)), path)
    spent = time.monotonic() - begun
    assert len(claimed) > 1
    assert max(claimed) <= max(sharing._CLAIM_SECONDS, sharing._CLAIM_TRIALS * spent)


def test_a_store_that_cannot_claim_does_not_end_the_run(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("locked")

    monkeypatch.setattr(Store, "claim", fail)
    problem = Scripted(size=4)
    result = run(problem, path)
    assert (tried(problem), result.stopped) == ([1, 2, 3, 4], Stop.EXHAUSTED)


@given(
    tuner=st.sampled_from(["random", "grid", "genetic", "annealing"]),
    seed=st.integers(0, 99),
    batch=st.integers(1, 5),
)
def test_a_run_alone_proposes_what_it_would_without_sharing(
    tmp_path_factory: pytest.TempPathFactory, tuner: str, seed: int, batch: int
) -> None:
    logs = []
    for store in (tmp_path_factory.mktemp("alone") / "tuning.db", "sqlite://"):
        problem = Scripted(size=30, batch=batch, seconds=lambda n: abs(n - 11) + 1.0)
        tune(problem, tuner, Budget(trials=12), store=store, seed=seed)
        logs.append(tried(problem))
    assert logs[0] == logs[1]
