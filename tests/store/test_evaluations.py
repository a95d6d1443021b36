"""Evaluations of programs with edits, in both kinds of database."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tunesmith.errors import StoreError
from tunesmith.measurement import Outcome
from tunesmith.store import ANY_MACHINE, StoredEvaluation, open_store
from tunesmith.testing.store import begin

NOW = datetime(2026, 11, 24, 12, 30, 15, 250, tzinfo=UTC)
VALID = StoredEvaluation(
    "ab12", [{"kind": "delete", "target": "i3"}], Outcome.NO_ERROR, 0.7, 1.5e-6, 0.0, "", NOW
)
FAILED = StoredEvaluation(
    "cd34", [], Outcome.RUNTIME_DEVICE, math.inf, math.inf, math.inf, "killed\0 by SIGSEGV", NOW
)


def test_they_come_back_as_they_were_in_their_order(location: str) -> None:
    with open_store(location) as store:
        session = begin(store, "evolve:saxpy")
        store.add_evaluations(session, [VALID, FAILED])
        store.add_evaluations(session, [])
        store.add_evaluations(begin(store, "evolve:stencil"), [FAILED])
        first, second = store.evaluations("evolve:saxpy")
        assert first == VALID
        assert second.message == "killed\ufffd by SIGSEGV"
        assert second.ratio == second.error == math.inf
        assert second.outcome is Outcome.RUNTIME_DEVICE
        assert len(store.evaluations("evolve:stencil")) == 1
        assert store.evaluations("evolve:histogram") == []
        assert store.count("evolve:saxpy") == 0, "they are no trials"


def test_those_of_other_machines_are_left_out(location: str) -> None:
    with open_store(location) as store:
        store.add_evaluations(begin(store, "evolve:saxpy"), [VALID])
        assert store.evaluations("evolve:saxpy", machine="another") == []
        assert store.evaluations("evolve:saxpy", machine=ANY_MACHINE) == [VALID]


def test_all_or_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path / "records.db") as store:
        session = begin(store, "evolve:saxpy")
        broken = StoredEvaluation("ef", [], Outcome.NO_ERROR, 1, 1, 0, None, NOW)  # type: ignore[arg-type]
        with pytest.raises((StoreError, AttributeError)):
            store.add_evaluations(session, [VALID, broken])
        assert store.evaluations("evolve:saxpy") == []
