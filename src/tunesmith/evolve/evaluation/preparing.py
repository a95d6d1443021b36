"""The tests of the original, run in a child of the server: the server itself never runs a kernel,
so that no variant finds anything of the original in its memory."""

from __future__ import annotations

import base64
import contextlib
import importlib
import pickle
import select
import sys
import time
from collections.abc import Iterator
from typing import Any

import cloudpickle

from tunesmith.errors import TunesmithError, describe
from tunesmith.evolve.evaluation.subject import Evaluator
from tunesmith.measure.failure import describe_exit, out_of_memory, tells_no_memory
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, GarbledError
from tunesmith.measure.processes.child import Child

# Seconds for the tests of the original.
_TIMEOUT = 240.0
# What a message brings, in bytes: it must not be too long.
_PART = 1 << 18


def prepared(evaluator: Evaluator, memory_limit: int, threads: int) -> Any:
    """What an evaluator prepares, with so many bytes and threads. What its tests import is imported
    here as well, so that not each child has to do it.

    Raises ``TunesmithError`` where the original fails its tests, or these make no sense.
    """

    def prepare(channel: Channel) -> None:
        before = set(sys.modules)
        try:
            ready = evaluator.prepare()
            imported = [name for name in sys.modules if name not in before]
            packed = cloudpickle.dumps((ready, imported))
            for first in range(0, len(packed), _PART):
                part = base64.b64encode(packed[first : first + _PART]).decode()
                channel.send({"part": part})
            channel.send({"length": len(packed)})
        except TunesmithError as error:
            channel.send({"failure": str(error)})
        except Exception as error:
            channel.send({"failure": f"the original fails its tests: {describe(error)}"})
        while channel.unsent:
            channel.wait()

    child = Child(prepare, memory_limit, threads)
    told: dict[str, Any] = {}
    packed = bytearray()
    for message in _messages(child):
        packed += base64.b64decode(message.get("part", ""))
        told.update(message)
    ended = child.reap()
    if "failure" in told:
        raise TunesmithError(str(told["failure"]))
    if told.get("length") != len(packed):
        why = describe_exit(ended.status, ended.last_line)
        if told.get("late"):
            why = f"they are not done after {_TIMEOUT:g} s"
        elif tells_no_memory(ended.last_line):
            why = out_of_memory(memory_limit)
        raise TunesmithError(f"the original fails its tests: {why}")
    ready, imported = pickle.loads(bytes(packed))
    for name in imported:
        with contextlib.suppress(Exception):  # some modules make others that no file has
            importlib.import_module(name)
    return ready


def _messages(child: Child) -> Iterator[dict[str, Any]]:
    """What a child says, until it ends; one that takes too long is killed, and said to be late."""
    until = time.monotonic() + _TIMEOUT
    with contextlib.suppress(ChannelClosedError, GarbledError):
        while True:
            left = max(0.0, until - time.monotonic())
            poll = select.poll()  # select() refuses descriptors above 1023
            poll.register(child.channel, select.POLLIN)
            if not poll.poll(1000.0 * left):
                child.kill()
                yield {"late": True}
                return
            yield from child.channel.receive()
