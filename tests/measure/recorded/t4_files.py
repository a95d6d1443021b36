"""Small T4 and T1 files, made by hand as other tools write them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]

# Where real files are, for those who have them.
SHARED = Path(__file__).parents[4] / "shared" / "data" / "replay"

T1 = {
    "General": {"BenchmarkName": "small"},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block", "Type": "int", "Values": "[16, 32, 64]", "Default": 16},
            {"Name": "unroll", "Type": "int", "Values": "[0, 1]", "Default": 0},
        ],
        "Conditions": [{"Expression": "block < 64 or unroll == 0", "Parameters": ["block"]}],
    },
}
"""Five configs: all but block = 64 with unroll = 1."""

FAILURES = {"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime"}
CONFIGS = [(16, 0), (16, 1), (32, 0), (32, 1), (64, 0)]


def result(block: int = 16, unroll: int = 0, time: Any = 2.0, **changes: Any) -> Row:
    """A result in milliseconds whose trial cost 100 to build and 10 + 5 + 3 * ``time`` else.

    A time that is a string is Kernel Tuner's for a failure; ``changes`` replace fields, and those
    that are ``...`` are left out.
    """
    failure = FAILURES.get(time) if isinstance(time, str) else None
    row = {
        "timestamp": "2023-12-22 09:54:05.502007+00:00",
        "configuration": {"block": block, "unroll": unroll},
        "times": {
            "compilation": 100.0,
            "framework": 10.0,
            "search_algorithm": 7,
            "validation": 5,
            **({} if failure else {"runtimes": [time, time, time]}),
        },
        "invalidity": failure or "correct",
        "correctness": 0 if failure else 1,
        "measurements": [{"name": "time", "value": time, "unit": ""}],
        "objectives": ["time"],
        **changes,
    }
    return {name: value for name, value in row.items() if value is not ...}


def document(rows: Iterable[Row], **changes: Any) -> dict[str, Any]:
    """The whole of a file; ``changes`` as for ``result``."""
    whole = {
        "metadata": {"timeunit": "miliseconds"},  # as published files have it
        "results": list(rows),
        "schema_version": "1.0.0",
        **changes,
    }
    return {name: value for name, value in whole.items() if value is not ...}


def write(path: Path, contents: Mapping[str, Any] | str) -> Path:
    """Write JSON, or a text as it is, compressed if the name says so."""
    text = contents if isinstance(contents, str) else json.dumps(contents, indent=2)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def recorded(
    folder: Path,
    time: Callable[[int, int], Any] = lambda block, unroll: block / 8 + unroll,
    *,
    configs: Iterable[tuple[int, int]] = CONFIGS,
    name: str = "A100.json.gz",
) -> Path:
    """A file of these configs with its space beside it."""
    write(folder / "space.T1.json", T1)
    rows = [result(block, unroll, time(block, unroll)) for block, unroll in configs]
    return write(folder / name, document(rows))
