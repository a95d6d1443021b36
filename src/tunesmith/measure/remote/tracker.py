"""TVM's tracker: which devices there are, and a device to work with."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tunesmith.errors import TunesmithError, UsageError, system_reason

# How long a tracker may take to answer, in seconds.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Address:
    """A host's name or number, and a port."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str, option: str) -> Self:
        """From ``HOST:PORT``. Raises ``UsageError``, which names the option, for anything else."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UsageError(f"{option} must be HOST:PORT, such as 10.0.0.2:9190, not '{text}'")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class KnownDevice:
    """A device that the tracker knows, and what its server says of it.

    ``about`` is empty for a server of TVM's own.
    """

    address: Address
    about: Mapping[str, Any]


class Tracker:
    """A connection to a tracker.

    Its methods raise ``TunesmithError`` if nobody answers at the address, or no tracker.
    """

    def __init__(self, address: Address) -> None:
        from tvm.rpc import base

        self.address = address
        self._base = base
        try:
            self._socket = socket.create_connection((address.host, address.port), _PATIENCE)
        except OSError as error:
            raise TunesmithError(
                f"nobody answers at {address} ({system_reason(error)}): start 'tunesmith tracker' "
                "there, or correct the address"
            ) from error
        try:
            self._socket.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
            answer = struct.unpack("<i", base.recvall(self._socket, 4))[0]
        except OSError:
            answer = None
        if answer != base.RPC_TRACKER_MAGIC:
            self.close()
            raise TunesmithError(f"what answers at {address} is no tracker: correct the address")

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- for hosts -------------------------------------------------------------------------------

    def devices(self, key: str) -> list[KnownDevice]:
        """The devices of a kind, free or not."""
        return self.all_devices().get(key, [])

    def all_devices(self) -> dict[str, list[KnownDevice]]:
        """The devices by their key."""
        found: dict[str, list[KnownDevice]] = {}
        for server in self._summary()["server_info"]:
            address = Address(str(server["addr"][0]), int(server["addr"][1]))
            known = KnownDevice(address, server.get("about") or {})
            found.setdefault(server["key"].removeprefix("server:"), []).append(known)
        return found

    def free(self, key: str) -> int:
        """How many devices of a kind nobody has."""
        return int(self._summary()["queue_info"].get(key, {"free": 0})["free"])

    def _summary(self) -> Any:
        return self._call([self._base.TrackerCode.SUMMARY])[1]

    def ask(self, key: str) -> None:
        """Stand in line for a device; nothing else can be asked of this connection then."""
        self._send([self._base.TrackerCode.REQUEST, key, "", 1])

    def given(self, timeout: float) -> tuple[Address, str] | None:
        """The device that was asked for, and its match key; None if that takes longer."""
        if not select.select([self._socket], [], [], timeout)[0]:
            return None
        host, port, match_key = self._receive()[1]
        return Address(str(host), int(port)), str(match_key)

    # -- for devices -----------------------------------------------------------------------------

    def introduce(self, key: str, port: int, host: str | None, about: Mapping[str, Any]) -> None:
        """Say what device this is. ``host`` is how it is reached, if not as the tracker sees it."""
        self._call(
            [
                self._base.TrackerCode.UPDATE_INFO,
                {"key": f"server:{key}", "addr": [host, port], "about": about},
            ]
        )

    def offer(self, key: str, port: int, host: str | None, match_key: str) -> None:
        """Say that this device is free for whoever knows the match key."""
        self._call([self._base.TrackerCode.PUT, key, [port, match_key], host])

    def is_pending(self, match_key: str) -> bool:
        """Whether what was offered by this connection has not been given to anybody yet."""
        return match_key in self._call([self._base.TrackerCode.GET_PENDING_MATCHKEYS])

    # -- messages --------------------------------------------------------------------------------

    def _call(self, message: list[Any]) -> Any:
        self._send(message)
        return self._receive()

    def _send(self, message: list[Any]) -> None:
        try:
            self._base.sendjson(self._socket, message)
        except OSError as error:
            raise self._gone() from error

    def _receive(self) -> Any:
        try:
            return self._base.recvjson(self._socket)
        except (OSError, ValueError, struct.error) as error:
            raise self._gone() from error

    def _gone(self) -> TunesmithError:
        return TunesmithError(f"the tracker at {self.address} does not answer any more")


def run_tracker(listener: socket.socket) -> None:
    """Be the tracker of a socket that listens, until this process is ended."""
    import asyncio

    from tvm.rpc.base import random_key
    from tvm.rpc.tracker import TrackerServerHandler, logger

    logger.setLevel("ERROR")  # else it tells of every host that is gone
    asyncio.set_event_loop(asyncio.new_event_loop())
    TrackerServerHandler(listener, random_key("tracker")).run()
