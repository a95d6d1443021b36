"""What ``measure_loop`` might have returned."""

from __future__ import annotations

from typing import Any

TIME = {"search": 0.5, "build": 60.0, "run": 30.0, "record": 1.5, "idle": 8.0, "total": 100.0}
SPEED = {
    "trials": 500,
    "valid": 480,
    "repeated": 30,
    "valid_trials_per_second": 4.8,
    "measured_per_second": 4.5,
    "time": TIME,
    "overhead_share": 0.02,
}
FOUND = {"seconds": 1.25e-4, "gflops": 411.0, "config": {"tile": [1, 2], "order": ["i", "j"]}}
TORCH = {
    "ratio": 2.5,
    "low": 2.25,
    "high": 2.75,
    "first": 1.25e-4,
    "second": 3.125e-4,
    "first_alone": 1.2e-4,
    "second_alone": 3e-4,
    "pairs": 25,
}
FIGURES: dict[str, Any] = {
    "layer": "resnet18.C8",
    "settings": {"trials": 500},
    "random": {**SPEED, "memory_mib": 300.4, "memory_growth_mib": 0.25, "processes_left": 0},
    "tuned": {**SPEED, "default": FOUND, "best": FOUND, "gain": 12.5, "torch": TORCH},
    "store": {
        "records": 1_000_000,
        "records_per_second": 25_000.4,
        "commits_per_second": 900.0,
        "best_milliseconds": 0.75,
        "best_milliseconds_worst": 2.0,
        "megabytes": 300.0,
    },
    "versions": {"tunesmith": "0.1.0", "torch": "2.13.0"},
}
MACHINE = {"cpu": "Some CPU", "cores": 2, "memory_gib": 8}
