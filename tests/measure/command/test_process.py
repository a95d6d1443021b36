"""What a command may not do to us: hang, flood, take memory, stay behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from tests.measure.command.commands import NUMBER, ONE, SHORT, measure, measurer_of, python
from tests.patience import PATIENCE
from tunesmith.measure.command.process import OUTPUT_LIMIT
from tunesmith.measurement import Outcome
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config
from tunesmith.testing.trials import candidates

# Commands have tenths of a second to start.
pytestmark = pytest.mark.alone

T = TypeVar("T")


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_for(condition: Callable[[], T], seconds: float) -> T:
    """What the condition gives once it is true of it, within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def test_a_build_that_hangs(tmp_path: Path) -> None:
    measurement = measure(tmp_path, "true && sleep 60 && true", settings=SHORT)
    assert measurement.outcome is Outcome.BUILD_TIMEOUT
    assert measurement.message == "the build took longer than 0.3 s"
    assert 0.3 <= measurement.build_time < 30.0
    assert measurement.run_time == 0.0


def test_build_stages_share_their_time(tmp_path: Path) -> None:
    measurement = measure(tmp_path, "sleep 0.2 && sleep 0.2 && true", settings=SHORT)
    assert measurement.outcome is Outcome.BUILD_TIMEOUT


def test_a_run_that_hangs(tmp_path: Path) -> None:
    settings = replace(SHORT, build_timeout=PATIENCE)
    measurement = measure(tmp_path, "true && sleep 60", settings=settings)
    assert measurement.outcome is Outcome.RUN_TIMEOUT
    assert measurement.message == "the run took longer than 0.3 s"
    assert 0.3 <= measurement.run_time < 30.0


def test_a_command_that_reads_its_input_finds_none(tmp_path: Path) -> None:
    assert measure(tmp_path, "cat").valid


def test_endless_output_is_dropped_and_cut_short(tmp_path: Path) -> None:
    assert measure(tmp_path, "yes", settings=SHORT).outcome is Outcome.RUN_TIMEOUT


def test_of_much_output_the_end_is_kept(tmp_path: Path) -> None:
    program = "print('cost 1'); [print('x' * 99) for _ in range(60_000)]; print('cost 2')"
    lengths: list[int] = []

    def parse(text: str) -> float:
        lengths.append(len(text))
        return float(text.rpartition("cost ")[2])

    assert measure(tmp_path, python(program), parse=parse).run_seconds == (2.0,)
    assert lengths == [OUTPUT_LIMIT]


SPAWN = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "60"], start_new_session={new})
with open("pid", "w") as file:
    print(child.pid, file=file)
{then}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("new_session", [False, True])
@pytest.mark.parametrize("then", ["time.sleep(60)", "sys.exit(0)", "os.kill(os.getpid(), 9)"])
def test_what_a_command_started_dies_with_it(tmp_path: Path, then: str, new_session: bool) -> None:
    program = SPAWN.format(new=new_session, then=then)
    settings = MeasureSettings(run_timeout=1.5, repeats=1)
    measure(tmp_path, python(program), settings=settings)
    assert not is_running(int((tmp_path / "pid").read_text()))


TUNING = """
import os, sys, time
from tunesmith.measure.command.measurer import CommandProblem
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config, Ordinal, Space
from tunesmith.testing.trials import candidates

trial = 'sh -c "echo $$ > pids; sleep {n} & echo $! >> pids; mv pids ready{n}; wait"'
problem = CommandProblem(Space([Ordinal("n", (0, 600))]), trial)
measurer = problem.measurer(MeasureSettings(run_timeout=600.0, repeats=1))
measurer.submit(candidates([Config({"n": 0}), Config({"n": 600})]))
measurer.collect(0.0)
if sys.argv[1] == "fork":
    fork = os.fork()
    if fork == 0:
        time.sleep(120.0)
        os._exit(0)
    with open("fork", "w") as file:
        print(fork, file=file)
measurer.collect(0.0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("fork", ["fork", "alone"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_commands_die_with_the_tuning_process(
    tmp_path: Path, number: signal.Signals, fork: str
) -> None:
    """Even when a fork of it lives on and keeps its connections open."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    process = subprocess.Popen(
        [sys.executable, "-c", TUNING, fork],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
    )
    try:
        pids = wait_for(lambda: running_pair(tmp_path / "ready600"), PATIENCE)
        process.send_signal(number)
        process.wait(timeout=PATIENCE)
        assert wait_for(lambda: not any(map(is_running, pids)), 60.0)
        assert fork == "alone" or is_running(int((tmp_path / "fork").read_text()))
    finally:
        process.kill()
        process.wait()
        if (tmp_path / "fork").exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int((tmp_path / "fork").read_text()), signal.SIGKILL)


def running_pair(path: Path) -> list[int]:
    """The processes of a trial that hangs: the shell and what it waits for."""
    try:
        pids = list(map(int, path.read_text().split()))
    except FileNotFoundError:
        return []
    return pids if len(pids) == 2 and all(map(is_running, pids)) else []


def test_a_measurer_goes_on_after_its_launcher_was_killed(tmp_path: Path) -> None:
    killing, harmless = (Config({"n": number, "word": "plain"}) for number in (9, 0))
    command = python("import os; os.kill(os.getppid(), {n})")
    with measurer_of(tmp_path, command) as measurer:
        measurer.submit(candidates([killing, harmless]))
        [lost], [found] = measurer.collect(0.0), measurer.collect(0.0)
    assert lost.outcome is Outcome.UNKNOWN_ERROR
    assert lost.message == "the process that starts the commands has died"
    assert found.valid


def test_no_process_is_left_after_closing(tmp_path: Path) -> None:
    measurer = measurer_of(tmp_path, python("import os; print('cost', os.getppid())"), parse=NUMBER)
    measurer.submit(candidates([ONE]))
    [measurement] = measurer.collect(0.0)
    launcher = int(measurement.seconds)
    assert launcher != os.getpid()
    measurer.close()
    measurer.close()
    assert measurer.pending == 0
    with pytest.raises(ProcessLookupError):
        os.kill(launcher, 0)


def test_more_memory_than_allowed(tmp_path: Path) -> None:
    settings = MeasureSettings(memory_limit=256 << 20, repeats=1)
    assert measure(tmp_path, python("bytearray(32 << 20)"), settings=settings).valid
    measurement = measure(tmp_path, python("bytearray(512 << 20)"), settings=settings)
    assert measurement.outcome is Outcome.RUNTIME_DEVICE
    assert measurement.message == "exit status 1: MemoryError"
