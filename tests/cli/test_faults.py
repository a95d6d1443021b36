"""Runs that are killed or interrupted, stores that fill up: nothing is lost, nothing stays."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.command import (
    TUNESMITH,
    Process,
    Ran,
    assert_sound,
    configs_in,
    eventually,
    only_object,
    trials_in,
    tunesmith,
    write_spec,
)
from tests.cli.conftest import Command
from tests.patience import PATIENCE
from tunesmith.store import open_store

TASK = ["matmul", "--m", "32", "--n", "32", "--k", "32"]
QUICK = ["--tuner", "random", "--repeats", "1", "--min-repeat-ms", "1"]


# --- Ends of a run that measures kernels: the server and its trials go, too


def _kill(run: Process) -> None:
    run.process.kill()


def _terminate(run: Process) -> None:
    run.process.terminate()


def _interrupt(run: Process) -> None:
    run.interrupt()


def _interrupt_twice(run: Process) -> None:
    run.interrupt()
    time.sleep(0.1)
    run.interrupt()


ENDS: dict[str, Callable[[Process], None]] = {
    "SIGKILL": _kill,
    "SIGTERM": _terminate,
    "Ctrl-C": _interrupt,
    "Ctrl-C twice": _interrupt_twice,
}


@dataclass(frozen=True)
class Ended:
    """A run that was ended in the middle.

    ``stored`` are the trials that were in its store just before, ``commands`` what was running
    then.
    """

    store: Path
    ran: Ran
    stored: int
    commands: list[str]
    run: Process


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ended]]:
    """One run for each way to end; started together, since starting takes long."""
    folder = tmp_path_factory.mktemp("ended")
    runs = {}
    for end in ENDS:
        store = folder / f"{end}.db"
        words = ["tune", *TASK, *QUICK, "--seconds", "600", "--store", store, "--json"]
        runs[end] = store, Process.start(words)
    try:
        yield {end: _end(ENDS[end], *run) for end, run in runs.items()}
    finally:
        for _, run in runs.values():
            with run.cleaned_up():
                pass


def _end(end: Callable[[Process], None], store: Path, run: Process) -> Ended:
    eventually(lambda: trials_in(store) >= 3 or run.process.poll() is not None, "three trials")
    stored, commands = trials_in(store), run.commands()
    end(run)
    return Ended(store, run.wait(), stored, commands, run)


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(ended: dict[str, Ended], end: str) -> None:
    assert any("tunesmith.measure.local.server" in line for line in ended[end].commands)
    run = ended[end].run
    eventually(lambda: not run.family(), "all its processes have ended")


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
def test_no_trial_is_lost(ended: dict[str, Ended], end: str) -> None:
    assert trials_in(ended[end].store) >= ended[end].stored >= 3
    assert_sound(ended[end].store)


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(ended: dict[str, Ended]) -> None:
    store = ended["SIGKILL"].store
    assert ended["SIGKILL"].ran.code == -signal.SIGKILL
    before = configs_in(store)
    words = ["tune", *TASK, *QUICK, "--trials", before.total() + 3, "--store", store, "--json"]
    found = tunesmith(*words).json
    assert (found["resumed"], found["trials"]) == (before.total(), before.total() + 3)
    assert configs_in(store).total() == before.total() + 3
    assert before <= configs_in(store)
    assert_sound(store)
    runs = tunesmith("history", "--store", store, "--json").json["runs"]
    assert [(run["finished"] is None, run["stopped"]) for run in runs] == [
        (True, ""),
        (False, "trials"),
    ]


@pytest.mark.slow
def test_a_terminated_run_says_so_by_its_code(ended: dict[str, Ended]) -> None:
    ran = ended["SIGTERM"].ran
    assert (ran.code, ran.out) == (128 + signal.SIGTERM, "")
    assert "Traceback" not in ran.err


@pytest.mark.slow
def test_an_interrupted_run_prints_what_it_found(ended: dict[str, Ended]) -> None:
    ran = ended["Ctrl-C"].ran
    found = ran.json
    assert found["stopped"] == "interrupted"
    assert found["trials"] == trials_in(ended["Ctrl-C"].store)
    assert found["best"]["seconds"] > 0.0
    assert all(line.startswith(("trial ", "  time: ")) for line in ran.err.splitlines())
    (run,) = tunesmith("history", "--store", ended["Ctrl-C"].store, "--json").json["runs"]
    assert (run["stopped"], run["trials"]) == ("interrupted", found["trials"])


@pytest.mark.slow
def test_whoever_interrupts_twice_sees_no_traceback(ended: dict[str, Ended]) -> None:
    """The second Ctrl-C may come when all is said already, and even when Python is on its way out.

    A shell calls both 130: the exit code, and death by this signal.
    """
    ran = ended["Ctrl-C twice"].ran
    assert "Traceback" not in ran.err
    assert ran.code in (0, 130, -signal.SIGINT)
    if ran.code == 130:
        last = "tunesmith: interrupted; every finished trial is saved"
        assert ran.err.splitlines()[-1] == last
    else:
        assert only_object(ran.out)["stopped"] == "interrupted"


# --- Ends of a run that measures commands


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "Ctrl-C"])
def test_a_command_that_runs_ends_with_its_run(end: str, tmp_path: Path, store: Path) -> None:
    """All configs but the default sleep for ever."""
    spec = write_spec(
        tmp_path, program="import time; {n} - 4 and time.sleep(999); print(1)", size=9
    )
    process = Process.start(["tune-command", spec, "--store", store, "--json", "--seconds", 600])
    with process.cleaned_up():
        eventually(lambda: trials_in(store) == 1, "the default is stored")
        eventually(lambda: any("sleep(999)" in line for line in process.commands()), "one sleeps")
        ENDS[end](process)
        ran = process.wait()
        eventually(lambda: not process.family(), "all its processes have ended")
    assert "Traceback" not in ran.err
    assert trials_in(store) == 1
    assert_sound(store)
    if end == "Ctrl-C":
        assert (ran.json["stopped"], ran.json["trials"]) == ("interrupted", 1)


def test_an_interrupt_before_anything_was_found(tmp_path: Path, store: Path) -> None:
    spec = write_spec(tmp_path, program="import time; time.sleep(999 + {n})")
    process = Process.start(["tune-command", spec, "--store", store, "--seconds", 600])
    with process.cleaned_up():
        eventually(lambda: any("sleep(999" in line for line in process.commands()), "one sleeps")
        process.interrupt()
        ran = process.wait()
    assert ran.code == 1
    assert "0 trials (0 valid" in ran.out
    assert ran.err.splitlines()[-1].startswith("tunesmith: no valid config was found in 0 trials")


def test_nobody_reads_the_result(tmp_path: Path, store: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = ["tune-command", write_spec(tmp_path), "--store", store, "--trials", "5"]
    try:
        process = Process.start([*words, "--json"], stdout=writing)
    finally:
        os.close(writing)
    with process.cleaned_up():
        ran = process.wait()
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert all(line.startswith(("trial ", "  time: ")) for line in ran.err.splitlines())
    assert trials_in(store) == 5
    found = tunesmith(*words, "--json").json
    assert (found["resumed"], found["trials"]) == (5, 5)


# --- Stores that fill up in the middle of a run

# The command line with a limit on how far a SQLite file may grow: the same error as a full disk.
_LIMITED = """
import sys
from sqlalchemy import Engine, event
from tunesmith.cli.main import main

