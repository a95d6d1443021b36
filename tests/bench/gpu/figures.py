"""Figures of ``tunesmith bench gpu`` that nobody measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.bench.operators.rows import origin
from tunesmith.bench.gpu.workloads import gpu_workloads

GPU = {
    "name": "NVIDIA H100 80GB HBM3",
    "arch": "sm_90",
    "count": 1,
    "memory_gib": 79.2,
    "multiprocessors": 132,
    "l2_mib": 50.0,
    "driver": "580.65.06",
    "cuda": "13.0",
    "nvcc": "13.0",
    "clocks": {"sm_mhz": 345, "memory_mhz": 2619, "celsius": 31},
}


def tuning(seconds: float = 1e-4, pace: float = 10.0, idle: float = 0.25) -> dict[str, Any]:
    """The fields about a tuning run."""
    return {
        "sketch": "cuda_tiled",
        "config": {"tile_m": [1, 2]},
        "target": {"kind": "cuda", "mcpu": None, "cores": None, "arch": None},
        "program_hash": "0123456789abcdef",
        "best_seconds": seconds,
        "gflops": 1e3,
        "default_seconds": 2 * seconds,
        "trials": 90,
        "earlier_trials": 10,
        "outcomes": {"NO_ERROR": 60, "INSTANTIATION_ERROR": 40},
        "sketches": {"cuda_tiled": {"trials": 100, "best_seconds": seconds}},
        "time": {"search": 1.0, "build": 2.0, "run": 6.0, "record": 0.1, "idle": 0.9, "total": 10},
        "seconds": 10.0,
        "pace": {
            "start_seconds": 3.5,
            "trials_per_second": pace,
            "valid_per_second": 0.6 * pace,
            "gpu_idle": idle,
        },
        "gpu_idle": 0.4,
        "trials_per_second": 9.0,
        "clocks": {"sm_mhz": 1980, "memory_mhz": 2619, "celsius": 44},
    }


def compared(ratio: float, library: str = "cuBLAS", way: str = "cuBLASLt") -> dict[str, Any]:
    """The fields about a comparison."""
    speed = {"seconds": 1e-4, "gflops": 1e3, "alone": 1e-4, "disturbed": False}
    return {
        **speed,
        "library": {**speed, "name": library, "way": way, "seconds": 1e-4 * ratio},
        "ratio": ratio,
        "low": 0.98 * ratio,
        "high": 1.02 * ratio,
        "rounds": 25,
        "clocks": {"sm_mhz": 1980, "memory_mhz": 2619, "celsius": 45},
    }


def row(workload: str, **fields: Any) -> dict[str, Any]:
    """A workload's row; without further fields it has a comparison that ended even."""
    known = gpu_workloads()
    described = known[workload].to_json() if workload in known else {}
    plain = {"tuning": tuning(), "comparison": compared(1.0)}
    return {"workload": workload, "operator": described, "origin": origin(), **plain, **fields}


def sketch_row(name: str, **outcomes: int) -> dict[str, Any]:
    """A sketch's row."""
    return {
        "sketch": name,
        "version": 1,
        "only_by_name": False,
        "dtypes": ["float32", "bfloat16"],
        "operators": ["matmul(m=64)", "matmul(m=33)"],
        "outcomes": outcomes,
        "unfinished": 0,
        "failures": [],
    }


def figures(rows: Sequence[dict[str, Any]] = (), **fields: Any) -> dict[str, Any]:
    """What the JSON file holds, before it is summed up."""
    made = origin()
    return {
        "gpu": GPU,
        "machine": made["machine"],
        "versions": made["versions"],
        "date": made["date"],
        "settings": {"seconds": 480.0},
        "parts": {"tuning": {"seconds": 240.0, "failed": None}},
        "libraries": {"missing": None, "versions": {"torch": "2.13.0+cu130", "cuDNN": "91300"}},
        "sketches": [],
        "rows": list(rows),
        "recording": None,
        **fields,
    }
