"""However a client ends, nothing of its measuring stays behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil
import pytest

from tests.families import family
from tests.patience import PATIENCE

# A client whose server has one program running and another one being built, both for ever.
CLIENT = """
import sys, time
from tests.measure.local.faulty_sketch import FaultySketch, config
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.testing.trials import candidates

def work(measurer):
    measurer.submit(candidates([config("none", 1)]))
    assert measurer.collect(600.0)[0].valid
    measurer.submit(candidates([config("hang_run"), config("leave_a_process_and_spin")]))
    while not measurer._running:
        measurer._pump(1.0)
    print("busy", flush=True)
    end = sys.stdin.readline().strip()
    if end == "exception":
        raise ValueError(end)
    if end == "exit":
        sys.exit(3)
    if end == "collect":
        measurer.collect(600.0)

settings = MeasureSettings(build_timeout=600.0, run_timeout=600.0, workers=2)
job = Job(matmul(m=16, n=16, k=16), (FaultySketch(),), Target(), settings)
if sys.argv[1] == "closing":
    with LocalMeasurer(job) as measurer:
        work(measurer)
else:
    measurer = LocalMeasurer(job)
    work(measurer)
"""

MARK = "TUNESMITH_TEST_CLIENT"


@dataclass
class Client:
    """A client process, and how to recognise all that comes from it."""

    process: subprocess.Popen[str]
    mark: str

    def family(self) -> list[psutil.Process]:
        """All living processes that have inherited the client's environment, itself included."""
        return family(MARK, self.mark)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.close()


def _kill(client: Client) -> None:
    client.process.kill()


def _terminate(client: Client) -> None:
    client.process.terminate()


def _press_ctrl_c(client: Client) -> None:
    """As a terminal does: to all of the foreground group, while the client waits for results."""
    client.say("collect")
    time.sleep(0.2)
    os.killpg(client.process.pid, signal.SIGINT)


ENDS: dict[str, tuple[str, Callable[[Client], None], int]] = {
    "the block ends": ("closing", lambda client: client.say("nothing"), 0),
    "an exception leaves the block": ("closing", lambda client: client.say("exception"), 1),
    "Ctrl-C leaves the block": ("closing", _press_ctrl_c, -signal.SIGINT),
    "SIGTERM": ("closing", _terminate, -signal.SIGTERM),
    "SIGKILL": ("closing", _kill, -signal.SIGKILL),
    "the program ends without a close": ("open", lambda client: client.say("nothing"), 0),
    "sys.exit without a close": ("open", lambda client: client.say("exit"), 3),
}


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[str, Client]]:
    """A busy client for each way to end; started together, since starting takes long."""
    clients = {}
    for number, (name, (style, _, _)) in enumerate(ENDS.items()):
        mark = f"{os.getpid()}-{number}"
        process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, style],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        clients[name] = Client(process, mark)
    try:
        yield clients
    finally:
        for client in clients.values():
            for process in client.family():
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            client.process.wait()
            assert client.process.stdout is not None
            client.process.stdout.close()


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(clients: dict[str, Client], end: str) -> None:
    client = clients[end]
    assert client.process.stdout is not None
    assert client.process.stdout.readline() == "busy\n"
    # The client, the server, a trial that runs, one that builds, and what that has started.
    assert len(client.family()) >= 5
    _, act, status = ENDS[end]
    act(client)
    assert client.process.wait(PATIENCE) == status
    deadline = time.monotonic() + PATIENCE
    while (family := client.family()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert family == []
