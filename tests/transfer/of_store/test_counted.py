"""Trials of a store that a model leaves out: they do not count, and it is told whose they are."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.transfer.made_up import SIZES, TARGET, add_trials, task
from tests.transfer.of_store.filled import HERE, OTHER, fill, scope_of
from tunesmith.store import ANY_MACHINE, Store, open_store
from tunesmith.target import Target
from tunesmith.transfer.model import TooFewTrialsError
from tunesmith.transfer.of_store import Scope, model_for, train
from tunesmith.transfer.of_store.counted import elsewhere, trials_of
from tunesmith.transfer.shipped import shipped_model

pytest.importorskip("xgboost", reason="XGBoost is not installed")


def test_trials_by_whose_they_are(store: Store) -> None:
    add_trials(store, 64, 30)
    add_trials(store, 96, 20)
    add_trials(store, 64, 50, target=OTHER)
    key = task(64).key
    assert (trials_of(store, HERE), trials_of(store, HERE, key)) == (50, 20)
    others = elsewhere(store, HERE, 50)
    assert (others.count, str(others)) == (50, "50 for cpu-haswell")
    assert elsewhere(store, Scope(None), 100).count == 0


def test_trials_of_another_target_do_not_count_and_that_is_told(store: Store) -> None:
    fill(store, OTHER)
    lines: list[str] = []
    assert model_for(store, TARGET, tell=lines.append) is shipped_model(TARGET)
    [line] = lines
    assert "nothing is learned" in line
    assert "600 for cpu-haswell, and too few for cpu-znver4 here" in line
    advice = "600 for cpu-haswell: with '--target all' a model learns from them$"
    with pytest.raises(TooFewTrialsError, match=f"no trials for cpu-znver4.*, but {advice}"):
        train(store, HERE)
    add_trials(store, 64, 20)
    with pytest.raises(TooFewTrialsError, match=f"tune more; the trials of .* are {advice}"):
        train(store, HERE)


def test_trials_of_another_machine_do_not_count_and_that_is_told(store: Store) -> None:
    fill(store, Target(cores=2), machine={"fingerprint": "another machine"})
    lines: list[str] = []
    model_for(store, Target(cores=2), tell=lines.append)
    [line] = lines
    assert re.search(r"600 for (cpu-\S+) on other machines, and too few for \1 here", line)


def test_trials_of_which_no_model_learns_are_not_worth_a_line(store: Store) -> None:
    """Such as those of an imported log: there is no sketch of that name."""
    fill(store, OTHER)
    imported = [
        replace(record, session=replace(record.session, uid="imported", sketch="autotvm:dense"))
        for summary in store.tasks(machine=ANY_MACHINE)
        for record in store.records(summary.key, machine=ANY_MACHINE)
    ]
    with open_store("sqlite://") as only_imported:
        assert only_imported.merge(imported) == len(imported) >= 500
        assert elsewhere(only_imported, HERE, 0).count == 0
        lines: list[str] = []
        model_for(only_imported, TARGET, tell=lines.append)
    assert lines == []


def test_what_another_target_taught_once_is_used_without_a_word(store: Store) -> None:
    fill(store, OTHER)
    train(store, Scope(None))
    lines: list[str] = []
    assert scope_of(model_for(store, TARGET, tell=lines.append)) == "all"
    assert lines == []


def test_few_trials_of_another_target_are_not_worth_a_line(store: Store) -> None:
    for size in SIZES[:4]:
        add_trials(store, size, target=OTHER)
    add_trials(store, 64, 64)  # 544 in all
    lines: list[str] = []
    model_for(store, TARGET, tell=lines.append)
    assert lines == []
