"""Texts of recorded programs, which a process of its own makes."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.samples import measured
from tunesmith.dashboard import programs
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.task.program_text import program_text
from tunesmith.operators import matmul
from tunesmith.store import Record, Session
from tunesmith.target import Target
from tunesmith.task import Task

PROBLEM = TaskProblem.of(Task(matmul(m=16, n=16, k=16)))


@pytest.fixture
def record() -> Record:
    session = Session(
        uid="1",
        task_key=PROBLEM.key,
        description=PROBLEM.describe(),
        sketch=PROBLEM.sketch.name,
        sketch_version=PROBLEM.sketch.version,
        target=PROBLEM.task.target.to_json(),
        machine={"fingerprint": "m1"},
        versions={},
        tuner="random",
        tuner_settings={},
        seed=0,
        budget={},
        started=datetime.now(UTC),
    )
    return Record(session, measured(1e-5, PROBLEM.default), datetime.now(UTC))


def _changed(record: Record, **changes: Any) -> Record:
    return replace(record, session=replace(record.session, **changes))


def test_the_text_is_that_of_the_command_line(record: Record) -> None:
    found = programs.text_of(record, "tvmscript")
    assert found == program_text(PROBLEM, PROBLEM.default, "tvmscript")


def test_a_program_of_a_device_elsewhere_is_for_its_platform(record: Record) -> None:
    board = Target("cpu", "cortex-a72", 4, triple="aarch64-linux-gnu")
    problem = TaskProblem.of(Task(PROBLEM.task.operator, board))
    elsewhere = _changed(
        record,
        task_key=problem.key,
        sketch=problem.sketch.name,
        sketch_version=problem.sketch.version,
        target=board.to_json(),
    )
    measurement = measured(1e-5, problem.default)
    found = programs.text_of(replace(elsewhere, measurement=measurement), "asm")
    assert found == program_text(problem, problem.default, "asm")
    assert "fmla" in found  # an instruction of AArch64's


def test_forms(record: Record) -> None:
    assert programs.forms_of(record) == ["tvmscript", "asm", "llvm"]
    assert programs.forms_of(_changed(record, target={"kind": "cuda"})) == ["tvmscript", "cuda"]
    assert programs.forms_of(_changed(record, description={})) == []
    assert programs.forms_of(_changed(record, sketch="")) == []
    for form in ("cuda", "", "../../etc/passwd"):
        with pytest.raises(UsageError, match="no program that can be shown in this form"):
            programs.text_of(record, form)


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"sketch": "<script>"}, "unknown sketch '<script>'"),
        ({"description": {"operator": {"operator": "?", "options": {}}}}, "unknown operator '?'"),
        ({"description": {"operator": "text"}}, "an operator in JSON is .*, not 'text'$"),
        ({"target": {"kind": "llvm", "mcpu": "no such"}}, "unknown processor 'no such'"),
    ],
)
def test_a_record_that_makes_no_sense_is_one_line(
    changes: dict[str, Any], answer: str, record: Record
) -> None:
    with pytest.raises(TunesmithError, match=answer.replace("?", r"\?")) as raised:
        programs.text_of(_changed(record, **changes), "tvmscript")
    assert "\n" not in str(raised.value)
    assert "Traceback" not in str(raised.value)


def test_a_program_of_another_version_is_not_shown_as_this_one(record: Record) -> None:
    old = _changed(record, sketch_version=record.sketch_version + 1)
    with pytest.raises(TunesmithError, match=r"measured with version \d+ of .*programs are others"):
        programs.text_of(old, "tvmscript")


def test_a_config_that_is_none_is_one_line(record: Record) -> None:
    strange = replace(record, measurement=measured(1.0, tile=1))
    with pytest.raises(TunesmithError, match="'tile', which is not a parameter of the space"):
        programs.text_of(strange, "tvmscript")


def test_a_process_that_dies_or_hangs_is_told(
    record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(TunesmithError, match="could not be built: exit status 1"):
        programs.text_of(record, "tvmscript")
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(programs, "_SECONDS", 0.2)
    with pytest.raises(TunesmithError, match="not built within 0 s"):
        programs.text_of(record, "tvmscript")


def test_only_one_is_built_at_a_time(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_PATIENCE", 0.01)
    with programs._one, pytest.raises(TunesmithError, match="another program is being built"):
        programs.text_of(record, "tvmscript")
    assert "prim_func" in programs.text_of(record, "tvmscript")