def limit(connection, _):
    connection.execute("PRAGMA max_page_count=32")

event.listen(Engine, "connect", limit)
main()
"""


def _check_full(ran: subprocess.CompletedProcess[str], store: Path, command: Command) -> None:
    """The run ended with its result, and what the store did not take is in a file.

    There may be none: a last try at the end needs a page less than the one before.
    """
    assert ran.returncode == 1
    found = only_object(ran.stdout)
    assert found["stopped"] == "store"
    complaint = ran.stderr.splitlines()[-1]
    assert complaint.startswith(f"tunesmith: store {store} cannot grow, its disk is full")
    assert "Traceback" not in ran.stderr
    assert_sound(store)
    if "'" not in complaint:
        assert trials_in(store) == found["trials"]
        return
    rescued = shlex.split(complaint[complaint.index("'") + 1 : complaint.rindex("'")])
    assert rescued[:2] == ["tunesmith", "import"]
    stored = trials_in(store)
    assert 0 < stored < found["trials"]
    elsewhere = store.parent.parent / "elsewhere.db"
    added = command("import", rescued[2], "--store", elsewhere, "--json").json
    assert added == {"added": found["trials"] - stored, "known": 0}
    assert not configs_in(elsewhere) & configs_in(store)
    Path(rescued[2]).unlink()


def _spec_of_large_records(folder: Path) -> Path:
    """Each trial fails with a long line, so that its record takes some room."""
    return write_spec(folder, program="import sys; sys.exit(str({n}) * 999)")


def test_a_full_database(command: Command, tmp_path: Path) -> None:
    store = tmp_path / "disk" / "tuning.db"
    words = ["tune-command", _spec_of_large_records(tmp_path), "--store", store, "--json"]
    ran = subprocess.run(
        [sys.executable, "-c", _LIMITED, *map(str, words), "--trials", "2000"],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    _check_full(ran, store, command)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 1 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount a small disk to fill")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(command: Command, tmp_path: Path, small_disk: Path) -> None:
    """Not even the file of rescued records has room there: it goes to the temporary folder."""
    store = small_disk / "tuning.db"
    open_store(store).close()
    free = shutil.disk_usage(small_disk).free
    (small_disk / "filler").write_bytes(b"x" * (free - (148 << 10)))
    words = ["tune-command", _spec_of_large_records(tmp_path), "--store", store, "--json"]
    ran = subprocess.run(
        [*TUNESMITH, *map(str, words), "--trials", "2000"],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    _check_full(ran, store, command)
