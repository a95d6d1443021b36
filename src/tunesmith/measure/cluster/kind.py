"""What kind of machine a node of a cluster is, and what it can do for a target."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.compiler import llvm
from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import UsageError
from tunesmith.machine import machine_for
from tunesmith.target import KINDS, Target


class Role(enum.Enum):
    """What a node does: it measures (and builds), or only builds."""

    MEASURE = enum.auto()
    BUILD = enum.auto()


@dataclass(frozen=True)
class NodeKind:
    """A node by what it says of itself.

    ``machines`` has ``this_machine`` for each kind of target, ``processor`` is LLVM's name,
    ``cores`` is how many a process may use, ``arch`` the architecture of its GPU, if it has one.
    """

    machines: Mapping[str, Mapping[str, Any]]
    processor: str
    cores: int
    arch: str | None = None

    def fits(self, target: Target, host: NodeKind) -> bool:
        """Whether it is what a target means: what the target leaves open is as on the host."""
        if target.kind == "cuda" and target.arch is not None:
            from tunesmith.cuda.devices import runs

            return self.arch is not None and runs(self.arch, target.arch)
        if target.kind == "cpu" and target.mcpu is not None:
            return self.processor == target.mcpu
        return self._same_speed(host, target)

    def role(self, target: Target, reference: NodeKind) -> Role | None:
        """What it does for a target, where the times are to be those of ``reference``; None if
        it can do nothing."""
        if self._same_speed(reference, target):
            return Role.MEASURE
        # A GPU's machine code is in a cache of the node that has compiled it.
        same = self.machines["cpu"]["architecture"] == reference.machines["cpu"]["architecture"]
        return Role.BUILD if same and target.kind == "cpu" else None

    def resolve(self, target: Target) -> Target:
        """The target with all that it leaves open as on this node."""
        return replace(
            target,
            mcpu=target.mcpu or self.processor,
            cores=target.cores or self.cores,
            arch=(target.arch or self.arch) if target.kind == "cuda" else None,
        )

    def _same_speed(self, other: NodeKind, target: Target) -> bool:
        machine, others = self.machines[target.kind], other.machines[target.kind]
        cores = target.cores or self.cores, target.cores or other.cores
        return machine["fingerprint"] == others["fingerprint"] and cores[0] == cores[1]


def describe_node() -> NodeKind:
    """The machine that this runs on."""
    return NodeKind(
        machines={kind: machine_for(kind) for kind in KINDS},
        processor=llvm.host_processor(),
        cores=usable_cores(),
        arch=_gpu_arch(),
    )


def _gpu_arch() -> str | None:
    from tunesmith.cuda.devices import gpus

    try:
        return gpus()[0].arch
    except UsageError:
        return None
