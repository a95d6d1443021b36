"""What is known of a store, kept up to date."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.dashboard.samples import MACHINE, TASK, begin, measured, write_store
from tunesmith.dashboard.watch import Watch
from tunesmith.measurement import Outcome
from tunesmith.store import StoredEvaluation, open_overview, open_store
from tunesmith.store.aggregates import Tally
from tunesmith.store.overview import Overview


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.db"


def test_runs_and_tasks_are_as_the_store_has_them(path: Path) -> None:
    write_store(path)
    with open_overview(path) as overview:
        watch = Watch(overview)
        known = watch.snapshot()
        (task,) = known.tasks
        assert (task.key, task.machine) == (TASK, "m1")
        runs = overview.runs(TASK, machine="m1")
        assert [run.session.uid for run in task.runs] == [run.session.uid for run in runs]
        assert [run.trials for run in task.runs] == [run.trials for run in runs]
        assert [run.best_seconds for run in task.runs] == [run.best_seconds for run in runs]
        assert task.outcomes == overview.outcomes(TASK, machine="m1")
        best = overview.best(TASK, machine="m1")
        assert best is not None
        assert watch.best(task) == best
        shares = {(it.series.sketch, it.series.version): it.trials for it in task.sketches}
    assert shares == {("tiles", 1): 80, ("rows", 2): 40}


def test_a_play_off_decides(path: Path) -> None:
    with open_store(path) as store, open_overview(path) as overview:
        watch = Watch(overview)
        session = begin(store)
        store.append(session, [measured(1.0, tile=1), measured(2.0, tile=2)])
        (task,) = watch.snapshot().tasks
        first = watch.best(task)
        store.confirm(session, [measured(3.0, tile=1), measured(2.5, tile=2)])
        (task,) = watch.snapshot().tasks
        second = watch.best(task)
    assert first is not None
    assert second is not None
    assert (first.config["tile"], second.config["tile"]) == (1, 2)
    assert task.trials == 2
    assert task.runs[0].best_seconds == 2.5


class _Counting(Overview):
    """Notes the ids from which on tallies were asked for."""

    def __init__(self, overview: Overview, *, in_order: bool = True) -> None:
        super().__init__(overview._database)
        self.asked: list[int] = []
        self._in_order = in_order

    @property
    def stores_in_order(self) -> bool:
        return self._in_order

    def tallies(self, after: int, until: int) -> list[Tally]:
        self.asked.append(after)
        return super().tallies(after, until)


def test_only_what_is_new_is_read(path: Path) -> None:
    with open_store(path) as store, open_overview(path) as overview:
        counting = _Counting(overview)
        watch = Watch(counting)
        session = begin(store)
        store.append(session, [measured(1.0, tile=1), measured(2.0, tile=2)])
        watch.snapshot()
        watch.snapshot()
        assert counting.asked == [0]
        store.append(session, [measured(0.5, tile=3)])
        known = watch.snapshot()
    assert counting.asked == [0, 2]
    assert known.runs[0].trials == 3
    assert known.runs[0].best_seconds == 0.5


def test_records_that_appear_late_below_others_are_counted(path: Path) -> None:
    now = 0.0
    with open_store(path) as store, open_overview(path) as overview:
        watch = Watch(_Counting(overview, in_order=False), clock=lambda: now)
        session = begin(store)
        store.append(session, [measured(1.0, tile=number) for number in range(4)])
        assert watch.snapshot().trials == 4
        store.append(session, [measured(1.0, tile=number) for number in range(4, 8)])
        store._database.write(lambda it: it.exec_driver_sql("UPDATE records SET id=99 WHERE id=8"))
        assert watch.snapshot().trials == 8
        # As if a transaction with a lower id had ended only now.
        store._database.write(lambda it: it.exec_driver_sql("UPDATE records SET id=50 WHERE id=7"))
        store.append(session, [measured(1.0, tile=9)])
        assert watch.snapshot().trials == 9
        now = 1000.0
        store.append(session, [measured(1.0, tile=10)])
        assert watch.snapshot().trials == 10


def test_progress_is_told_to_the_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunesmith.dashboard.watch._IDS_AT_A_TIME", 50)
    write_store(path)
    told: list[tuple[int, int]] = []
    with open_overview(path) as overview:
        known = Watch(overview).snapshot(lambda done, total: told.append((done, total)))
    assert told == [(50, 120), (100, 120), (120, 120)]
    assert known.trials == 120


def test_a_run_lives_until_it_ends_or_falls_silent(path: Path) -> None:
    with open_store(path) as store, open_overview(path) as overview:
        watch = Watch(overview)
        session = begin(store)
        store.append(session, [measured(None, tile=1)])
        (run,) = watch.snapshot().runs
        assert run.outcomes == {Outcome.RUNTIME_DEVICE: 1}
        assert run.is_live(run.heard + timedelta(seconds=1))
        assert not run.is_live(run.heard + timedelta(hours=1))
        store.finish_session(session, stopped="trials")
        (run,) = watch.snapshot().runs
        assert not run.is_live(run.heard)


def test_machines_are_kept_apart(path: Path) -> None:
    with open_store(path) as store, open_overview(path) as overview:
        store.append(begin(store), [measured(1.0, tile=1)])
        other = store.begin_session(
            TASK, tuner="auto", seed=0, machine={**MACHINE, "fingerprint": "m2"}
        )
        store.append(other, [measured(0.5, tile=1)])
        watch = Watch(overview)
        known = watch.snapshot()
        bests = {task.machine: watch.best(task) for task in known.tasks}
        assert known.task(TASK, "m2") == known.tasks[1]
        assert known.task(TASK, None) == known.tasks[0]
        assert known.task("another", None) is None
    seconds = {name: it and it.measurement.seconds for name, it in bests.items()}
    assert seconds == {"m1": 1.0, "m2": 0.5}


def test_runs_that_edit_programs_are_followed(path: Path) -> None:
    now = datetime.now(UTC)
    valid = StoredEvaluation("ab", [], Outcome.NO_ERROR, 0.7, 1e-6, 0.0, "", now)
    with open_store(path) as store, open_overview(path) as overview:
        watch = Watch(overview)
        session = begin(store, "evolve:saxpy")
        counts = []
        for _ in range(2):
            store.add_evaluations(session, [valid, valid, replace(valid, ratio=math.inf)])
            (run,) = watch.snapshot().runs
            assert run.evaluated is not None
            counts.append(run.evaluated.count)
        assert run.is_live(now + timedelta(seconds=1))
    assert counts == [3, 6]
    assert run.trials == 0


def test_runs_that_appear_late_below_others_are_shown(path: Path) -> None:
    """As of a transaction with lower ids that ended only now."""
    last = "(SELECT max(id) FROM sessions)"
    with open_store(path) as store, open_overview(path) as overview:
        watch = Watch(_Counting(overview, in_order=False))
        begin(store), begin(store)
        store._database.write(
            lambda it: it.exec_driver_sql(f"UPDATE sessions SET id=90 WHERE id={last}")
        )
        assert len(watch.snapshot().runs) == 2
        begin(store)
        store._database.write(
            lambda it: it.exec_driver_sql(f"UPDATE sessions SET id=50 WHERE id={last}")
        )
        assert len(watch.snapshot().runs) == 3
