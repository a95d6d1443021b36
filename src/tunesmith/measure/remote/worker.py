"""The process that holds a device for the measuring server, and runs built programs on it.

It is forked from the server, like a trial. It ends when its device is lost, and the server starts
another one.
"""

from __future__ import annotations

import time
from collections.abc import Set
from dataclasses import dataclass
from typing import NoReturn

from tunesmith.errors import TunesmithError, UsageError, describe
from tunesmith.measure.processes.channel import Channel, ChannelClosedError
from tunesmith.measure.remote.session import DeviceSession, LostDeviceError, check_about
from tunesmith.measure.remote.tracker import Address, Tracker
from tunesmith.measure.trial.prepared import Prepared

# How often a process that waits looks around, in seconds.
_LOOK_UP = 1.0


@dataclass(frozen=True)
class Devices:
    """The devices of a key at a tracker, all of the kind with this machine's ``fingerprint``.

    A run goes on for ``patience`` seconds without a device, or without the tracker if it has none.
    A device that is silent for longer where it should answer is lost.
    """

    tracker: Address
    key: str
    fingerprint: str
    patience: float


def run_worker(prepared: Prepared, channel: Channel, devices: Devices, lost: Set[str]) -> None:
    """Wait for a device, then execute the server's commands until the device is lost.

    Devices at the addresses ``lost`` do not count as devices unless the tracker gives them.
    Raises ``ChannelClosedError`` when the server is gone.
    """
    try:
        session = _Waiting(channel, devices, lost).session()
        operator = prepared.job.operator
        data = sum(tensor.bytes for tensor in (*operator.arguments, operator.result))
        channel.send({"kind": "sending", "bytes": data})
        session.prepare(prepared)
        channel.send({"kind": "ready", "address": str(session.address)})
        _work(session, channel)
    except ChannelClosedError:
        raise
    except BaseException as error:
        # What a user has to change will not get better by waiting.
        final = isinstance(error, UsageError)
        channel.send({"kind": "refused", "message": describe(error), "final": final})


def _work(session: DeviceSession, channel: Channel) -> NoReturn:
    while True:
        channel.wait()
        for command in channel.receive():
            match command["kind"]:
                case "forget":
                    session.forget(command["id"])
                case "run" | "run again":
                    id, code = command["id"], command["code"]
                    answer = session.execute(id, command["command"], code)
                    channel.send({**answer, "id": id})


class _Waiting:
    """Stands in line for a device until one is given, or there is none any more."""

    def __init__(self, channel: Channel, devices: Devices, lost: Set[str]) -> None:
        self._channel = channel
        self._devices = devices
        self._dead = set(lost)
        self._hope = time.monotonic()

    def session(self) -> DeviceSession:
        """A session with the next device that is free. Raises ``TunesmithError`` if none is left,
        ``UsageError`` if it is of another kind."""
        while True:
            try:
                with Tracker(self._devices.tracker) as line:
                    return self._in_line(line)
            except UsageError:
                raise
            except TunesmithError as error:  # the tracker or the device that it gave is gone
                self._check_hope(error)
            time.sleep(_LOOK_UP)

    def _in_line(self, line: Tracker) -> DeviceSession:
        devices = self._devices
        line.ask(devices.key)
        while (given := line.given(_LOOK_UP)) is None:
            self._hear()
            with Tracker(devices.tracker) as other:
                known = {str(device.address) for device in other.devices(devices.key)}
            if known - self._dead:
                self._hope = time.monotonic()
            self._check_hope(
                TunesmithError(f"no device of the key '{devices.key}' is left at {line.address}")
            )
        address, match_key = given
        self._channel.send({"kind": "connecting", "address": str(address)})
        try:
            session = DeviceSession(address, match_key)
            about = session.about()
        except LostDeviceError as error:
            self._channel.send({"kind": "missed", "message": str(error)})
            self._dead.add(str(address))
            raise
        check_about(address, about, devices.fingerprint, devices.key)
        self._hope = time.monotonic()
        return session

    def _hear(self) -> None:
        """Take in which devices are lost, whatever the tracker thinks."""
        self._dead.update(message["address"] for message in self._channel.receive())

    def _check_hope(self, error: TunesmithError) -> None:
        if time.monotonic() - self._hope > self._devices.patience:
            raise error
