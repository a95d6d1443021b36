"""What TVM's thread pools are told, by variables that they read as their first kernel runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from tunesmith.compiler.cores import usable_cores

_OWN_THREADS = Path("/proc/self/task")

# If it is unset, TVM uses half of the logical processors, as it assumes that the other half are
# hyper-threads.
_THREADS = "TVM_NUM_THREADS"

# TVM binds its threads to the first processors of the machine, also where the process may not use
# them (taskset), so that two such processes share them. With 0 it leaves threads as they are.
_BIND = "TVM_BIND_THREADS"


def pool_variables(count: int) -> dict[str, str]:
    """Environment variables for a process whose pools are to have ``count`` threads.

    Where this process may not use all processors, threads are not bound to others, unless the
    environment of this process already says whether to bind them.
    """
    confined = usable_cores() < (os.cpu_count() or 1)
    return {_THREADS: str(count)} | ({_BIND: "0"} if confined and _BIND not in os.environ else {})


def set_pool_threads(count: int) -> None:
    """Give pools of this process that begin from now on ``count`` threads."""
    os.environ.update(pool_variables(count))


def default_pool_threads(count: int) -> None:
    """Give pools of this process ``count`` threads, unless the environment says how many."""
    for name, value in pool_variables(count).items():
        os.environ.setdefault(name, value)


def keep_off_bound_processors() -> None:
    """Keep the calling thread off the processors that other threads of this process are bound to.

    TVM binds the workers of a pool to a processor each, but not the thread that calls kernels. Both
    spin while they wait for each other. Where they began on one processor, Linux left them there
    for seconds beside an idle one, and some processes ran at half their speed. Call this after the
    first kernel, with which the pool begins. If no processor is left, nothing changes.
    """
    left = os.sched_getaffinity(0) - set(_bound_processors())
    if left:
        os.sched_setaffinity(0, left)


def _bound_processors() -> Iterator[int]:
    """Those that the other threads of this process are bound to."""
    own = threading.get_native_id()
    for folder in _OWN_THREADS.iterdir():
        if (thread := int(folder.name)) != own:
            try:
                processors = os.sched_getaffinity(thread)
            except ProcessLookupError:  # it has just ended
                continue
            if len(processors) == 1:
                yield from processors
