"""What was evaluated is in the store before the run ends."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.evolve.subjects import WordsSubject
from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError
from tunesmith.evolve import archive as archives
from tunesmith.evolve.archive import Archive
from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.search.individual import Program
from tunesmith.evolve.search.nsga2 import SearchSettings
from tunesmith.measurement import Outcome
from tunesmith.store import Store, open_store


def _archive(store: Store) -> Archive:
    return Archive(WordsSubject("a b c"), store, 0.0, Budget(seconds=1.0), SearchSettings())


def _note(archive: Archive, name: str) -> None:
    program = Program(name, [Evaluation(Outcome.NO_ERROR, 0.5, 1.0, 0.0)])
    archive.note((Edit("delete", name, seed=0),), program)


def test_slow_evaluations_are_stored_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_WAIT", 0.0)
    with open_store(tmp_path / "store.db") as store:
        _note(_archive(store), "1")
        (stored,) = _archive(store).individuals
    assert stored.objectives == (0.5, 0.0)
    assert [edit.target for edit in stored.edits] == ["1"]


def test_fast_ones_are_stored_many_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_WAIT", 3600.0)
    with open_store(tmp_path / "store.db") as store:
        archive = _archive(store)
        for number in range(archives._BATCH - 1):
            _note(archive, str(number))
        assert not _archive(store).individuals
        _note(archive, "last")
        assert len(_archive(store).individuals) == archives._BATCH


def test_a_store_that_fails_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_WAIT", 0.0)

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with open_store(tmp_path / "store.db") as store:
        archive = _archive(store)
        monkeypatch.setattr(store, "add_evaluations", full)
        for name in "12":
            _note(archive, name)
        assert len(archive.individuals) == 2
        assert archive.doubts == ["another run does not go on from here: the disk is full"]
        archive.close(Stop.SECONDS)


@pytest.mark.parametrize(
    ("ratio", "error", "taken"),
    [(math.inf, 0.5, True), (math.inf, 0.05, False), (0.5, 0.05, True), (0.5, math.inf, False)],
)
def test_what_was_not_timed_is_evaluated_again_where_it_is_not_too_wrong(
    tmp_path: Path, ratio: float, error: float, taken: bool
) -> None:
    with open_store(tmp_path / "store.db") as store:
        first = _archive(store)
        program = Program("a", [Evaluation(Outcome.NO_ERROR, ratio, 1.0, error)])
        first.note((Edit("delete", "1", seed=0),), program)
        first.close(Stop.SECONDS)
        settings = Budget(seconds=1.0), SearchSettings()
        again = Archive(WordsSubject("a b c"), store, 0.1, *settings)
        assert [each.digest for each in again.programs] == (["a"] if taken else [])
