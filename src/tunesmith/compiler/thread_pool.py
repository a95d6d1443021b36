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
    """Environment variables for a process whose pools are to have ``count`` threads.

    Where this process may not use all processors, threads are not bound to others, unless the
    environment of this process already says whether to bind them.
    """
    confined = len(os.sched_getaffinity(0)) < (os.cpu_count() or 1)
    return {_THREADS: str(count)} | ({_BIND: "0"} if confined and _BIND not in os.environ else {})


def set_pool_threads(count: int) -> None:
    """Give pools of this process that begin from now on ``count`` threads."""
    os.environ.update(pool_variables(count))


def default_pool_threads(count: int) -> None:
    """Give pools of this process ``count`` threads, unless the environment says how many."""
    for name, value in pool_variables(count).items():
        os.environ.setdefault(name, value)
