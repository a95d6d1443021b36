"""Runs commands one after the other for a measurer, each confined, timed and with a timeout.

This is a separate program, started by ``process``. It is small and single-threaded, so forking from
it is fast and safe, whatever the tuning process has loaded. It reads one JSON request per line and
answers each with one JSON line. If the tuning process ends, even by SIGKILL, it kills the running
command and ends. It uses the standard library only: the package is not on its path.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"
_CHUNK = 1 << 16
_PIPE_CAPACITY = 1 << 20

# How often, in seconds, to check whether the parent is alive: if a fork of it holds the connection
# open, there is no end of file.
_LOOK_UP = 1.0


class ParentGoneError(Exception):
    """The tuning process has ended, or has closed the connection."""


class Tail:
    """The last ``limit`` bytes of a stream, which may be endless."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def add(self, chunk: bytes) -> None:
        self._bytes += chunk
        if len(self._bytes) > 2 * self._limit:
            del self._bytes[: -self._limit]

    def text(self) -> str:
        return self._bytes[-self._limit :].decode("utf-8", "replace")


class Launcher:
    """Serves requests until the connection closes."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._parent = os.getppid()
        self._libc = ctypes.CDLL(None) if _LINUX else None
        if self._libc is not None:
            # Orphans of a command in other sessions become our children: see _sweep.
            self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        pending = b""
        while chunk := os.read(self._requests, _CHUNK):
            pending += chunk
            if pending.endswith(b"\n"):
                answer = self.run(**json.loads(pending))
                pending = b""
                _write(self._answers, json.dumps(answer).encode() + b"\n")

    def run(
        self,
        *,
        argv: list[str],
        cwd: str,
        env: dict[str, str],
        timeout: float,
        memory_limit: int,
        keep: int,
    ) -> dict[str, Any]:
        """Run a command until its end or the timeout, and kill all its descendants."""

        def contain() -> None:  # in the child, before the command
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # Limits what a program allocates. Address space would be the wrong measure: GPU drivers
            # and sanitizers reserve far more of it than any machine has memory.
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            limit = memory_limit if hard == resource.RLIM_INFINITY else min(memory_limit, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
            if self._libc is not None:
                self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

        start = time.perf_counter()
        try:
            child = subprocess.Popen(
                argv,
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                start_new_session=True,
                preexec_fn=contain,  # noqa: PLW1509 # safe: this process has a single thread
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            return {"error": reason or str(error)}
        outputs = (Tail(keep), Tail(keep))
        try:
            seconds = self._watch(child, outputs, start, start + timeout)
        finally:
            # Kill the group before its leader is reaped: afterwards its id may be reused.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            status = child.wait()
            _sweep()
        _drain(child, outputs)
        return {
            "status": status,
            "seconds": time.perf_counter() - start if seconds is None else seconds,
            "timed_out": seconds is None,
            "stdout": outputs[0].text(),
            "stderr": outputs[1].text(),
        }

    def _watch(
        self,
        child: subprocess.Popen[bytes],
        outputs: tuple[Tail, Tail],
        start: float,
        deadline: float,
    ) -> float | None:
        """Seconds until the command ended; None if the deadline came first."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            for stream, tail in zip((child.stdout, child.stderr), outputs, strict=True):
                assert stream is not None
                selector.register(stream, selectors.EVENT_READ, tail)
            while True:
                if _has_ended(child.pid):
                    return time.perf_counter() - start
                left = deadline - time.perf_counter()
                if left <= 0:
                    return None
                for key, _ in selector.select(min(left, _LOOK_UP)):
                    if key.fd == self._requests:
                        raise ParentGoneError
                    chunk = os.read(key.fd, _CHUNK)
                    if isinstance(key.data, Tail):
                        key.data.add(chunk)
                        if not chunk:
                            selector.unregister(key.fileobj)
                if os.getppid() != self._parent:
                    raise ParentGoneError


def _has_ended(pid: int) -> bool:
    """Whether a child has ended, without reaping it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _drain(child: subprocess.Popen[bytes], outputs: tuple[Tail, Tail]) -> None:
    """Read what the dead command left in its pipes."""
    for stream, tail in zip((child.stdout, child.stderr), outputs, strict=True):
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
        with contextlib.suppress(BlockingIOError), stream:
            # Bounded, in case a process that cannot be killed keeps printing.
            for _ in range(_PIPE_CAPACITY // _CHUNK):
                tail.add(os.read(stream.fileno(), _CHUNK))


def _sweep() -> None:
    """Kill the command's orphans outside its process group, now our children (Linux only)."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(OSError):
        while pids := children.read_text().split():
            for pid in map(int, pids):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    # The measurer may close the connection at any time to end this process.
    with contextlib.suppress(ParentGoneError, ConnectionError):
        Launcher(sys.stdin.fileno(), sys.stdout.fileno()).serve()
