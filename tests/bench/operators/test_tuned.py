"""How long earlier runs lasted, whose trials count in a row."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tunesmith.bench.operators.tuned import lasted
from tunesmith.store import open_store
from tunesmith.testing.store import begin, trial


def test_a_killed_run_lasted_to_its_last_trial(tmp_path: Path) -> None:
    with open_store(tmp_path / "tuning.db") as store:
        session = begin(store)
        assert lasted(session, store) == 0.0, "it had no trial"
        store.append(session, [trial(1, 1.0)])
        store.append(session, [trial(2, 1.0)])
        last = list(store.records("matmul"))[-1]
        early = replace(session, started=last.created - timedelta(seconds=30))
        assert lasted(early, store) == 30.0
        ended = replace(session, finished=session.started + timedelta(seconds=5))
        assert lasted(ended, store) == 5.0
