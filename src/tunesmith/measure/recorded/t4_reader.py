"""Reads results in the T4 format of public autotuning benchmarks.

A file is JSON, optionally compressed with gzip. Each result has a configuration, the times spent on
it, its failure if any, and measurements, of which the objectives are to be minimised.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError, system_reason
from tunesmith.measurement import Outcome
from tunesmith.space.value import quote

Seconds = npt.NDArray[np.float64]

SCHEMA = "1.0.0"
"""The version of the schema that we write. All versions 1.x are read."""

# The largest file in bytes, decompressed: far above any published one.
MAX_BYTES = 1 << 30

INVALIDITIES: Final[Mapping[str, Outcome]] = {
    "correct": Outcome.NO_ERROR,
    "constraints": Outcome.INSTANTIATION_ERROR,
    "compile": Outcome.COMPILE_DEVICE,
    "runtime": Outcome.RUNTIME_DEVICE,
    "correctness": Outcome.WRONG_ANSWER,
    "timeout": Outcome.RUN_TIMEOUT,
}
"""The format's names of outcomes."""

# Values that Kernel Tuner writes instead of a time.
_ERROR_VALUES = {
    "InvalidConfig": Outcome.INSTANTIATION_ERROR,
    "CompilationFailedConfig": Outcome.COMPILE_DEVICE,
    "RuntimeFailedConfig": Outcome.RUNTIME_DEVICE,
}

# Seconds in a unit, by the names that files use; published ones misspell milliseconds.
_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "millisecond", "milliseconds", "miliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
}

# The times of the build; all others belong to the run.
_BUILD = ("compilation", "compilation_time")


@dataclass(frozen=True)
class T4Results:
    """The N results of a file in their order.

    ``outcomes`` are the codes of ``Outcome``, ``seconds`` the objective, infinite for invalid
    configs, ``build_times`` and ``run_times`` the costs of the trials. All have the shape (N,), the
    last three are in seconds. ``digest`` identifies the file's contents.
    """

    configurations: Sequence[Mapping[str, Any]]
    outcomes: npt.NDArray[np.int8]
    seconds: Seconds
    build_times: Seconds
    run_times: Seconds
    metadata: Mapping[str, Any]
    digest: str


def read_t4(path: str | Path) -> T4Results:
    """The results in a T4 file.

    The objective is the first of a result's objectives that is a time, else the measurement called
    ``time``. A trial's cost is the sum of its ``times`` except the search algorithm's, as replay
    has its own search. Raises ``UsageError``, which names the file, if it cannot be read, is cut
    off, or is invalid.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        return _results(_document(raw), hashlib.sha256(raw).hexdigest()[:16])
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {system_reason(error)}") from error
    except _FormatError as error:
        raise UsageError(f"{path}: {error}") from error


class _FormatError(Exception):
    """Invalid contents of a file."""


def _document(raw: bytes) -> Mapping[str, Any]:
    if raw[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(raw)) as file:
                raw = file.read(MAX_BYTES + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise _FormatError(f"damaged or cut off: {str(error).lower()}") from error
    if len(raw) > MAX_BYTES:
        raise _FormatError(f"larger than {MAX_BYTES} bytes: not a T4 file")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _FormatError(f"not JSON, or cut off: {error}") from error
    if not isinstance(document, dict):
        raise _FormatError(f"the file is {quote(document)}, not an object")
    return document


def _results(document: Mapping[str, Any], digest: str) -> T4Results:
    version = _field(document, "schema_version", "the file", str)
    if version.partition(".")[0] != SCHEMA.partition(".")[0]:
        raise _FormatError(f"schema_version is {quote(version)}: this release reads {SCHEMA}")
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        raise _FormatError(f"'metadata' is {quote(metadata)}, of the wrong type")
    unit = metadata.get("timeunit", "milliseconds")
    scale = _scale(unit)
    if scale is None:
        raise _FormatError(f"the timeunit is {quote(unit)}: known: {', '.join(_UNITS)}")
    rows = _field(document, "results", "the file", list)
    if not rows:
        raise _FormatError("it has no results")
    read = [_result(row, f"results[{number}]", scale) for number, row in enumerate(rows)]
    configurations, outcomes, seconds, build_times, run_times = zip(*read, strict=True)
    return T4Results(
        configurations=configurations,
        outcomes=np.array([outcome.value for outcome in outcomes], dtype=np.int8),
        seconds=np.array(seconds),
        build_times=np.array(build_times) * scale,
        run_times=np.array(run_times) * scale,
        metadata=metadata,
        digest=digest,
    )


_Row = tuple[Mapping[str, Any], Outcome, float, float, float]


def _result(row: Any, part: str, scale: float) -> _Row:
    """A result's configuration, outcome, objective in seconds, and build and run in file units."""
    configuration = _field(row, "configuration", part, dict)
    outcome = _outcome(row, part)
    seconds = math.inf
    if outcome is Outcome.NO_ERROR:
        value, factor = _objective(row, part, scale)
        if isinstance(value, str) and value in _ERROR_VALUES:
            outcome = _ERROR_VALUES[value]
        else:
            seconds = _number(value) * factor
            if not 0.0 < seconds < math.inf:
                raise _FormatError(f"{part} is correct, but its time is {quote(value)}")
    build, run = _spent(_field(row, "times", part, dict), part)
    return configuration, outcome, seconds, build, run


