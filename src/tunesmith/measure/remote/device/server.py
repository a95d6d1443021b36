"""The device's server: one host at a time, each with a process of its own.

It registers with TVM's tracker as TVM's own server does, and speaks TVM's protocol to a host. It is
not TVM's server because that says nothing of its machine, has no limit of memory, starts a process
for a session and none for a program, and ends when its tracker is away for a minute.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import shutil
import signal
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, describe
from tunesmith.measure.processes.containment import (
    adopt_orphans,
    crash_silently,
    die_with,
    kill_orphans,
)
from tunesmith.measure.remote.device.about import about_this_device
from tunesmith.measure.remote.device.session import Session
from tunesmith.measure.remote.listening import listen
from tunesmith.measure.remote.tracker import Address, Tracker

# How often the server looks whether the tracker is there, in seconds.
_LOOK_UP = 2.0

# How long a host that was given this device may take to come, in seconds.
_LATE = 8.0

# How long a host may take for the first words of a connection, in seconds.
_HANDSHAKE = 5.0


@dataclass(frozen=True)
class DeviceOptions:
    """Where the tracker is, and as what the device is known there.

    The server listens on ``host`` and ``port``, 0 for any that is free. ``known_as`` is the host
    name by which it is reached, None where the tracker sees it. A trial may use ``memory_limit``
    bytes.
    """

    tracker: Address
    key: str
    host: str
    port: int
    known_as: str | None
    memory_limit: int


class DeviceServer:
    """Listens once it is made; ``serve`` does not return.

    ``tell`` is called with lines for the user. Raises like ``listen``, and
    ``TunesmithError`` if there is no tracker.
    """

    def __init__(self, options: DeviceOptions, tell: Callable[[str], object]) -> None:
        self._options = options
        self._tell = tell
        self._listener = listen(options.host, options.port)
        self.port = int(self._listener.getsockname()[1])
        self._about: Mapping[str, Any] = about_this_device()
        self._match_key = ""
        self._missed_since: float | None = None
        self._tracker: Tracker | None = self._registered()

    def serve(self) -> None:
        """Serve one host after the other until this process is ended."""
        adopt_orphans()
        while True:
            client = self._next_client()
            try:
                with client:
                    address = ":".join(map(str, client.getpeername()[:2]))
                    self._tell(f"{address} works with this device")
                    self._serve(client)
            except OSError as error:  # no room, or a host that has gone: the next one may do
                self._tell(f"a session failed: {describe(error)}")
                time.sleep(_LOOK_UP)
            else:
                self._tell(f"{address} is done")

    # -- the tracker -----------------------------------------------------------------------------

    def _registered(self) -> Tracker:
        options = self._options
        tracker = Tracker(options.tracker)
        try:
            tracker.introduce(options.key, self.port, options.known_as, self._about)
        except TunesmithError:
            tracker.close()
            raise
        return tracker

    def _offer(self) -> None:
        """Tell the tracker that this device is free, by a new match key."""
        self._match_key = f"{self._options.key}:{random.SystemRandom().random()}"
        self._missed_since = None
        if self._tracker is not None:
            options = self._options
            self._tracker.offer(options.key, self.port, options.known_as, self._match_key)

    def _look_up(self) -> None:
        """Come back to a tracker that was restarted, and to offer what nobody came for."""
        try:
            if self._tracker is None:
                self._tracker = self._registered()
                self._tell(f"the tracker at {self._options.tracker} is back")
                self._offer()
            elif self._tracker.is_pending(self._match_key):
                self._missed_since = None
            elif self._missed_since is None:
                self._missed_since = time.monotonic()
            elif time.monotonic() - self._missed_since > _LATE:
                self._offer()
        except TunesmithError as error:
            self._lose_tracker(error)

    def _lose_tracker(self, error: TunesmithError) -> None:
        if self._tracker is not None:
            self._tell(f"{error}: waiting for it to come back")
            self._tracker.close()
            self._tracker = None

    # -- hosts -----------------------------------------------------------------------------------

    def _next_client(self) -> socket.socket:
        """Wait for the host that was given this device."""
        try:
            self._offer()
        except TunesmithError as error:
            self._lose_tracker(error)
        while True:
            if select.select([self._listener], [], [], _LOOK_UP)[0]:
                client, _ = self._listener.accept()
                if self._shakes_hands(client):
                    return client
                client.close()
            else:
                self._look_up()

    def _shakes_hands(self, client: socket.socket) -> bool:
        """Whether a connection is that of a host which knows the match key."""
        from tvm.rpc import base

        client.settimeout(_HANDSHAKE)
        try:
            magic, length = struct.unpack("<ii", base.recvall(client, 8))
            if magic != base.RPC_MAGIC or not 0 < length < 1 << 10:
                return False
            words = base.recvall(client, length).decode("utf-8", "replace").split()
            if words[:1] != [f"client:{self._match_key}"]:
                client.sendall(struct.pack("<i", base.RPC_CODE_MISMATCH))
                return False
            name = f"server:{self._options.key}".encode()
            client.sendall(struct.pack("<ii", base.RPC_CODE_SUCCESS, len(name)) + name)
        except (OSError, struct.error):
            return False
        client.settimeout(None)
        _notice_silence(client)
        return True

    def _serve(self, client: socket.socket) -> None:
        """Fork the session's process, and wait for its end."""
        folder = Path(tempfile.mkdtemp(prefix="tunesmith-device-"))
        server = os.getpid()
        try:
            pid = os.fork()
            if pid == 0:
                self._be_session(server, client, folder)
            while not os.waitpid(pid, os.WNOHANG)[0]:
                time.sleep(0.05)
            kill_orphans()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _be_session(self, server: int, client: socket.socket, folder: Path) -> None:
        """What the session's process does: it never returns."""
        status = 1
        try:
            die_with(server)
            adopt_orphans()
            crash_silently()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides what ends
            self._listener.close()
            if self._tracker is not None:
                self._tracker.close()
            Session(client, folder, self._about, self._options.memory_limit).serve()
            status = 0
        except BaseException as error:
            if "SockChannel" not in str(error):  # the host is gone, which is no surprise
                self._tell(f"the session failed: {describe(error)}")
        finally:
            os._exit(status)


def _notice_silence(client: socket.socket) -> None:
    """Have the system find out within a minute that a host has vanished without a word."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with contextlib.suppress(OSError):
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            client.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
