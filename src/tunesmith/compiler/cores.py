"""How many processors this process may use (Linux)."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def usable_cores() -> int:
    """The processors that this process may run on, no more than its control groups have time of.

    Containers are often given a share of the time of all processors rather than some of these.
    """
    return max(1, math.ceil(min(len(os.sched_getaffinity(0)), cores_of_quota())))


@cache
def cores_of_quota(groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> float:
    """The processors whose time the control groups of this process have; infinite without a limit.

    ``groups`` is where they are mounted, ``own`` lists those of this process.
    """
    least = math.inf
    with contextlib.suppress(OSError, ValueError):
        for line in own.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            # Of the first version each set of controllers has a folder, of the second all have one.
            top = groups / controllers if controllers else groups
            least = min([least, *map(_cores, _with_parents(top, path))])
    return least


def _with_parents(top: Path, path: str) -> Iterator[Path]:
    """The folders of a group and of those around it, all of which limit it."""
    folder = top / path.lstrip("/")
    while folder != top and top in folder.parents:
        yield folder
        folder = folder.parent
    yield top


def _cores(group: Path) -> float:
    with contextlib.suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        return math.inf if quota == "max" else int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        microseconds = int((group / "cpu.cfs_quota_us").read_text(encoding="utf-8"))
        period = (group / "cpu.cfs_period_us").read_text(encoding="utf-8")
        return math.inf if microseconds < 0 else microseconds / int(period)
    return math.inf
