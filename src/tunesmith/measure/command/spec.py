"""Reads a command line, its space and its tuning options from a TOML file.

::

    [command]
    template = "gcc -O{level} -funroll-loops saxpy.c -o saxpy && ./saxpy {tile[0]}"
    parse = "time: ([0-9.e+-]+)"   # optional, as are name, build, shell, cwd, env,
    run_timeout = 5.0              # build_timeout, repeats, finalists

    [[parameter]]
    kind = "ordinal"               # or "categorical" (both: values), "permutation" (items),
    name = "level"                 # "factorization" (product, parts)
    values = [0, 1, 2, 3]

    [[parameter]]
    kind = "factorization"
    name = "tile"
    product = 64
    parts = 2

    [[constraint]]
    expression = "tile[0] >= level"

    [default]                      # optional: the config to compare with
    level = 2
    tile = [8, 8]

    [tune]                         # optional, as is each key
    tuner = "auto"
    trials = 100
    seconds = 60.0
    seed = 1

``cwd`` is relative to the file's directory, which is also its default.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, UsageError, unknown_name
from tunesmith.measure.command.measurer import CommandProblem
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config, Constraint, Parameter, Space
from tunesmith.space.parameters.kinds import KINDS


@dataclasses.dataclass(frozen=True)
class TuneOptions:
    """The tuning options of a spec; None if not given."""

    tuner: str | None = None
    trials: int | None = None
    seconds: float | None = None
    seed: int | None = None


@dataclasses.dataclass(frozen=True)
class CommandSpec:
    """A problem, its measurement settings, and its tuning options."""

    problem: CommandProblem
    settings: MeasureSettings
    tune: TuneOptions


@dataclasses.dataclass(frozen=True)
class _Kind:
    """The valid values of a key: in words that follow "must be", and as a predicate."""

    words: str
    fits: Callable[[Any], bool]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


_TEXT = _Kind("a text", lambda value: isinstance(value, str))
_FLAG = _Kind("true or false", lambda value: isinstance(value, bool))
_SECONDS = _Kind("a positive number of seconds", _is_positive)
_COUNT = _Kind("a positive integer", lambda value: _is_integer(value) and value > 0)
_NATURAL = _Kind("an integer from 0 on", lambda value: _is_integer(value) and value >= 0)
_TABLE = _Kind("a table", lambda value: isinstance(value, dict))
_TABLES = _Kind(
    "an array of tables, one [[…]] each",
    lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value),
)
_TEXTS = _Kind(
    "a table of texts",
    lambda value: isinstance(value, dict) and all(isinstance(v, str) for v in value.values()),
)

_FILE = {
    "command": _TABLE,
    "parameter": _TABLES,
    "constraint": _TABLES,
    "default": _TABLE,
    "tune": _TABLE,
}
_COMMAND = {
    "template": _TEXT,
    "build": _TEXT,
    "shell": _FLAG,
    "parse": _TEXT,
    "name": _TEXT,
    "cwd": _TEXT,
    "env": _TEXTS,
    "build_timeout": _SECONDS,
    "run_timeout": _SECONDS,
    "repeats": _COUNT,
    "finalists": _NATURAL,
}
_CONSTRAINT = {"expression": _TEXT}
_TUNE = {"tuner": _TEXT, "trials": _COUNT, "seconds": _SECONDS, "seed": _NATURAL}


def read_command_spec(path: str | Path) -> CommandSpec:
    """The command problem that a TOML file describes.

    Raises ``UsageError``, which names the file, if it cannot be read, is not TOML, has an unknown
    key or a wrong value, or describes an invalid space or command.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            return _spec(tomllib.load(file), path.parent)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    except TunesmithError as error:
        raise type(error)(f"{path}: {error}") from None


def _spec(content: Mapping[str, Any], directory: Path) -> CommandSpec:
    _check(content, _FILE, "the file", required=("command", "parameter"))
    command = dict(content["command"])
    _check(command, _COMMAND, "[command]", required=("template",))
    tune = content.get("tune", {})
    _check(tune, _TUNE, "[tune]")
    names = ("build_timeout", "run_timeout", "repeats")
    settings = {name: command.pop(name) for name in names if name in command}
    problem = CommandProblem(
        _space(content),
        command.pop("template"),
        cwd=directory / command.pop("cwd", ""),
        default=Config.from_json(content["default"]) if "default" in content else None,
        **command,
    )
    return CommandSpec(problem, MeasureSettings(**settings), TuneOptions(**tune))


def _space(content: Mapping[str, Any]) -> Space:
    constraints = content.get("constraint", [])
    for constraint in constraints:
        _check(constraint, _CONSTRAINT, "[[constraint]]", required=("expression",))
    return Space(
        [_parameter(entry) for entry in content["parameter"]],
        [Constraint(entry["expression"]) for entry in constraints],
    )


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    kind = entry.get("kind")
    if not isinstance(kind, str):
        raise UsageError(f"a [[parameter]] has no kind: write one of {', '.join(sorted(KINDS))}")
    if kind not in KINDS:
        raise unknown_name("kind of parameter", kind, KINDS)
    known = ["kind", *(field.name for field in dataclasses.fields(KINDS[kind]))]
    for key in entry:
        if key not in known:
            raise unknown_name(f"key of {kind} parameter", key, known)
    return KINDS[kind].from_json(entry)


def _check(
    table: Mapping[str, Any],
    kinds: Mapping[str, _Kind],
    place: str,
    required: tuple[str, ...] = (),
) -> None:
    """Raise ``UsageError`` for an unknown or missing key, or a wrong value."""
    for key, value in table.items():
        if key not in kinds:
            raise unknown_name(f"key in {place}", key, kinds)
        if not kinds[key].fits(value):
            raise UsageError(f"{place}: {key} must be {kinds[key].words}, not {value!r:.80}")
    for key in required:
        if key not in table:
            raise UsageError(f"{place} has no {key}: write it")