def _outcome(row: Mapping[str, Any], part: str) -> Outcome:
    named = row.get("outcome")  # our extension: the format has fewer classes
    if isinstance(named, str) and named in Outcome.__members__:
        return Outcome[named]
    word = _field(row, "invalidity", part, str)
    if word not in INVALIDITIES:
        known = ", ".join(INVALIDITIES)
        raise _FormatError(f"{part}: invalidity is {quote(word)}: known: {known}")
    outcome = INVALIDITIES[word]
    wrong = outcome is Outcome.NO_ERROR and row.get("correctness", 1) == 0
    return Outcome.WRONG_ANSWER if wrong else outcome


def _objective(row: Mapping[str, Any], part: str, scale: float) -> tuple[Any, float]:
    """The value to be minimised, and the seconds in its unit."""
    found = {}
    for each in _field(row, "measurements", part, list):
        name = _field(each, "name", f"{part}.measurements", str)
        unit = each.get("unit", "")
        factor = scale if unit == "" and name == "time" else _scale(unit)
        if factor is not None:
            found[name] = (_field(each, "value", f"{part}.measurements", object), factor)
    objectives = row.get("objectives")
    for name in (*(objectives if isinstance(objectives, list) else ()), "time"):
        if isinstance(name, str) and name in found:
            return found[name]
    raise _FormatError(f"{part} has no measurement of a time, which is what we minimise")


def _scale(unit: object) -> float | None:
    """The seconds in a unit of time; None for anything else."""
    return _UNITS.get(unit.strip().lower()) if isinstance(unit, str) else None


def _spent(times: Mapping[str, Any], part: str) -> tuple[float, float]:
    """The times of the build, and of the run with everything else."""
    build = run = 0.0
    for name, value in times.items():
        if name == "search_algorithm" or (name == "runtimes" and "benchmark" in times):
            continue  # the benchmark's time includes the runs
        spent = _sum(value) if isinstance(value, list) else _number(value)
        if not 0.0 <= spent < math.inf:
            raise _FormatError(f"{part}: '{name}' of its times is {quote(value)}")
        if name in _BUILD:
            build += spent
        else:
            run += spent
    return build, run


def _sum(values: list[Any]) -> float:
    """The sum of numbers; NaN if there is anything else among them."""
    try:
        return _number(sum(values))
    except (TypeError, OverflowError):
        return math.nan


def _number(value: object) -> float:
    """A number as a float; NaN for anything else."""
    try:
        return float(value) if type(value) in (float, int) else math.nan  # type: ignore[arg-type]
    except OverflowError:  # an integer with hundreds of digits
        return math.inf


def _field(owner: Any, key: str, part: str, kind: type[Any]) -> Any:
    """``owner[key]``, checked; ``part`` names ``owner`` in the error."""
    if not isinstance(owner, dict):
        raise _FormatError(f"{part} is {quote(owner)}, not an object")
    if key not in owner:
        raise _FormatError(f"{part} lacks '{key}'")
    value = owner[key]
    if not isinstance(value, kind):
        raise _FormatError(f"{part}: '{key}' is {quote(value)}, of the wrong type")
    return value
