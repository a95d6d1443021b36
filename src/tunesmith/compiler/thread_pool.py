"""What TVM's thread pools are told, by variables that they read as their first kernel runs."""

from __future__ import annotations

import os

# If it is unset, TVM uses half of the logical processors, as it assumes that the other half are
# hyper-threads.
_THREADS = "TVM_NUM_THREADS"

# TVM binds its threads to the first processors of the machine, also where the process may not use
# them (taskset), so that two such processes share them. With 0 it leaves threads as they are.
_BIND = "TVM_BIND_THREADS"


def pool_variables(count: int) -> dict[str, str]:
    """What the environment of a process is to hold, so that pools have so many threads, on the
    processors that this process may use. Whether to bind threads is left to the environment, if
    that says so."""
    confined = len(os.sched_getaffinity(0)) < (os.cpu_count() or 1)
    return {_THREADS: str(count)} | ({_BIND: "0"} if confined and _BIND not in os.environ else {})


def set_pool_threads(count: int) -> None:
    """The same for pools of this process that begin from now on."""
    os.environ.update(pool_variables(count))


def default_pool_threads(count: int) -> None:
    """The same, unless the environment says how many threads."""
    for name, value in pool_variables(count).items():
        os.environ.setdefault(name, value)
