"""Measures programs on devices elsewhere, through a server process that builds them here."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from tunesmith.compiler.cross_linker import linker_for
from tunesmith.errors import TunesmithError
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.local.server_process import ServerProcess
from tunesmith.measure.processes.channel import Message
from tunesmith.measure.remote.worker import Devices
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Measurement
from tunesmith.problem import MeasurerLostError

# What it takes to have another program run on a device, besides its own time; in seconds.
_TURN = 0.02


class RemoteMeasurer(LocalMeasurer):
    """A ``Measurer`` that builds on this machine and runs on ``count`` devices of one kind.

    ``machine`` is theirs. Builds go on while programs run. ``tell`` is called with a line about
    each device that is lost, whose trial is repeated on another one.

    Raises like ``LocalMeasurer``, and ``MissingDependencyError`` if nothing links for the target.
    ``collect`` and ``play_off`` raise ``MeasurerLostError`` when no device is left.
    """

    def __init__(
        self,
        job: Job,
        devices: Devices,
        machine: Mapping[str, Any],
        count: int,
        tell: Callable[[str], object],
    ) -> None:
        self._machine = machine
        self._count = count
        self._tell = tell
        self._run = (
            "tunesmith.measure.remote.server",
            json.dumps(dataclasses.asdict(devices)),
            json.dumps(linker_for(job.target.architecture)),
        )
        super().__init__(job)

    @property
    def machine(self) -> Mapping[str, Any]:
        return self._machine

    @property
    def batch(self) -> int:
        return super().batch + 2 * self._count

    def round_cost(self, measurement: Measurement) -> float:
        return super().round_cost(measurement) + _TURN

    def _new_server(self) -> ServerProcess:
        return ServerProcess.with_job(self._job, *self._run)

    @property
    def _runs_beside_builds(self) -> bool:
        return True

    def _check_measurable(self) -> None:
        """The devices were looked at before."""

    def _give_up(self, reason: str) -> NoReturn:
        # A server that has got ready for the job says so of nothing but its devices.
        ready = self._server is not None and self._server.started
        try:
            super()._give_up(reason)
        except TunesmithError as error:
            if ready:
                raise MeasurerLostError(str(error)) from error
            raise

    def _hear(self, message: Message) -> None:
        if message["kind"] == "note":
            self._tell(str(message["text"]))
        super()._hear(message)
