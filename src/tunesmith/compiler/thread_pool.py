"""What TVM's thread pools are told, by variables that they read as their first kernel runs."""

from __future__ import annotations

import os

# If it is unset, TVM uses half of the logical processors, as it assumes that the other half are
# hyper-threads.
_THREADS = "TVM_NUM_THREADS"

# TVM binds its threads to the first processors of the machine, also where the process may not use
# them (taskset), so that two such processes share them. With 0 it leaves threads as they are.
_BIND = "TVM_BIND_THREADS"


def set_pool_threads(count: int) -> None:
    """Give pools that begin from now on so many threads, on processors of this process."""
    os.environ[_THREADS] = str(count)
    _keep_to_own_processors()


def default_pool_threads(count: int) -> None:
    """The same, unless the environment says how many threads, or whether to bind them."""
    os.environ.setdefault(_THREADS, str(count))
    _keep_to_own_processors()


def _keep_to_own_processors() -> None:
    if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        os.environ.setdefault(_BIND, "0")
