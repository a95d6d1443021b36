"""What any store must do. Inherit `StoreConformance` and give it a fixture ``location``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tunesmith.errors import UsageError
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import ANY_MACHINE, Record, Session, Store, open_store, rescue, this_machine

_OTHER_MACHINE = {"fingerprint": "0123456789abcdef", "cpu": "another"}


def trial(
    number: int, *seconds: float, outcome: Outcome = Outcome.NO_ERROR, sketch: str = "tiles"
) -> Measurement:
    """A trial of config ``number``, valid if it is given the seconds of its repeats."""
    config = Config({"tile": (number, 2), "order": ("i", "j"), "unroll": number % 2 == 0})
    message = "" if seconds else outcome.meaning
    return Measurement(
        config, outcome, seconds, 0.25, 0.5, message, f"hash-{number}", sketch=sketch
    )


def failed(number: int) -> Measurement:
    """A trial of config ``number`` that crashed."""
    return trial(number, outcome=Outcome.RUNTIME_DEVICE)


def begin(store: Store, task: str = "matmul", sketch: str = "tiles", version: int = 1) -> Session:
    """A session with every field set."""
    return store.begin_session(
        task,
        tuner="genetic",
        seed=2**80,
        description={"operator": {"name": "matmul", "shape": [64, 64]}},
        sketch=sketch,
        sketch_version=version,
        target={"kind": "llvm"},
        tuner_settings={"population": 100},
        budget={"trials": 1000, "seconds": 60.0},
        versions={"numpy": "2.0"},
    )


class StoreConformance:
    """Inherit this, and add a fixture ``location``: the path or URL of a store that is not there.

    Each test gets a new one.
    """

    @pytest.fixture
    def store(self, location: str | Path) -> Iterator[Store]:
        with open_store(location) as store:
            yield store

    def test_record_round_trip(self, store: Store) -> None:
        session = begin(store)
        kept = [trial(1, 1.1, 1.3, 1.2), failed(2), trial(3, 1e-9, 0.1 + 0.2)]
        store.append(session, kept)
        records = list(store.records("matmul"))
        assert [record.measurement for record in records] == kept
        assert [record.session for record in records] == [session] * 3
        first = records[0]
        assert first.config == kept[0].config
        assert (first.task_key, first.sketch, first.sketch_version) == ("matmul", "tiles", 1)
        assert (first.tuner, first.seed) == ("genetic", 2**80)
        assert first.tuner_settings == {"population": 100}
        assert first.description == {"operator": {"name": "matmul", "shape": [64, 64]}}
        assert (first.target, first.versions) == ({"kind": "llvm"}, {"numpy": "2.0"})
        assert first.machine == this_machine()
        assert session.started <= first.created

    def test_values_that_databases_dislike(self, store: Store) -> None:
        odd = [
            trial(1, math.nan),
            trial(2, math.inf, 1.0, math.inf),
            trial(3),  # called valid, but without a time
            Measurement(Config({"s": "\0 ü \U0001f600"}), Outcome.UNKNOWN_ERROR),
        ]
        ugly = Measurement(Config({}), Outcome.COMPILE_HOST, message="a\0b \udcff 'c'")
        store.append(begin(store), [*odd, ugly])
        back = store.measurements("matmul", sketch="tiles", sketch_version=1)
        assert math.isnan(back[0].run_seconds[0])
        assert [it.config for it in back] == [it.config for it in [*odd, ugly]]
        assert back[1].run_seconds == (math.inf, 1.0, math.inf)
        assert back[2].run_seconds == ()
        assert back[4].message == "a\ufffdb ? 'c'"
        assert store.best("matmul") is None

    def test_what_is_stored_outlives_the_handle(self, location: str | Path) -> None:
        with open_store(location) as store:
            store.append(begin(store), [trial(1, 1.0)])
        with open_store(location) as store:
            assert store.count("matmul") == 1

    def test_append_is_all_or_nothing(self, store: Store) -> None:
        session = begin(store)
        with pytest.raises(AttributeError):
            store.append(session, [trial(1, 1.0), None])  # type: ignore[list-item]
        assert store.count("matmul") == 0
        store.append(session, [])
        store.append(session, [trial(1, 1.0)])
        assert store.count("matmul") == 1

    def test_a_task_for_another_platform_is_of_who_measured_it_last(self, store: Store) -> None:
        """This machine cannot have measured it; times of several machines are not mixed."""
        task = "matmul@cpu(mcpu=one,cores=4,triple=another-linux-gnu)"
        assert store.best(task) is None
        for number, board in ((1, "a board"), (2, "another board")):
            machine = {"fingerprint": board}
            session = store.begin_session(task, tuner="grid", seed=0, machine=machine)
            store.append(session, [trial(number, float(number), sketch="")])
        assert _best_number(store, task=task) == 2
        assert store.count(task) == 1
        assert len(store.sessions(task)) == 1
        assert _best_number(store, task=task, machine="a board") == 1
        assert [summary.trials for summary in store.tasks()] == [0]

    def test_unknown_task_has_nothing(self, store: Store) -> None:
        assert store.best("nothing") is None
        assert store.count("nothing") == 0
        assert list(store.records("nothing")) == []
        assert store.measurements("nothing") == []
        assert store.sessions("nothing") == []

    def test_order_limit_and_session(self, store: Store) -> None:
        first, second = begin(store), begin(store)
        store.append(first, [trial(1, 1.0), trial(2, 2.0)])
        store.append(second, [trial(3, 3.0)])
        store.append(first, [trial(4, 4.0)])

        def numbers(**filters: Any) -> list[object]:
            found = store.records("matmul", **filters)
            return [record.config["tile"][0] for record in found]  # type: ignore[index]

        assert numbers() == [1, 2, 3, 4]
        assert numbers(newest_first=True, limit=2) == [4, 3]
        assert numbers(session=first) == [1, 2, 4]
        assert numbers(sketch="tiles") == [1, 2, 3, 4]
        assert numbers(sketch="other") == []
        assert numbers(play_off=True) == []

    def test_resume_set_is_of_one_sketch_version_and_machine(self, store: Store) -> None:
        session = begin(store)
        store.append(session, [trial(1, 1.0), failed(2)])
        store.confirm(session, [trial(1, 1.1)])
        store.append(begin(store, version=2), [trial(3, 1.0)])
        store.append(begin(store, sketch="other"), [trial(4, 1.0, sketch="other")])
        elsewhere = store.begin_session("matmul", tuner="grid", seed=0, machine=_OTHER_MACHINE)
        store.append(elsewhere, [trial(5, 1.0, sketch="")])
        again = store.measurements("matmul", sketch="tiles", sketch_version=1)
        assert again == [trial(1, 1.0), failed(2)]
        there = store.measurements("matmul", machine=_OTHER_MACHINE["fingerprint"])
        assert there == [trial(5, 1.0, sketch="")]

    def test_best_is_the_fastest_valid_trial(self, store: Store) -> None:
        session = begin(store)
        store.append(session, [failed(1)])
        assert store.best("matmul") is None
        store.append(session, [trial(2, 3.0), trial(3, 1.0, 9.0, 2.0), trial(4, 2.5)])
        assert _best(store).measurement == trial(3, 1.0, 9.0, 2.0)

    def test_play_off_decides_over_first_times(self, store: Store) -> None:
        session = begin(store)
        store.append(session, [trial(1, 1.00), trial(2, 1.01), trial(3, 1.02)])
        store.confirm(session, [trial(1, 1.10), trial(2, 1.05)])
        # Not the third, though its single measurement was faster than any confirmed time.
        assert _best(store).play_off
        assert _best(store).measurement == trial(2, 1.05)
        assert store.count("matmul") == 3
        assert len(list(store.records("matmul", play_off=True))) == 2

    def test_newcomer_wins_until_it_is_in_a_play_off(self, store: Store) -> None:
        old = begin(store)
        store.append(old, [trial(1, 1.0)])
        store.confirm(old, [trial(1, 1.1)])
        new = begin(store)
        store.append(new, [trial(2, 1.05)])
        assert _best_number(store) == 1
        store.append(new, [trial(3, 0.9)])
        assert _best_number(store) == 3
        store.confirm(new, [trial(3, 1.2), trial(2, 1.15)])
        assert _best_number(store) == 1

    def test_newest_play_off_of_a_config_counts(self, store: Store) -> None:
        session = begin(store)
        store.append(session, [trial(1, 1.0), trial(2, 1.2)])
        store.confirm(session, [trial(1, 1.0), trial(2, 1.5)])
        store.confirm(session, [trial(1, 2.0)])
        assert _best(store).measurement == trial(2, 1.5)

    def test_failure_in_a_play_off_disqualifies(self, store: Store) -> None:
        session = begin(store)
        store.append(session, [trial(1, 1.0), trial(2, 2.0), trial(3, 3.0)])
        store.confirm(session, [failed(1)])
        assert _best_number(store) == 2
        store.confirm(session, [trial(1, 0.5), trial(2, 2.2), trial(3, 2.1)])
        assert _best_number(store) == 3

    def test_best_by_sketch_version_and_machine(self, store: Store) -> None:
        store.append(begin(store), [trial(1, 3.0)])
        store.append(begin(store, version=2), [trial(2, 2.0)])
        elsewhere = store.begin_session("matmul", tuner="grid", seed=0, machine=_OTHER_MACHINE)
        store.append(elsewhere, [trial(5, 1.0, sketch="")])
        store.append(begin(store, task="conv"), [trial(6, 0.1)])
        assert _best_number(store) == 2
        assert _best_number(store, sketch="tiles", sketch_version=1) == 1
        assert _best_number(store, machine=_OTHER_MACHINE["fingerprint"]) == 5
        assert _best_number(store, machine=ANY_MACHINE) == 5
        assert store.count("matmul") == 2
        assert store.count("matmul", machine=ANY_MACHINE) == 3

    def test_sketches_of_one_run(self, store: Store) -> None:
        tiles = begin(store)
        rows = tiles.by("rows", 3)
        store.add([tiles.record(trial(1, 2.0)), rows.record(trial(1, 1.0))])
        store.add([rows.record(trial(2, 3.0))])
        stored = [(it.sketch, it.sketch_version, it.config) for it in store.records("matmul")]
        one, two = trial(1, 1.0).config, trial(2, 1.0).config
        assert stored == [("tiles", 1, one), ("rows", 3, one), ("rows", 3, two)]
        assert store.measurements("matmul", sketch="tiles", sketch_version=1) == [trial(1, 2.0)]
        assert sorted(store.sketches("matmul")) == [("rows", 3), ("tiles", 1)]
        (run,) = store.runs("matmul")
        assert run.session == tiles
        assert (run.trials, run.best_seconds, run.best_sketch) == (3, 1.0, "rows")
        assert run.sketches == {"tiles": 1, "rows": 2}

    def test_sketches_share_a_play_off(self, store: Store) -> None:
        tiles = begin(store)
        rows = tiles.by("rows", 3)
        store.add([tiles.record(trial(1, 1.0)), rows.record(trial(1, 1.1))])
        assert _best(store).sketch == "tiles"
        store.confirm(tiles, [trial(1, 1.2)])
        best = _best(store)
        assert (best.sketch, best.play_off) == ("tiles", True), "not the trial that was not in it"
        for among, winner in (([("rows", 3)], 1.1), ([("rows", 3), ("tiles", 1)], 1.2)):
            assert _best(store, among=among).measurement.seconds == winner
        assert store.best("matmul", among=[]) is None

    def test_session_life(self, store: Store) -> None:
        session = begin(store)
        assert store.sessions("matmul") == [session]
        split = {"search": 1.0, "build": 2.0, "run": 3.0, "idle": 0.25}
        store.finish_session(session, stopped="budget spent", time_split=split)
        (ended,) = store.sessions("matmul")
        assert (ended.stopped, ended.time_split) == ("budget spent", split)
        assert ended.finished is not None and ended.finished >= session.started
        assert ended.uid == session.uid

    def test_runs_are_listed_with_their_own_best(self, store: Store) -> None:
        played, plain, failing, idle = (begin(store) for _ in range(4))
        store.append(played, [trial(1, 1.0), trial(2, 1.1), failed(3)])
        store.confirm(played, [trial(1, 1.3), trial(2, 1.2)])
        store.append(plain, [trial(4, 3.0), trial(5, 2.0)])
        store.append(failing, [failed(6)])
        runs = store.runs("matmul")
        assert [run.session for run in runs] == [played, plain, failing, idle]
        assert [run.trials for run in runs] == [3, 2, 1, 0]
        assert [run.best_seconds for run in runs] == [1.2, 2.0, None, None]

    def test_tasks_are_listed(self, store: Store) -> None:
        assert store.tasks() == []
        session = begin(store)
        store.append(session, [trial(1, 2.0), trial(2, 1.0), failed(3)])
        store.confirm(session, [trial(2, 1.5)])
        begin(store, task="conv")
        matmul, conv = store.tasks()
        assert (matmul.key, matmul.trials, matmul.best_seconds) == ("matmul", 3, 1.5)
        assert matmul.description == session.description
        assert matmul.last is not None and matmul.last >= session.started
        assert (conv.key, conv.trials, conv.best_seconds, conv.last) == ("conv", 0, None, None)

    def test_reading_while_writing(self, store: Store) -> None:
        session = begin(store)
        store.append(session, [trial(number, 1.0) for number in range(5)])
        seen = 0
        for record in store.records("matmul"):
            store.append(session, [trial(100 + seen, record.measurement.seconds)])
            seen += 1
        assert seen == 5
        assert store.count("matmul") == 10

    def test_rescued_records_come_back_once(self, store: Store, tmp_path: Path) -> None:
        session = begin(store)
        store.append(session, [trial(1, 1.0)])
        unsaved = [session.record(it) for it in (trial(1, 1.0), trial(2, 2.0), failed(3))]
        path = rescue([*unsaved, session.record(trial(2, 2.5), play_off=True)], tmp_path)
        assert store.import_rescued(path) == 3
        assert store.import_rescued(path) == 0
        resumed = store.measurements("matmul", sketch="tiles", sketch_version=1)
        assert resumed == [trial(1, 1.0), trial(2, 2.0), failed(3)]
        assert _best_number(store) == 1
        assert [it.session.uid for it in store.records("matmul", limit=1)] == [session.uid]

    def test_merge_takes_records_of_sessions_unknown_here(
        self, store: Store, tmp_path: Path
    ) -> None:
        with open_store(tmp_path / "other.db") as other:
            source = begin(other)
            other.append(source, [trial(1, 1.0), trial(2, 2.0)])
            assert store.merge(other.records("matmul")) == 2
            assert store.merge(other.records("matmul")) == 0
        assert [it.session for it in store.records("matmul")] == [source, source]

    def test_what_is_not_json_is_refused(self, store: Store) -> None:
        with pytest.raises(UsageError, match="settings of a session cannot be written as JSON"):
            store.begin_session("t", tuner="x", seed=0, tuner_settings={"a": object()})
        with pytest.raises(UsageError, match="no fingerprint"):
            store.begin_session("t", tuner="x", seed=0, machine={})
        assert store.tasks() == []


def _best(store: Store, task: str = "matmul", **filters: Any) -> Record:
    best = store.best(task, **filters)
    assert best is not None
    return best


def _best_number(store: Store, **filters: Any) -> object:
    return _best(store, **filters).config["tile"][0]  # type: ignore[index]
