"""Confines a trial's process before it runs a candidate (Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
from collections.abc import Set
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# The address space of a thread's stack.
_STACK = 8 << 20

_libc = ctypes.CDLL(None)


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children() -> set[int]:
    """The children of this process; empty if the system does not list them."""
    with contextlib.suppress(OSError):
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))
    return set()


def kill_orphans(but: Set[int] = frozenset()) -> None:
    """Kill the children of this process, except some: what processes that have ended left behind,
    which has become ours (``adopt_orphans``)."""
    for pid in children() - but:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def kill_session(leader: int) -> None:
    """Kill all processes of the session led by a child that has not been waited for."""
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)


def die_with(parent: int) -> None:
    """Have the system kill this process when ``parent``, its parent, ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)


def contain(parent: int, keep: int, errors: int, memory_limit: int | None, threads: int) -> None:
    """Confine this process, a fresh child of ``parent``.

    It leads its own process group and dies with its parent. It may allocate ``memory_limit`` bytes
    on top of what it inherited, without limit for None. Of the inherited descriptors only ``keep``
    stays open; standard error goes to ``errors``, standard output is discarded.
    """
    os.setpgid(0, 0)
    die_with(parent)
    crash_silently()
    _redirect(keep, errors)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_limit is not None:
        limit_memory(memory_limit + threads * _STACK)
    gc.disable()


def crash_silently() -> None:
    """Undo TVM's handlers: they print a stack trace, slowly, in a process that is broken."""
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT):
        signal.signal(number, signal.SIG_DFL)


def _redirect(keep: int, errors: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.dup2(errors, 2)
    # Especially the server's connections: their peers must see the end of file when it dies. One by
    # one of those that are open: not every Python closes a range at once, and the limit may be a
    # billion.
    for number in [int(each.name) for each in Path("/proc/self/fd").iterdir()]:
        if number > 2 and number != keep:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(number)


def limit_memory(extra: int) -> None:
    """Let this process allocate so many bytes beyond what it has, and be killed first if the
    machine has no more."""
    # Private writable memory is what a program allocates. Address space would be the wrong measure:
    # threads reserve much of it that they never use.
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = memory_status("VmData") + extra
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    with contextlib.suppress(OSError):  # if the machine runs out of memory, kill this process first
        Path("/proc/self/oom_score_adj").write_text("1000")


def memory_status(name: str) -> int:
    """A memory figure of this process in bytes, by its name in ``/proc/self/status``."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise OSError(f"the system does not tell {name}")
