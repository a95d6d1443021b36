"""What is compared, as the processes of a comparison are told: programs of ours, and PyTorch."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tunesmith.bench.peers.instruction_sets import InstructionSet
from tunesmith.bench.peers.library_peers import library_peer, library_peers
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import Operator
from tunesmith.target import Target
from tunesmith.tuning.result import Found


def kernel_side(found: Found) -> dict[str, Any]:
    """A found config as a side of a comparison."""
    problem = found.problem
    assert isinstance(problem, TaskProblem)
    parts = {
        "sketch": problem.sketch.name,
        "config": found.config.to_json(),
        "target": asdict(problem.task.target),
    }
    return kernel_side_of(problem.task.operator, parts)


def kernel_side_of(operator: Operator, found: Mapping[str, Any]) -> dict[str, Any]:
    """The same from its parts in JSON: ``sketch``, ``config`` and ``target``."""
    target = Target(**found["target"])
    return {
        "kind": "kernel",
        "operator": operator.to_json(),
        "sketch": found["sketch"],
        "config": found["config"],
        "target": asdict(target),
        "cores": target.core_count,
    }


def torch_side(problem: TaskProblem) -> dict[str, Any]:
    """PyTorch's operator as a side of a comparison."""
    task = problem.task
    return library_peer("pytorch").side(task.operator, task.target.core_count)


def library_sides(
    operator: Operator, cores: int, held: InstructionSet | None
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """All libraries that can compute an operator, as sides by name, and why the others cannot."""
    sides, missing = {}, {}
    for peer in library_peers().values():
        reason = peer.missing() or peer.refuses(operator)
        if reason is None:
            sides[peer.name] = peer.side(operator, cores, held)
        else:
            missing[peer.name] = reason
    return sides, missing


def has_torch() -> bool:
    """Whether PyTorch is installed."""
    return importlib.util.find_spec("torch") is not None


def peer_versions() -> dict[str, str]:
    """The installed peers and their versions."""
    return {"torch": importlib.metadata.version("torch")} if has_torch() else {}
