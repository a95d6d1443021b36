"""Where one can listen, and what is said where one cannot."""

from __future__ import annotations

import errno
import socket
from typing import Any

import pytest

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.remote.device import server
from tunesmith.measure.remote.listening import listen


def test_a_free_port() -> None:
    with listen("127.0.0.1", 0) as one:
        port = one.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert client.getpeername() == ("127.0.0.1", port)
        with pytest.raises(TunesmithError, match=f"port {port} of 127.0.0.1 is in use: name"):
            listen("127.0.0.1", port)
    listen("127.0.0.1", port).close()


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a" * 300, "\0"])
def test_addresses_of_others(host: str) -> None:
    with pytest.raises(UsageError, match="is no address of this machine: name another"):
        listen(host, 0)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EACCES, "port 80 needs rights that you have not: name one above 1023"),
        (errno.ENOBUFS, "cannot listen on 127.0.0.1, port 80: no buffer space available"),
    ],
)
def test_what_else_the_system_says(
    number: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused(socket.socket):
        def bind(self, _: object) -> None:
            raise OSError(number, "No buffer space available")

    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(TunesmithError) as raised:
        listen("127.0.0.1", 80)
    assert str(raised.value) == message


def test_a_session_that_cannot_begin_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody would have to go to the board."""

    def full(**_: Any) -> str:
        raise OSError(28, "No space left on device")

    def next_client() -> socket.socket:
        if not clients:
            raise KeyboardInterrupt
        return clients.pop()

    monkeypatch.setattr(server, "adopt_orphans", lambda: None)  # this process is pytest's
    monkeypatch.setattr(server, "_LOOK_UP", 0.0)
    monkeypatch.setattr("tempfile.mkdtemp", full)
    ours, theirs = socket.socketpair()
    clients, told = [ours], list[str]()
    made = server.DeviceServer.__new__(server.DeviceServer)
    monkeypatch.setattr(made, "_tell", told.append, raising=False)
    monkeypatch.setattr(made, "_next_client", next_client)
    with theirs, pytest.raises(KeyboardInterrupt):
        made.serve()
    assert "No space left" in told[-1]
