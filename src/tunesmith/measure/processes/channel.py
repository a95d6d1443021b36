"""Messages between measuring processes: JSON objects, one per line, over a stream socket."""

from __future__ import annotations

import contextlib
import json
import math
import select
import socket
from collections.abc import Mapping
from typing import Any

from tunesmith.measure.processes.interrupts import interrupted_later

Message = Mapping[str, Any]

_CHUNK = 1 << 16


class ChannelClosedError(Exception):
    """The other end is closed."""


class GarbledError(Exception):
    """The other end sent an invalid message: a candidate may have corrupted its memory."""


class Channel:
    """One end of a connection. Sending never blocks; data that does not fit waits for ``flush``.

    Messages are JSON and not pickled, because a trial that has run a candidate cannot be trusted. A
    line of more than ``limit`` bytes is garbled.
    """

    def __init__(self, end: socket.socket, limit: int = 1 << 26) -> None:
        end.setblocking(False)
        self._socket = end
        self._limit = limit
        self._received = bytearray()
        self._unsent = bytearray()

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    @property
    def unsent(self) -> bool:
        """Whether data waits to be sent."""
        return bool(self._unsent)

    def send(self, message: Message) -> None:
        """Send as much as fits and queue the rest. Raises ``ChannelClosedError``."""
        self._unsent += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Send as much of the queue as fits. Raises ``ChannelClosedError``."""
        try:
            with interrupted_later():
                while self._unsent:
                    del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError as error:
            self._unsent.clear()
            raise ChannelClosedError from error

    def wait(self, timeout: float = math.inf) -> None:
        """Wait up to ``timeout`` seconds, at most an hour, for data to receive.

        Also sends queued data, and returns when it can.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        poll.poll(1000.0 * min(max(timeout, 0.0), 3600.0))
        with contextlib.suppress(ChannelClosedError):  # there may still be messages to receive
            self.flush()

    def receive(self) -> list[dict[str, Any]]:
        """The messages that have arrived, without blocking.

        Raises ``ChannelClosedError`` if there are none and the other end is closed, and
        ``GarbledError``.
        """
        closed = False
        with interrupted_later(), contextlib.suppress(BlockingIOError):
            try:
                while chunk := self._socket.recv(_CHUNK):
                    self._received += chunk
                    if len(self._received) > self._limit:
                        break
                else:
                    closed = True
            except ConnectionError:
                closed = True
        *lines, rest = self._received.split(b"\n")
        self._received = rest
        if len(rest) > self._limit:
            raise GarbledError
        if closed and not lines:
            raise ChannelClosedError
        return [_decode(line) for line in lines]


def _decode(line: bytearray) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:  # also of text that is not UTF-8
        raise GarbledError from error
    if not isinstance(message, dict):
        raise GarbledError
    return message
