"""Writes measurements in the T4 format, for replay here or in other tools."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, UsageError, system_reason
from tunesmith.measure.recorded.t4_reader import INVALIDITIES, SCHEMA
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space.t1_writer import t1_value
from tunesmith.whole_file import write_whole

SUFFIXES = (".json.gz", ".json")

# The format's name of each outcome, and the value that Kernel Tuner would write instead of a time.
_NAMES = {
    Outcome.NO_ERROR: ("correct", ""),
    Outcome.INSTANTIATION_ERROR: ("constraints", "InvalidConfig"),
    Outcome.COMPILE_HOST: ("compile", "CompilationFailedConfig"),
    Outcome.COMPILE_DEVICE: ("compile", "CompilationFailedConfig"),
    Outcome.RUNTIME_DEVICE: ("runtime", "RuntimeFailedConfig"),
    Outcome.WRONG_ANSWER: ("correctness", "RuntimeFailedConfig"),
    Outcome.BUILD_TIMEOUT: ("timeout", "CompilationFailedConfig"),
    Outcome.RUN_TIMEOUT: ("timeout", "RuntimeFailedConfig"),
    Outcome.UNKNOWN_ERROR: ("runtime", "RuntimeFailedConfig"),
}


def write_t4(
    path: str | Path,
    results: Iterable[tuple[Measurement, datetime]],
    metadata: Mapping[str, Any],
) -> None:
    """Write measurements and the times at which they were made, atomically.

    A config's objective is its median seconds. ``framework`` is the part of the run outside the
    repeats, so the times of a result add up to the trial's cost. Times are milliseconds with seven
    digits. The same results give the same file, byte by byte.

    Raises ``UsageError`` for a name that a T4 file cannot have, and ``TunesmithError`` if it cannot
    be written.
    """
    path = Path(path)
    check_name(path)
    document = {
        "metadata": {"timeunit": "milliseconds", **metadata},
        "results": [_result(measurement, made) for measurement, made in results],
        "schema_version": SCHEMA,
    }
    data = (json.dumps(document, separators=(",", ":")) + "\n").encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        write_whole(path, data)
    except OSError as error:
        raise TunesmithError(
            f"cannot write {path}: {system_reason(error)}: name a file in another folder"
        ) from error


def check_name(path: Path) -> None:
    """Raise ``UsageError`` unless a T4 file can have this name."""
    if not path.name.endswith(SUFFIXES) or path.name in SUFFIXES:
        raise UsageError(f"{path}: a T4 file is called NAME{SUFFIXES[0]} or NAME{SUFFIXES[1]}")


def _result(measurement: Measurement, made: datetime) -> dict[str, Any]:
    outcome = measurement.outcome
    name, error = _NAMES[outcome]
    runs = [_milliseconds(seconds) for seconds in measurement.run_seconds]
    rest = max(0.0, measurement.run_time - sum(measurement.run_seconds))
    value = _milliseconds(measurement.seconds) if measurement.valid else error
    return {
        "timestamp": made.isoformat(sep=" "),
        "configuration": {name: t1_value(value) for name, value in measurement.config.items()},
        "times": {
            "compilation": _milliseconds(measurement.build_time),
            "framework": _milliseconds(rest),
            "search_algorithm": 0,
            "validation": 0,
            "runtimes": runs,
        },
        "invalidity": name,
        # The format has fewer classes than we have.
        **({} if INVALIDITIES[name] is outcome else {"outcome": outcome.name}),
        "correctness": int(measurement.valid),
        "measurements": [{"name": "time", "value": value, "unit": "ms"}],
        "objectives": ["time"],
    }


def _milliseconds(seconds: float) -> float:
    """Milliseconds with seven digits: more would be noise, which does not compress."""
    return float(f"{1e3 * seconds:.7g}")
