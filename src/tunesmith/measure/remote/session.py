"""The host's end of a session with a device."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, UsageError, describe
from tunesmith.measure.processes.channel import Message
from tunesmith.measure.remote import messages
from tunesmith.measure.remote.messages import PROTOCOL, DeviceJob
from tunesmith.measure.remote.tracker import Address
from tunesmith.measure.trial.prepared import Prepared


class LostDeviceError(TunesmithError):
    """The connection to a device has broken, or its server has."""


class DeviceSession:
    """A device that works for this process until this is closed or gone.

    Raises ``LostDeviceError``, here and in all methods, if the device is not there (any more).
    """

    def __init__(self, address: Address, match_key: str) -> None:
        from tvm import rpc

        self.address = address
        self._files: dict[int, str] = {}
        try:
            self._session = rpc.connect(address.host, address.port, match_key)
        except Exception as error:  # TVM raises whatever it likes
            raise self._lost(error) from error

    def about(self) -> Mapping[str, Any]:
        """What the device's server says of it."""
        about: Mapping[str, Any] = self._call(messages.ABOUT)
        return about

    def prepare(self, prepared: Prepared) -> None:
        """Send the data that programs run with, and those that they are checked against."""
        job = prepared.job
        data = {messages.input_file(n): one.numpy() for n, one in enumerate(prepared.inputs)}
        if prepared.reference is not None:
            data[messages.REFERENCE] = prepared.reference
        for name, array in data.items():
            self._upload(name, bytearray(array.tobytes()))
        operator, settings = job.operator, job.settings
        described = DeviceJob(
            operator.arguments,
            operator.result,
            operator.tolerance,
            job.target.core_count,
            settings,
        )
        self._call(messages.PREPARE, json.dumps(described.to_json()))

    def execute(self, id: int, command: Message, code: Mapping[str, Any]) -> Message:
        """Run the program of a trial, which is sent first if the device does not have it."""
        if id not in self._files:
            library = Path(code["library"])
            self._files[id] = library.name
            self._upload(library.name, bytearray(library.read_bytes()))
            if command["kind"] == "run again":  # it ran on a device that was lost
                first = {"kind": "run", "cut_off_seconds": math.inf}
                answer = self._execute(id, first, code)
                if answer["kind"] == "failed":
                    return answer
        return self._execute(id, command, code)

    def _execute(self, id: int, command: Message, code: Mapping[str, Any]) -> Message:
        program = {**code, "library": self._files[id]}
        text = json.dumps({**command, "id": id, "program": program})
        answer: Message = self._call(messages.EXECUTE, text)
        return answer

    def forget(self, id: int) -> None:
        """Drop the program of a trial, if the device has it."""
        name = self._files.pop(id, None)
        if name is not None:
            self._call(messages.FORGET, str(id))
            self._guarded(lambda: self._session.remove(name))

    def _upload(self, name: str, data: bytearray) -> None:
        self._guarded(lambda: self._session.upload(data, name))

    def _call(self, function: str, *arguments: str) -> Any:
        return json.loads(self._guarded(lambda: self._session.get_function(function)(*arguments)))

    def _guarded(self, call: Any) -> Any:
        try:
            return call()
        except Exception as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> LostDeviceError:
        return LostDeviceError(f"the device at {self.address} is lost ({_reason(error)})")


def _reason(error: Exception) -> str:
    """Why a call of TVM's failed, without what only its developers understand."""
    text = describe(error)
    broken = re.search(r"SockChannel::\w+ Error: *(.+)", text)
    if broken:
        return f"the connection broke: {broken[1].lower()}"
    return "it has closed the connection" if "code=kShutdown" in text else text


def check_about(address: Address, about: Mapping[str, Any], fingerprint: str, key: str) -> None:
    """Raises ``UsageError`` unless a device is of the kind that is being measured on."""
    if about.get("protocol") != PROTOCOL:
        raise UsageError(
            f"the device at {address} was not started by 'tunesmith device' of this version: start "
            "it so"
        )
    if about["machine"]["fingerprint"] != fingerprint:
        raise UsageError(
            f"the device at {address} ({about['machine']['cpu']}) is of another kind than the "
            f"others of the key '{key}': give each kind its own --key"
        )
