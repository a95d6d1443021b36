"""Which runs a page is about, and what it says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tunesmith.budget import Stop
from tunesmith.cli import tune
from tunesmith.cli.output import command_line
from tunesmith.cli.pages import report_page
from tunesmith.cli.pages.report_page import write_run_report, write_task_report
from tunesmith.errors import UsageError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.reports import MeasuredConfig, RunReport
from tunesmith.store import Session, Store, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.result import Found, Result

PROBLEM = TaskProblem.of(Task(matmul(m=8, n=8, k=8), Target(cores=1)))
CONFIGS = [PROBLEM.default, *(c for c in PROBLEM.space.enumerate() if c != PROBLEM.default)][:6]
PAGE = Path("report.html")


def trial(number: int, seconds: float) -> Measurement:
    measured = Measurement(CONFIGS[number], Outcome.NO_ERROR, (seconds,))
    return replace(measured, sketch=PROBLEM.sketch.name)


def begin(store: Store, machine: Mapping[str, Any] | None = None) -> Session:
    return store.begin_session(
        PROBLEM.key,
        machine=machine,
        tuner="genetic",
        seed=0,
        sketch=PROBLEM.sketch.name,
        sketch_version=PROBLEM.sketch.version,
        description={**PROBLEM.describe(), "default": PROBLEM.default.to_json()},
        target={"kind": "llvm", "cl-opt": ["-a", "-b"]},
        tuner_settings={"population": 5, "elite": None},
        budget={"trials": 3, "seconds": None},
    )


def finish(store: Store, session: Session, stop: Stop = Stop.TRIALS) -> None:
    split = {"search": 0.5, "build": 1.0, "run": 2.0, "idle": 0.5}
    store.finish_session(session, stopped=stop.value, time_split=split)


def result(session: Session, best: Measurement, default: Measurement, trials: int) -> Result:
    return Result(
        problem=PROBLEM,
        best=Found(PROBLEM, best),
        default=Found(PROBLEM, default),
        trials=trials,
        outcomes={Outcome.NO_ERROR: trials},
        time={},
        stopped=Stop.TRIALS,
        session=session,
    )


@pytest.fixture
def opened() -> Iterator[Store]:
    with open_store("sqlite://") as made:
        yield made


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[RunReport]:
    """The reports that were to be written."""
    reports: list[RunReport] = []
    monkeypatch.setattr(report_page, "write_report", lambda report, path: reports.append(report))
    return reports


def speeds(report: RunReport) -> list[float | None]:
    return [point.seconds for point in report.trials]


def test_a_fresh_run_shows_itself_alone(opened: Store, written: list[RunReport]) -> None:
    old = begin(opened)
    opened.append(old, [trial(0, 4.0), trial(1, 1.0)])
    finish(opened, old)
    new = begin(opened)
    opened.append(new, [trial(0, 5.0), trial(2, 3.0)])
    finish(opened, new)
    told = result(new, trial(2, 2.9), trial(0, 5.1), 2)
    write_run_report(opened, told, PAGE, resumed=False, peers={"PyTorch": 2.0}, command="again")
    (page,) = written
    assert speeds(page) == [5.0, 3.0]
    assert page.best == MeasuredConfig(2.9, dict(CONFIGS[2]), PROBLEM.sketch.name)
    assert page.default == MeasuredConfig(5.1, dict(CONFIGS[0]), PROBLEM.sketch.name)
    assert (page.peers, page.command) == ({"PyTorch": 2.0}, "again")
    assert page.started == new.started
    assert sum(page.time.values()) == 4.0
    assert page.program


def test_a_run_on_a_device_shows_what_was_measured_on_its_kind(
    opened: Store, written: list[RunReport]
) -> None:
    here = begin(opened)
    opened.append(here, [trial(0, 9.0)])
    board = {"fingerprint": "board", "cpu": "a board", "cores": 4}
    for number in range(2):
        run = begin(opened, machine=board)
        opened.append(run, [trial(number, 4.0 - number)])
        finish(opened, run)
    told = result(run, trial(1, 3.0), trial(0, 4.0), 2)
    write_run_report(opened, told, PAGE, resumed=True, peers={}, command="")
    (page,) = written
    assert speeds(page) == [4.0, 3.0]
    assert page.machine == "a board, 4 cores"


def test_a_resumed_run_shows_what_it_continued(opened: Store, written: list[RunReport]) -> None:
    old, other = begin(opened), begin(opened)
    opened.append(old, [trial(0, 4.0), trial(1, 1.0)])
    finish(opened, old)
    new = begin(opened)
    opened.append(new, [trial(2, 3.0)])
    opened.append(other, [trial(3, 0.1)])  # at the same time: the run did not know of it
    finish(opened, new)
    later = begin(opened)
    opened.append(later, [trial(4, 0.2)])
    told = result(new, trial(1, 1.1), trial(0, 4.0), 3)
    write_run_report(opened, told, PAGE, resumed=True, peers={}, command="")
    (page,) = written
    assert speeds(page) == [4.0, 1.0, 3.0]
    assert len(page.trials) == told.trials
    assert page.best == MeasuredConfig(1.1, dict(CONFIGS[1]), PROBLEM.sketch.name)
    assert page.started == old.started
    assert sum(page.time.values()) == 8.0


def test_the_page_of_a_task_shows_all_runs(opened: Store, written: list[RunReport]) -> None:
    with pytest.raises(UsageError, match="nothing is recorded"):
        write_task_report(opened, [PROBLEM], PAGE)
    for number in range(3):
        session = begin(opened)
        opened.append(session, [trial(number, 3.0 - number)])
    finish(opened, session, Stop.PATIENCE)
    write_task_report(opened, [PROBLEM], PAGE)
    (page,) = written
    assert speeds(page) == [3.0, 2.0, 1.0]
    assert page.best == MeasuredConfig(1.0, dict(CONFIGS[2]), PROBLEM.sketch.name)
    assert page.default == MeasuredConfig(3.0, dict(CONFIGS[0]), PROBLEM.sketch.name)
    assert page.command == ""


def test_texts_are_for_people(opened: Store, written: list[RunReport]) -> None:
    session = begin(opened)
    opened.append(session, [trial(0, 1.0)])
    write_task_report(opened, [PROBLEM], PAGE)
    finish(opened, session, Stop.PATIENCE)
    write_task_report(opened, [PROBLEM], PAGE)
    opened.finish_session(session, stopped="of a later version")
    write_task_report(opened, [PROBLEM], PAGE)
    page = written[-1]
    assert page.target == "cl-opt = (-a, -b), kind = llvm"
    assert page.tuner == "genetic: population = 5"
    assert page.budget == "trials = 3"
    stopped = ["not finished", Stop.PATIENCE.meaning, "of a later version"]
    assert [page.stopped for page in written] == stopped


@pytest.mark.parametrize("interrupted", [False, True])
def test_ctrl_c_in_the_comparison_costs_the_comparison_alone(
    interrupted: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def compare(found: Result, say: object) -> dict[str, float]:
        asked.append(found)
        raise KeyboardInterrupt

    monkeypatch.setattr("tunesmith.bench.against_torch.compare_with_peers", compare)
    with open_store("sqlite://") as store:
        told = result(begin(store), trial(1, 1.0), trial(0, 2.0), 2)
    if interrupted:
        object.__setattr__(told, "stopped", Stop.INTERRUPTED)
    assert tune._compare(told) == {}
    assert len(asked) == (0 if interrupted else 1)
    assert capfd.readouterr().err == "interrupted, so the best is not compared with others\n"


def test_the_command_is_quoted_and_keeps_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    location = f"sqlite:///{tmp_path}/records.db?password=secret"
    words = ["tune", "matmul", "--m", "8", f"--store={location}", "--report", "my page.html"]
    monkeypatch.setattr("sys.argv", ["/usr/bin/tunesmith", *words])
    with open_store(tmp_path / "records.db") as store:
        name = store.name
    assert command_line().startswith("tunesmith tune matmul --m 8 '--store=sqlite")
    assert command_line(location, name) == (
        f"tunesmith tune matmul --m 8 --store={name} --report 'my page.html'"
    )


@pytest.mark.slow
def test_the_page_agrees_with_the_table(
    command: Command, store: Path, tmp_path: Path, written: list[RunReport]
) -> None:
    words = ["tune", "matmul", "--m", "8", "--n", "8", "--k", "8", "--tuner", "random"]
    words += ["--repeats", "1", "--min-repeat-ms", "1", "--cores", "1", "--store", str(store)]
    words += ["--json", "--report", str(tmp_path / "a page.html")]
    told = [
        command(*words, "--trials", "4").json,
        command(*words, "--trials", "3", "--fresh").json,
        command(*words, "--trials", "9").json,
    ]
    assert [len(page.trials) for page in written] == [4, 3, 9]
    for page, printed in zip(written, told, strict=True):
        assert page.best is not None and page.default is not None
        assert page.best.seconds == printed["best"]["seconds"]
        assert page.default.seconds == printed["default"]["seconds"]
        assert page.command.startswith("tunesmith tune matmul --m 8 ")
        assert "'" in page.command and "--repeats 1" in page.command
