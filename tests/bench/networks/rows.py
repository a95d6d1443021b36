"""Rows as ``tunesmith bench networks`` might have measured them."""

from __future__ import annotations

from typing import Any

from tests.bench.operators.rows import ORIGIN
from tunesmith.bench.networks.bench import EARLY, UNTUNED

WHERE = {
    "runtime_share": 0.004,
    "parts": [
        {
            "what": "conv2d 64×56×56 → 64×56×56, 3×3",
            "calls": 4,
            "share": 0.4,
            "share_of_peak": 0.5,
            "limit": "arithmetic",
            "sketch": "cpu_winograd",
        }
    ],
}
SETTINGS = {"seconds": 600.0, "early": 180.0, "rounds": 15, "seed": 0, "slow": True}


def side(milliseconds: float, **fields: Any) -> dict[str, Any]:
    return {
        "milliseconds": milliseconds,
        "alone": milliseconds,
        "disturbed": False,
        "peak_bytes": 200_000_000,
        "way": None,
        **fields,
    }


def ratio(value: float) -> dict[str, float]:
    return {"ratio": value, "low": 0.9 * value, "high": 1.1 * value}


def row(workload: str, ratios: dict[str, float], **fields: Any) -> dict[str, Any]:
    """A row in which ours takes 10 ms and is so many times as fast as these peers."""
    network, _, batch = workload.partition(".b")
    best = min(ratios, key=lambda name: ratios[name], default=None)
    least = None if best is None else ratios[best]
    return {
        "workload": workload,
        "network": network,
        "batch": int(batch or 1),
        "dtype": "float32",
        "origin": {**ORIGIN, "settings": SETTINGS},
        **side(10.0),
        "peers": {name: {**ratio(each), **side(10 * each)} for name, each in ratios.items()},
        "timed_once": {"tvm": {"ratio": 80.0, "milliseconds": 800.0}},
        "missing": {},
        "best_peer": best,
        "best_peer_ratio": least,
        "builds": {
            UNTUNED: {**side(14.0), "best_peer": least and ratio(least * 10 / 14)},
            EARLY: {**side(11.0), "best_peer": least and ratio(least * 10 / 11)},
        },
        "tuning_seconds": 600.0,
        "untuned_build_seconds": 30.0,
        "relative_error": 6e-7,
        "where": WHERE,
        "file_bytes": 60_000_000,
        "weight_bytes": 50_000_000,
        "tasks": 18,
        "layers": 23,
        "uncovered": ["reshape"],
        **fields,
    }
