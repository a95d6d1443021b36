"""Messages between the processes that measure: JSON objects, one a line, over a stream socket."""

from __future__ import annotations

import contextlib
import json
import math
import select
import socket
from collections.abc import Mapping
from typing import Any

Message = Mapping[str, Any]

_CHUNK = 1 << 16


class ChannelClosedError(Exception):
    """The other side is gone."""


class GarbledError(Exception):
    """The other side sent what is no message: a candidate may have written over its memory."""


class Channel:
    """One end of a connection. Sending never blocks; what does not fit waits for ``flush``.

    JSON rather than pickle, because what a trial sends cannot be trusted: it has run a candidate.
    A line of more than ``limit`` bytes is garbled.
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
        """Whether something waits to be sent."""
        return bool(self._unsent)

    def send(self, message: Message) -> None:
        """Send now, or as much as fits. Raises ``ChannelClosedError``."""
        self._unsent += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Send what fits of what waits. Raises ``ChannelClosedError``."""
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError as error:
            self._unsent.clear()
            raise ChannelClosedError from error

    def wait(self, timeout: float = math.inf) -> None:
        """Wait so many seconds, but an hour at most, for something to receive.

        Meanwhile send what waits to be sent; that may end the waiting too.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        poll.poll(1000.0 * min(max(timeout, 0.0), 3600.0))
        with contextlib.suppress(ChannelClosedError):  # there may be last words to receive
            self.flush()

    def receive(self) -> list[dict[str, Any]]:
        """The messages that are there, without blocking; maybe none.

        Raises ``ChannelClosedError`` when there are none and there will be none, and
        ``GarbledError``.
        """
        closed = False
        with contextlib.suppress(BlockingIOError):
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
