"""Rows as ``tunesmith bench operators`` might have measured them."""

from __future__ import annotations

from typing import Any

from tunesmith.bench.operators.workloads import Suite, operator_workloads
from tunesmith.bench.peers.library_peers import library_peers
from tunesmith.store import this_machine

_LAYERS = dict(operator_workloads())
_SHAPES = dict(operator_workloads(suite=Suite.SHAPES))

ORIGIN: dict[str, Any] = {
    "date": "2026-01-02",
    "machine": {**this_machine(), "cpu": "Some CPU", "cores": 2, "memory_gib": 8},
    "versions": {"python": "3.11.7", "tunesmith": "0.1.0", "torch": "2.13.0"},
    "settings": {"seconds": 40.0, "pairs": 25, "turn_seconds": 0.025, "seed": 0},
}


def origin(**fields: Any) -> dict[str, Any]:
    """Where a row comes from; ``settings`` are in place of some of its own."""
    settings = {**ORIGIN["settings"], **fields.pop("settings", {})}
    return {**ORIGIN, **fields, "settings": settings}


def speed(seconds: float, *, disturbed: bool = False) -> dict[str, Any]:
    return {"gflops": 1e-2 / seconds, "seconds": seconds, "alone": seconds, "disturbed": disturbed}


def row(workload: str, ratios: dict[str, float], **fields: Any) -> dict[str, Any]:
    """A row in which ours is so many times as fast as these peers, and the others are missing."""
    peers = {
        name: {"ratio": ratio, "low": 0.95 * ratio, "high": 1.05 * ratio, **speed(1e-4 * ratio)}
        for name, ratio in ratios.items()
    }
    best = min(ratios, key=lambda name: ratios[name], default=None)
    return {
        "workload": workload,
        "operator": (_LAYERS | _SHAPES)[workload].to_json(),
        "origin": ORIGIN,
        **speed(1e-4),
        "peers": peers,
        "missing": {name: "not installed: x" for name in library_peers() if name not in ratios},
        "best_peer": best,
        "best_peer_ratio": None if best is None else ratios[best],
        "sketch": "cpu_tiled",
        "config": {"tile": [1, 2]},
        "target": {"kind": "cpu", "mcpu": None, "cores": None},
        "sketches": {},
        "tuning_seconds": 60.0,
        "trials": 400,
        "valid": 390,
        "start_share": 0.75,
        "curve": [(1, 0.25), (10, 0.75), (200, 1.0)],
        **fields,
    }


def metaschedule(ratio: float, **fields: Any) -> dict[str, Any]:
    return {
        "origin": ORIGIN,
        "rounds": 3,
        "trials": 64,
        "valid": 60,
        "seconds": 60.0,
        "ratio": ratio,
        "low": 0.9 * ratio,
        "high": 1.1 * ratio,
        "first": 1e-4,
        "second": ratio * 1e-4,
        "first_alone": 1e-4,
        "second_alone": ratio * 1e-4,
        "pairs": 25,
        "trials_per_second": 0.5,
        "our_trials_per_second": 10.0,
        **fields,
    }
