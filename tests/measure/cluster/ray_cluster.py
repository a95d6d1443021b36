"""A cluster of Ray on this machine, with nodes that can be added and killed."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tunesmith.measure.cluster.kind import NodeKind, describe_node

ROOT = Path(__file__).parents[3]

_KIND = "TUNESMITH_TEST_KIND"

# How soon a node counts as dead whose connection is refused, in milliseconds.
_WATCHFUL = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500}

# Ray's least is 75 MB.
_STORE = 80 << 20


def described() -> NodeKind:
    """What ``describe_node`` says, of another processor on nodes that are to be of another kind."""
    kind = describe_node()
    if _KIND not in os.environ:
        return kind
    machines = {
        name: {**machine, "fingerprint": os.environ[_KIND]}
        for name, machine in kind.machines.items()
    }
    return replace(kind, machines=machines)


class RayCluster:
    """A head that takes no work, which this process is connected to, and nodes."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster()
        self.add(num_cpus=0, include_dashboard=False, _system_config=_WATCHFUL)
        self.address = str(self._cluster.address)

    def add(self, environment: Mapping[str, str] | None = None, **options: Any) -> Any:
        """A new node."""
        return self._cluster.add_node(
            node_ip_address="127.0.0.2",
            object_store_memory=_STORE,
            env_vars=dict(environment or {}),
            **{"num_cpus": 1, **options},
        )

    def add_other(self) -> Any:
        """A new node of another kind."""
        return self.add({_KIND: "another"})

    def kill(self, node: Any) -> None:
        """Kill all processes of a node at once."""
        self._cluster.remove_node(node, allow_graceful=False)

    def kill_all(self) -> None:
        """Kill all nodes but the head."""
        for node in list(self._cluster.worker_nodes):
            self.kill(node)

    def workers(self) -> list[psutil.Process]:
        """The processes of Ray in which our workers are."""
        return [one for one in _descendants() if name_of(one).startswith("ray::NodeWorker")]


def name_of(process: psutil.Process) -> str:
    """The name of a process, empty if it has ended."""
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def _descendants() -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process().children(recursive=True)
    return found


@contextlib.contextmanager
def ray_cluster() -> Iterator[RayCluster]:
    """A cluster of its own, of which nothing is left after the block."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'tunesmith[cluster]'")
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # sockets have short paths
    (Path(folder) / "ray").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        before = set(_descendants())
        try:
            yield RayCluster()
        finally:
            import ray

            ray.shutdown()  # a process whose connection breaks is ended by Ray
            left = list(set(_descendants()) - before)
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, timeout=10.0)
            # What those had started writes there until it notices that they are gone.
            shutil.rmtree(folder, ignore_errors=True)
