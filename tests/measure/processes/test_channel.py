"""Messages over a socket."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.measure.processes.channel import Channel, ChannelClosedError, GarbledError

MESSAGES = st.lists(
    st.dictionaries(
        st.text(max_size=5), st.none() | st.booleans() | st.floats(allow_nan=False) | st.text()
    ),
    max_size=20,
)


@given(MESSAGES)
def test_messages_arrive_as_they_were_sent(messages: list[dict[str, object]]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender, receiver = Channel(ours), Channel(theirs)
        for message in messages:
            sender.send(message)
        assert receiver.receive() == messages


@given(MESSAGES, st.integers(1, 50))
def test_pieces_of_messages_are_put_together(messages: list[dict[str, object]], size: int) -> None:
    data = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        receiver = Channel(theirs)
        received = []
        for start in range(0, len(data), size):
            ours.sendall(data[start : start + size])
            received += receiver.receive()
    assert received == messages


def test_infinity_is_a_number() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send({"seconds": math.inf})
        assert Channel(theirs).receive() == [{"seconds": math.inf}]


def test_nothing_to_receive_is_no_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(theirs)
        channel.wait(0.0)
        assert channel.receive() == []


def test_last_messages_come_before_the_end() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(theirs)
        Channel(ours).send({"last": 1})
        ours.close()
        channel.wait()
        assert channel.receive() == [{"last": 1}]
        with pytest.raises(ChannelClosedError):
            channel.receive()


def test_sending_to_nobody() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        with pytest.raises(ChannelClosedError):
            Channel(ours).send({})


@pytest.mark.parametrize("line", [b"{]\n", b"[1]\n", b"\xff\xfe\n", b"3\n", b"\n", b"x" * 200])
def test_garbage_is_recognised(line: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(theirs, limit=100)
        ours.sendall(line)
        with pytest.raises(GarbledError):
            channel.receive()


def test_sending_does_not_block_and_goes_on_while_waiting() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender, receiver = Channel(ours), Channel(theirs)
        message = {"long": "x" * (1 << 20)}
        for _ in range(4):
            sender.send(message)
        assert sender.unsent
        received: list[dict[str, object]] = []
        while len(received) < 4:
            received += receiver.receive()
            sender.wait(0.0)
        assert not sender.unsent
        assert received == [message] * 4


def test_last_words_can_be_received_though_nothing_can_be_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        channel = Channel(ours)
        channel.send({"long": "x" * (1 << 22)})
        assert channel.unsent
        Channel(theirs).send({"last": "words"})
        theirs.shutdown(socket.SHUT_RD)
        channel.wait()
        assert not channel.unsent
        assert channel.receive() == [{"last": "words"}]
        theirs.close()


def test_waiting_ends_with_a_message() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender, receiver = Channel(ours), Channel(theirs)
        timer = threading.Timer(0.05, sender.send, [{"late": True}])
        timer.start()
        receiver.wait()
        assert receiver.receive() == [{"late": True}]
        timer.join()


class Interrupted(socket.socket):
    """A socket whose user presses Ctrl-C just when bytes have gone, or come."""

    interrupts = 1

    def _interrupt(self) -> None:
        if self.interrupts:
            self.interrupts -= 1
            os.kill(os.getpid(), signal.SIGINT)

    def send(self, *given: Any) -> int:
        sent = super().send(*given)
        self._interrupt()
        return sent

    def recv(self, *given: Any) -> bytes:
        received = super().recv(*given)
        self._interrupt()
        return received


@pytest.fixture
def ends() -> Iterator[tuple[Interrupted, socket.socket]]:
    ours, theirs = socket.socketpair()
    with Interrupted(fileno=ours.detach()) as end, theirs:
        yield end, theirs


def test_who_is_interrupted_sends_nothing_twice(ends: tuple[Interrupted, socket.socket]) -> None:
    sender, receiver = map(Channel, ends)
    with pytest.raises(KeyboardInterrupt):
        sender.send({"number": 1})
    sender.send({"number": 2})
    assert receiver.receive() == [{"number": 1}, {"number": 2}]


def test_who_is_interrupted_loses_no_part_of_a_message(
    ends: tuple[Interrupted, socket.socket],
) -> None:
    ours, theirs = ends
    receiver = Channel(ours)
    theirs.sendall(b'{"number"')
    with pytest.raises(KeyboardInterrupt):
        receiver.receive()
    theirs.sendall(b": 1}\n")
    assert receiver.receive() == [{"number": 1}]
