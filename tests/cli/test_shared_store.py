"""Several real runs of one task at one store, over SQLite and PostgreSQL."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select, update

from tests.cli.command import Process, eventually, only_object, tunesmith, write_spec
from tunesmith.bench.store.server import own_server
from tunesmith.store import open_store
from tunesmith.store.database import Database
from tunesmith.store.place import locate
from tunesmith.store.rows import config_hash
from tunesmith.store.schema import claims, records

# A few milliseconds of Python, and then so long that other runs are there meanwhile.
_SLOW = "import time; time.sleep(0.1); print(1.0 + {n} / 1000)"


@pytest.fixture
def database(location: str) -> Iterator[Database]:
    open_store(location).close()
    with closing(Database(locate(location), patience=30.0)) as opened:
        yield opened


def trials(database: Database) -> Counter[str]:
    """How often each config was tried."""
    query = select(records.c.config).where(records.c.play_off.is_(False))
    return Counter(database.read(lambda connection: list(connection.execute(query).scalars())))


def claimed(database: Database) -> set[int]:
    query = select(claims.c.config_hash)
    return set(database.read(lambda connection: list(connection.execute(query).scalars())))


def run_all(commands: list[list[object]]) -> list[Any]:
    """What runs that are started together print."""
    with ExitStack() as stack:
        processes = []
        for words in commands:
            processes.append(Process.start(words))
            stack.enter_context(processes[-1].cleaned_up())
        return [process.wait().json for process in processes]


@pytest.mark.parametrize("runs", [2, 4])
def test_runs_share_a_task_and_repeat_nothing(
    runs: int, location: str, database: Database, tmp_path: Path
) -> None:
    size = 60
    words = ["tune-command", write_spec(tmp_path, program=_SLOW, size=size)]
    # Of one seed, so that all would propose the same.
    found = run_all([[*words, "--tuner", "random", "--store", location, "--json"]] * runs)
    tried = trials(database)
    assert len(tried) == size
    assert tried.total() == size, "no config is measured twice"
    own = [it["trials"] - it["resumed"] - it["shared"] for it in found]
    assert sum(own) == size
    assert sum(share > 0 for share in own) >= 2, "more than one took part"
    for it in found:
        assert (it["stopped"], it["trials"]) == ("exhausted", size)
        assert it["best"]["config"] == {"n": 0}, "each knows the best, whoever found it"
    assert claimed(database) == set()


def test_a_run_that_is_killed_gives_its_configs_back(
    location: str, database: Database, tmp_path: Path
) -> None:
    size = 12
    words = ["tune-command", write_spec(tmp_path, program=_SLOW, size=size), "--store", location]
    killed = Process.start([*words, "--json", "--tuner", "grid"])

    def stands_with_a_claim() -> bool:
        """Between two trials it has none: it is looked at while it stands still."""
        killed.process.send_signal(signal.SIGSTOP)
        status = psutil.Process(killed.process.pid).status
        eventually(lambda: status() == psutil.STATUS_STOPPED, "it stands still")
        found = trials(database).total() > 1 and claimed(database) != set()
        if not found:
            killed.process.send_signal(signal.SIGCONT)
        return found

    with killed.cleaned_up():
        eventually(stands_with_a_claim, "claims")
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait()
        eventually(lambda: not killed.family(), "all its processes have ended")
    left = claimed(database)
    before = trials(database)
    assert left, "it was killed with a claim"
    # Others wait until it expires, half a minute after it was last renewed: most of that goes by.
    sooner = update(claims).values(expires=claims.c.expires - 25_000_000)
    database.write(lambda connection: connection.execute(sooner))
    found = tunesmith(*words, "--tuner", "random", "--json").json
    assert (found["resumed"], found["trials"]) == (before.total(), size)
    tried = trials(database)
    assert tried.total() == len(tried) == size
    assert left <= {config_hash(key) for key in tried}, "another run has measured them"


def test_a_store_on_a_server_has_no_place_for_a_model(postgresql_location: str) -> None:
    open_store(postgresql_location).close()
    refused = tunesmith("models", "train", "--store", postgresql_location)
    assert refused.code == 2
    assert "has no file beside which a model could be: a run that needs one" in refused.err


@pytest.mark.slow
@pytest.mark.usefixtures("postgresql_server")
def test_a_server_that_goes_away_for_good(tmp_path: Path) -> None:
    words = ["tune-command", write_spec(tmp_path, program=_SLOW, size=2000), "--json"]
    with own_server("-c fsync=off") as server:
        open_store(server.location).close()
        with closing(Database(locate(server.location), patience=0.0)) as database:
            process = Process.start(
                [*words, "--store", server.location], env={"TMPDIR": str(tmp_path)}
            )
            with process.cleaned_up():
                eventually(lambda: trials(database).total() > 3, "trials are stored")
                server.stop()
                ran = process.wait()
    assert ran.code == 1
    found = only_object(ran.out)
    assert found["stopped"] == "store"
    assert found["best"] is not None
    assert "Traceback" not in ran.err
    complaint = ran.err.splitlines()[-1]
    assert complaint.startswith("tunesmith: store postgresql+psycopg://tunesmith@127.0.0.1:")
    assert "does not answer" in complaint
    added = tunesmith("import", found["rescued"], "--store", tmp_path / "new.db", "--json").json
    assert added["added"] > 0


@pytest.mark.slow
def test_tuning_one_operator_together(location: str, database: Database) -> None:
    goal, runs = 24, 4
    task = ["matmul", "--m", 32, "--n", 32, "--k", 32, "--cores", 1]
    words = ["tune", *task, "--tuner", "random", "--json"]
    found = run_all([[*words, "--trials", goal, "--store", location]] * runs)
    tried = trials(database)
    assert tried.total() == len(tried), "no config is measured twice"
    own = [it["trials"] - it["resumed"] - it["shared"] for it in found]
    assert sum(own) == tried.total()
    assert all(it["trials"] >= goal for it in found)
    # Others may have some trials underway when the last one is stored.
    assert goal <= tried.total() < goal + 16 * runs
    assert all(it["best"] is not None for it in found)
