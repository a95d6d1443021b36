"""A process of a ``WorkerPool``: it loads the compiler, then calls functions one after the other.

Started as ``python -m tunesmith.measure.processes.pool_worker DESCRIPTOR PARENT``.
"""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import signal
import socket
import sys
from typing import Any

from tunesmith.compiler.importing import load_compiler
from tunesmith.errors import describe
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.processes.containment import crash_silently, die_with, limit_memory

# Bytes that a worker may allocate beyond what the compiler takes.
_MEMORY = 4 << 30


def packed(value: object) -> str:
    """A value as text; functions and classes of the user's main module by value.

    Raises what pickling raises.
    """
    import cloudpickle

    return base64.b64encode(cloudpickle.dumps(value)).decode()


def unpacked(text: str) -> Any:
    """The inverse of ``packed``. Raises what unpickling raises."""
    return pickle.loads(base64.b64decode(text))


def main(descriptor: int, parent: int) -> None:
    """Answer the calls of the parent process until it closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a user's Ctrl-C is for the parent to handle
    die_with(parent)
    channel = Channel(socket.socket(fileno=descriptor))
    load_compiler()
    crash_silently()
    os.environ["TVM_NUM_THREADS"] = "1"  # the other workers compile at the same time
    limit_memory(_MEMORY)
    with contextlib.suppress(ChannelClosedError):
        while True:
            channel.wait()
            for message in channel.receive():
                channel.send(_answer(message))
                while channel.unsent:
                    channel.wait()


def _answer(message: Message) -> Message:
    try:
        function, arguments = unpacked(message["call"])
        return {"result": packed(function(*arguments))}
    except Exception as error:
        return {"failed": describe(error)}


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
