"""A host's session with the device: a process that forks one child a trial and watches over it.

Its functions are called by TVM's RPC, one after the other. It runs no program itself, so that no
program can harm it, and whatever it forks starts from the same state.
"""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any, NoReturn

from tunesmith.compiler.thread_pool import set_pool_threads
from tunesmith.errors import TunesmithError
from tunesmith.measure.failure import Verdict
from tunesmith.measure.processes.channel import ChannelClosedError, GarbledError, Message
from tunesmith.measure.processes.child import Child, Exit
from tunesmith.measure.processes.containment import memory_status
from tunesmith.measure.processes.stopwatch import Stopwatch
from tunesmith.measure.remote import messages
from tunesmith.measure.remote.device.trial import DeviceData, run_device_trial
from tunesmith.measure.remote.messages import DeviceJob
from tunesmith.measurement import Outcome

_GARBAGE = Verdict(Outcome.UNKNOWN_ERROR, "the trial's process sent garbage on the device")


class Session:
    """What a host may call. ``client`` is its connection, ``folder`` where its files are.

    No trial may allocate more than ``memory_limit`` bytes, whatever the host allows.
    """

    def __init__(
        self, client: socket.socket, folder: Path, about: Mapping[str, Any], memory_limit: int
    ) -> None:
        self._client = client
        self._folder = folder
        self._about = about
        self._memory_limit = memory_limit
        self._own_memory = 0
        self._data: DeviceData | None = None
        self._trials: dict[int, Child] = {}

    def serve(self) -> None:
        """Do what the host calls until it is gone."""
        import tvm_ffi
        from tvm.rpc import _ffi_api

        functions: dict[str, Callable[..., str]] = {
            messages.ABOUT: lambda: json.dumps(self._about),
            messages.PREPARE: self._prepare,
            messages.EXECUTE: self._execute,
            messages.FORGET: self._forget,
            "tvm.rpc.server.workpath": self._path,
        }
        for name, function in functions.items():
            tvm_ffi.register_global_func(name, function, override=True)
        _ffi_api.ServerLoop(self._client.fileno())

    def _path(self, name: str) -> str:
        return str(self._folder / Path(name).name)

    def _prepare(self, text: str) -> str:
        job = DeviceJob.from_json(json.loads(text))
        limit = min(job.settings.memory_limit, self._memory_limit)
        job = replace(job, settings=replace(job.settings, memory_limit=limit))
        set_pool_threads(job.cores)
        self._data = DeviceData.read(job, self._folder)
        self._own_memory = memory_status("RssAnon")
        return "{}"

    def _execute(self, text: str) -> str:
        """Run a program for the first time, or once more. Returns what the trial answers."""
        if self._data is None:
            raise TunesmithError("the host did not say what is to be run")
        data, command = self._data, json.loads(text)
        id, settings = int(command["id"]), data.job.settings
        trial = self._trials.get(id)
        if trial is None:
            program, limit = command["program"], settings.memory_limit
            trial = self._trials[id] = Child(
                lambda end: run_device_trial(data, program, end), limit, data.job.cores
            )
        answer = self._answer(trial, command, settings.run_timeout)
        if isinstance(answer, Verdict):
            self._forget(str(id))
            answer = {
                "kind": "failed",
                "outcome": answer.outcome.value,
                "message": answer.message,
            }
        return json.dumps(answer)

    def _answer(self, trial: Child, command: Message, timeout: float) -> Message | Verdict:
        """What a trial answers to a command, or the verdict on it if it does not."""
        watch = Stopwatch()
        watch.start()
        trial.signal(SIGCONT)
        try:
            trial.channel.send(command)
            while watch.seconds < timeout:
                self._wait(trial, timeout - watch.seconds)
                answers = trial.channel.receive()
                if answers:
                    # TVM's threads spin for a while, and would disturb the next trial.
                    trial.signal(SIGSTOP)
                    return answers[0]
        except ChannelClosedError:
            ended = self._reaped(trial)
            limit = self._data.job.settings.memory_limit if self._data is not None else 0
            return ended.verdict(Outcome.RUNTIME_DEVICE, limit, self._own_memory)
        except GarbledError:
            return _GARBAGE
        return Verdict(Outcome.RUN_TIMEOUT, f"not done after {timeout:g} s")

    def _wait(self, trial: Child, timeout: float) -> None:
        """Wait until the trial says something. If the host is gone, so is this process."""
        poll = select.poll()
        poll.register(trial.channel, select.POLLIN)
        poll.register(self._client, select.POLLRDHUP)
        for descriptor, _ in poll.poll(1000.0 * timeout):
            if descriptor == self._client.fileno():
                self._leave()

    def _forget(self, id: str) -> str:
        trial = self._trials.get(int(id))
        if trial is not None:
            trial.kill()
            self._reaped(trial)
        return "{}"

    def _reaped(self, trial: Child) -> Exit:
        self._trials = {id: other for id, other in self._trials.items() if other is not trial}
        return trial.reap()

    def _leave(self) -> NoReturn:
        for trial in self._trials.values():
            trial.kill()
        os._exit(0)
