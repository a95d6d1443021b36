"""Compares the best of a run with PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from tunesmith.bench.peers import SIDE
from tunesmith.bench.peers.sides import has_torch, kernel_side, torch_side
from tunesmith.bench.timing.paired import Comparison, compare
from tunesmith.errors import TunesmithError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.tuning.result import Found, Result


def compare_with_torch(found: Found, pairs: int = 25) -> Comparison:
    """The found config against PyTorch; a ratio above 1 means that ours is faster.

    Raises ``TunesmithError`` if PyTorch cannot run the operator.
    """
    assert isinstance(found.problem, TaskProblem)
    return compare(SIDE, kernel_side(found), torch_side(found.problem), pairs)


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
    from tunesmith.bench.gpu.peers import GpuPeers

    assert isinstance(found.problem, TaskProblem)
    described = {**kernel_side(found), "program_hash": found.measurement.program_hash}
    with contextlib.closing(GpuPeers()) as peers:
        row = peers.compare(found.problem.task.operator, described, rounds)
    return float(row["ratio"])
