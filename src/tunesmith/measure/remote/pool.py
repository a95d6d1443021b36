"""The server's side of trials on devices: a worker process for each device, and the trials."""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, one_line
from tunesmith.measure.failure import Verdict, describe_exit
from tunesmith.measure.processes.channel import ChannelClosedError, GarbledError, Message
from tunesmith.measure.processes.child import Child, Exit
from tunesmith.measure.remote.worker import Devices, run_worker
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.process import TrialProcess
from tunesmith.measure.trial.request import Phase
from tunesmith.measure.trial.workers import Workers
from tunesmith.measurement import Outcome

# A trial that was running on so many devices when they were lost has to do with it.
_MOST_LOSSES = 2

# A device takes so many bytes a second at least.
_LEAST_RATE = 1 << 20

# How long devices are held while there is nothing to run, in seconds.
_IDLE = 2.0

# How often the client hears that the server waits for a device, or for what one does, in seconds.
_HEARTBEAT = 5.0


class RemoteTrial(TrialProcess):
    """A trial whose own process builds the program, which then runs on a device.

    ``worker`` must be set before ``run``.
    """

    worker: RemoteWorker | None = None
    losses = 0

    def cancel(self, verdict: Verdict) -> None:
        """End the trial unless it is running: getting a device again takes longer than the run."""
        if self.phase is not Phase.RUN:
            super().cancel(verdict)

    def lose_device(self, reason: str) -> None:
        """Wait for another device, or fail where that has happened before."""
        self.losses += 1
        if self.losses >= _MOST_LOSSES:
            self.decide(Verdict(Outcome.RUNTIME_DEVICE, one_line(f"{reason}, again")))
        elif self.verdict is None:
            self._get_ready()

    def time_out(self) -> None:
        """The device enforces the run's timeout; if it is silent it is lost."""
        if self.phase is Phase.RUN and self.worker is not None:
            self.worker.lose(_silent_for(self._timeout))
        else:
            super().time_out()

    @property
    def _timeout(self) -> float:
        if self.phase is not Phase.RUN or self.worker is None:
            return super()._timeout
        # The device also has to take the program and to load it, and where another device was lost
        # in a play-off it runs the program once more.
        return 2 * self._settings.run_timeout + self.worker.patience

    def _send(self, command: Message) -> None:
        assert self.worker is not None
        self.worker.run(self, command)


class RemoteWorker:
    """The process that holds a device, or waits for one, and the trial that it runs there.

    ``error`` is why it lost the device or has none; with ``final`` no other one would help.
    ``lost`` are the addresses of devices that were lost before; ``missed`` are those that were
    given to it and gone before they could be used, each with the reason. Raises ``OSError`` if
    the system cannot create a process.
    """

    def __init__(self, prepared: Prepared, devices: Devices, lost: Set[str]) -> None:
        self.ready = False
        self.ending = False
        self.final = False
        self.given_back = False
        self.error = ""
        self.address = ""
        self.missed: list[tuple[str, str]] = []
        self.trial: RemoteTrial | None = None
        self.deadline = math.inf
        self.patience = self.waits = devices.patience
        self.child = Child(lambda end: run_worker(prepared, end, devices, lost), None, 1)

    @property
    def free(self) -> bool:
        """Whether it can run a trial now."""
        return self.ready and not self.ending and self.trial is None

    def run(self, trial: RemoteTrial, command: Message) -> None:
        """Run a trial's program."""
        self.trial = trial
        self._send(
            {
                "kind": command["kind"],
                "id": trial.request.id,
                "command": command,
                "code": trial.code,
            }
        )

    def forget(self, trial: RemoteTrial) -> None:
        """Drop a trial that has ended."""
        if self.trial is trial:
            self.trial = None
            self.lose("its run was given up")
        elif self.ready:
            self._send({"kind": "forget", "id": trial.request.id})

    def hear_of_loss(self, address: str) -> None:
        """A device that may still be known to the tracker is lost."""
        if not self.ready:
            self._send({"kind": "lost", "address": address})

    def _send(self, message: Message) -> None:
        with contextlib.suppress(ChannelClosedError):  # it is dying: its ``handle`` will tell
            self.child.channel.send(message)

    def receive(self) -> None:
        """Handle the process's messages."""
        try:
            for message in self.child.channel.receive():
                self._take(message)
        except ChannelClosedError:
            self.kill()
        except (AttributeError, GarbledError, KeyError, TypeError, ValueError):
            self.lose("its answer makes no sense")

    def _take(self, message: Message) -> None:
        match message["kind"]:
            case "connecting":
                self.address = str(message["address"])
                self._wait(self.patience)
            case "sending":
                self._wait(self.patience + message["bytes"] / _LEAST_RATE)
            case "missed":
                self.missed.append((self.address, one_line(str(message["message"]))))
                self.address, self.deadline = "", math.inf
            case "ready":
                self.ready, self.deadline = True, math.inf
            case "refused":
                self.error = one_line(str(message["message"]))
                self.final = bool(message["final"])
            case _ if self.trial is not None and message["id"] == self.trial.request.id:
                trial, self.trial = self.trial, None
                trial.take(message)

    def _wait(self, seconds: float) -> None:
        """It is lost if it says nothing for so long."""
        self.waits, self.deadline = seconds, time.monotonic() + seconds

    def give_back(self) -> None:
        """Let others have the device."""
        self.given_back = True
        self.kill()

    def lose(self, reason: str) -> None:
        """Give the device up."""
        self.error = self.error or f"the device at {self.address} is lost ({reason})"
        self.kill()

    def kill(self) -> None:
        """Kill it; it gets no more trials."""
        self.ending = True
        self.child.kill()


