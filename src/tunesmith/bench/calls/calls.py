"""``tunesmith bench calls``: what a call costs beside the program that it runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tunesmith.bench.pages.provenance import origin_now
from tunesmith.bench.peers import SIDE
from tunesmith.bench.peers.library_peers import library_peers
from tunesmith.bench.timing.rotation import Rotation, Turns, median_interval, rotate
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.operators import Operator, conv2d, matmul, softmax
from tunesmith.target import Target

# A turn of one side; a call takes microseconds.
_TURN_SECONDS = 0.01

PEERS = ("pytorch", "numpy", "onnxruntime")
"""Who computes the same operators, where they can."""

WAYS: Mapping[str, str] = {
    "bound": "the program alone (`bind`)",
    "numpy": "NumPy arrays",
    "unaligned": "NumPy arrays that are not aligned to 64 bytes",
    "numpy_out": "the same with `out=`, NumPy",
    "torch": "PyTorch tensors",
    "torch_out": "the same with `out=`, PyTorch",
    "loaded": "NumPy arrays, a kernel that was saved and loaded",
    "prepared_bound": "prepared weights: the program alone",
    "prepared": "prepared weights: NumPy arrays",
    "prepared_torch": "prepared weights: PyTorch tensors",
    "threads_bound": "two threads at once: the program alone",
    "threads": "two threads at once: NumPy arrays",
}
"""How a kernel is called, by name."""

LIMITS: Mapping[str, float] = {"torch": 3e-6, "numpy": 5e-6}
"""At most so many seconds above the bound call, for tensors and for arrays."""


@dataclass(frozen=True)
class CallSettings:
    """``rounds`` in which all sides take turns. Raises ``UsageError`` for one below 3."""

    rounds: int = 15

    def __post_init__(self) -> None:
        if self.rounds < 3:
            raise UsageError(f"rounds must be 3 or more, not {self.rounds}")


def call_workloads() -> dict[str, Operator]:
    """Operators so small that the call is most of their time."""
    return {
        "product": matmul(m=8, n=8, k=8),
        "convolution": conv2d(ci=4, h=8, w=8, co=8, kernel=3, padding=1),
        "softmax": softmax(m=4, n=16),
    }


def measure_calls(settings: CallSettings, say: Callable[[str], None]) -> dict[str, Any]:
    """All figures, JSON-ready; ``say`` is told what goes on.

    Raises ``TunesmithError`` where our own kernel cannot be called.
    """
    rows = [_row(name, operator, settings, say) for name, operator in call_workloads().items()]
    versions = {p: v for p, v in _versions().items() if p in ("torch", "onnxruntime")}
    return {**origin_now(versions, asdict(settings)), "rows": rows}


def bound_of(way: str) -> str:
    """The way of calling that has the program alone, for another one."""
    first = way.split("_", maxsplit=1)[0]
    return f"{first}_bound" if f"{first}_bound" in WAYS else "bound"


def limit_of(way: str) -> float:
    """Seconds that it may take above the bound call."""
    return LIMITS["torch" if "torch" in way else "numpy"]


def _row(
    name: str, operator: Operator, settings: CallSettings, say: Callable[[str], None]
) -> dict[str, Any]:
    target = Target()
    weights = hasattr(operator, "constant_weights")
    sides: dict[str, dict[str, Any]] = {
        way: {
            "kind": "call",
            "way": way,
            "operator": operator.to_json(),
            "cores": target.core_count,
        }
        for way in WAYS
        if weights or not way.startswith("prepared")
    }
    missing = {}
    for peer_name in PEERS:
        peer = library_peers()[peer_name]
        reason = peer.missing() or peer.refuses(operator)
        if reason is None:
            sides[peer_name + " itself"] = peer.side(operator, target.core_count)
        else:
            missing[peer_name] = reason
    say(f"{name}: {len(sides)} ways to call, {settings.rounds} rounds ...")
    rotation = rotate(SIDE, sides, settings.rounds, seconds=_TURN_SECONDS)
    if "bound" in rotation.failed:
        raise TunesmithError(f"{name} cannot be called: {rotation.failed['bound']}")
    missing |= {side.removesuffix(" itself"): why for side, why in rotation.failed.items()}
    return {
        "workload": name,
        "operator": operator.to_json(),
        "calls": {way: _figures(rotation, way) for way in WAYS if way in rotation.turns},
        "peers": {
            peer: _spread(rotation.turns[f"{peer} itself"].rounds)
            for peer in PEERS
            if f"{peer} itself" in rotation.turns
        },
        "missing": missing,
    }


def _figures(rotation: Rotation, way: str) -> dict[str, Any]:
    """The seconds of a call, and how many of them the program does not take, round by round."""
    turns: Turns = rotation.turns[way]
    found: dict[str, Any] = dict(_spread(turns.rounds))
    bound = bound_of(way)
    if way != bound and bound in rotation.turns:
        pairs = zip(turns.rounds, rotation.turns[bound].rounds, strict=True)
        found["over_bound"] = _spread([one - program for one, program in pairs])
    return found


def _spread(values: Any) -> dict[str, float]:
    low, high = median_interval(values)
    return {"seconds": statistics.median(values), "low": low, "high": high}


def _versions() -> dict[str, str]:
    from tunesmith.bench.peers.library_peers import library_versions_of_peers

    return library_versions_of_peers()
