"""Compares the best of a run with what other libraries offer."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from tunesmith.bench.library_peers import library_peer
from tunesmith.bench.paired import Comparison, compare
from tunesmith.errors import TunesmithError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import Operator
from tunesmith.target import Target
from tunesmith.tuning.result import Found, Result


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


def has_torch() -> bool:
    """Whether PyTorch is installed."""
    return importlib.util.find_spec("torch") is not None


def peer_versions() -> dict[str, str]:
    """The installed peers and their versions."""
    return {"torch": importlib.metadata.version("torch")} if has_torch() else {}


def compare_with_torch(found: Found, pairs: int = 25) -> Comparison:
    """The found config against PyTorch; a ratio above 1 means that ours is faster.

    Raises ``TunesmithError`` if PyTorch cannot run the operator.
    """
    assert isinstance(found.problem, TaskProblem)
    return compare(kernel_side(found), torch_side(found.problem), pairs)


def compare_with_peers(result: Result, say: Callable[[str], None]) -> Mapping[str, float]:
    """Seconds of a call by peer name; says why where a peer cannot be compared with.

    A peer's time is ours times the median ratio of paired rounds, so it fits beside ours.
    """
    if result.best is None or not isinstance(result.best.problem, TaskProblem):
        return {}
    if not has_torch():
        say("PyTorch is not installed, so it is not compared with: 'make setup TORCH=1' adds it")
        return {}
    say("comparing with PyTorch, in turn ...")
    try:
        if result.best.problem.task.target.kind == "cuda":
            ratio = _ratio_on_gpu(result.best)
        else:
            ratio = compare_with_torch(result.best).ratio
    except TunesmithError as error:
        say(f"PyTorch cannot be compared with: {error}")
        return {}
    return {"PyTorch": result.best.seconds * ratio}


def _ratio_on_gpu(found: Found, rounds: int = 25) -> float:
    """How much faster the found config is than what PyTorch has of NVIDIA's libraries.

    Raises ``TunesmithError`` if PyTorch cannot run the operator on the GPU.
    """
    from tunesmith.bench.gpu_peers import GpuPeers

    assert isinstance(found.problem, TaskProblem)
    described = {**kernel_side(found), "program_hash": found.measurement.program_hash}
    with contextlib.closing(GpuPeers()) as peers:
        row = peers.compare(found.problem.task.operator, described, rounds)
    return float(row["ratio"])