class RemotePool(Workers[RemoteWorker]):
    """Workers for all devices of a key, and always one that waits for the next to be free.

    So a device that is added takes part. ``tell(kind, **content)`` sends the client a message.
    Methods raise ``TunesmithError`` if there is no device any more.
    """

    def __init__(
        self,
        prepared: Prepared,
        devices: Devices,
        watch: Callable[[Any, Callable[[], None]], object],
        unwatch: Callable[[Any], object],
        tell: Callable[..., object],
    ) -> None:
        super().__init__(watch, unwatch)
        self._prepared = prepared
        self._devices = devices
        self._tell = tell
        self._lost: set[str] = set()
        self._told = 0.0
        self._needed = time.monotonic()
        # How often devices were lost before they were ready, by address.
        self._unready: Counter[str] = Counter()

    def keep(self, needed: bool) -> None:
        """Give the devices back once they have not been needed for a while."""
        if needed:
            self._needed = time.monotonic()
        elif time.monotonic() - self._needed > _IDLE:
            for worker in self._workers:
                worker.give_back()

    def begin(self) -> None:
        """Start waiting for a device, unless that was begun."""
        if all(worker.ready or worker.ending for worker in self._workers):
            worker = RemoteWorker(self._prepared, self._devices, frozenset(self._lost))
            self._add(worker)

    @property
    def first(self) -> RemoteWorker | None:
        """The worker for play-offs, which are fair on a single device only."""
        ready = (worker for worker in self._workers if worker.ready and not worker.ending)
        return next(ready, None)

    @property
    def wait_left(self) -> float:
        """Seconds until a device has taken too long to answer."""
        deadlines = [worker.deadline for worker in self._workers if not worker.ending]
        return min(deadlines, default=math.inf) - time.monotonic()

    def forget(self, trial: RemoteTrial) -> None:
        """Drop a trial that has ended, and what was built for it."""
        for worker in self._workers:
            worker.forget(trial)
        if trial.code is not None:
            Path(trial.code["library"]).unlink(missing_ok=True)

    def check_starts(self) -> None:
        """Give up devices that do not answer, and let the client know that the server waits.

        A device that has a program may be silent for longer than the client bears from a server.
        """
        for worker in self._workers:
            if not worker.ending and time.monotonic() > worker.deadline:
                worker.lose(_silent_for(worker.waits))
        if time.monotonic() - self._told > _HEARTBEAT:
            self._told = time.monotonic()
            self._tell("waiting")

    def _heard(self, worker: RemoteWorker) -> None:
        while worker.missed:
            self._note_loss(*worker.missed.pop(0))
        if worker.ready:
            self._lost.discard(worker.address)
            self._unready.pop(worker.address, None)
            self.begin()

    def _ended(self, worker: RemoteWorker, ended: Exit) -> None:
        """Let the trial of a worker that has ended wait for another device."""
        if worker.given_back:
            return
        reason = worker.error or describe_exit(ended.status, ended.last_line)
        left = any(other.ready and not other.ending for other in self._workers)
        if worker.address and not worker.ready:
            self._unready[worker.address] += 1
        hopeless = not worker.address or self._unready[worker.address] >= _MOST_LOSSES
        if worker.final or (hopeless and not left):
            raise TunesmithError(reason)
        if worker.address:
            self._note_loss(worker.address, reason)
        if worker.trial is not None:
            worker.trial.lose_device(reason)
        self.begin()

    def _note_loss(self, address: str, reason: str) -> None:
        """Tell the client of a lost device, once, and the workers, which may still be given it."""
        if address in self._lost:
            return
        self._lost.add(address)
        self._tell("note", text=reason)
        if not any(worker.address and not worker.ending for worker in self._workers):
            wait = f"waiting {self._devices.patience:g} s for one"
            self._tell("note", text=f"no device is left to this run: {wait}")
        for worker in self._workers:
            worker.hear_of_loss(address)


def _silent_for(seconds: float) -> str:
    return f"it does not answer for {seconds:g} s"
