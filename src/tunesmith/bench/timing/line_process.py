"""The handle of a process of ours that answers JSON lines with JSON lines."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, Self

from tunesmith.errors import TunesmithError


class LineProcess:
    """A process that runs a module of ours; its argument is this process's number.

    It leads a process group of its own, which ``close`` ends as a whole.
    """

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        """``environment`` comes on top of this process's own."""
        self._unread = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, **environment},
            process_group=0,
        )

    def say(self, message: Mapping[str, Any]) -> None:
        """Send a message, of which the answer is not waited for."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the answer will tell
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def answer(self, patience: float) -> dict[str, Any]:
        """The next answer, for which it has ``patience`` seconds.

        Raises ``TunesmithError`` if it takes longer, is gone, or answers with an error.
        """
        line = self._line(patience)
        if not line:
            raise TunesmithError("a process of the comparison ended unexpectedly: run it again")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise TunesmithError(answer["error"])
        return answer

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        if self._process.returncode is None:  # once waited for, its number may be another's
            os.killpg(self._process.pid, number)

    def close(self) -> None:
        """End the process and all that it started. Safe to call twice."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # a request that it did not live to read
                    stream.close()

    def _line(self, patience: float) -> bytes:
        """What it says; nothing if it is gone. Raises ``TunesmithError`` after ``patience``."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + patience
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise TunesmithError(f"no answer within {patience:g} s: it was given up")
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            if not read:
                return b""
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
