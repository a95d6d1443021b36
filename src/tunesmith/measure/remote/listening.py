"""Sockets that wait for connections."""

from __future__ import annotations

import errno
import socket

from tunesmith.errors import TunesmithError, UsageError, system_reason


def listen(host: str, port: int) -> socket.socket:
    """A socket that waits for connections to a host's port, 0 for any that is free.

    Raises ``UsageError`` if the host is no address of this machine, and ``TunesmithError`` if the
    port cannot be had; both name the options ``--host`` and ``--port``.
    """
    try:
        family, *_, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise UsageError(f"--host {host} is no address of this machine: name another") from error
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(128)
    except OSError as error:
        made.close()
        raise _refusal(host, port, error) from error
    return made


def _refusal(host: str, port: int, error: OSError) -> TunesmithError:
    if error.errno == errno.EADDRINUSE:
        return TunesmithError(
            f"port {port} of {host} is in use: name another one by --port, 0 for any"
        )
    if error.errno == errno.EACCES:
        return TunesmithError(f"port {port} needs rights that you have not: name one above 1023")
    if error.errno == errno.EADDRNOTAVAIL:
        return UsageError(f"--host {host} is no address of this machine: name another")
    return TunesmithError(f"cannot listen on {host}, port {port}: {system_reason(error)}")
