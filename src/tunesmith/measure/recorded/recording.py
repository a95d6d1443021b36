"""A recorded space: configs with their measurements, from a T4 file and its space."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tunesmith.errors import SpaceError, UsageError
from tunesmith.measure.recorded.t4_reader import Seconds, T4Results, read_t4
from tunesmith.measurement import Outcome
from tunesmith.space import Choice, Config, Parameter, Space, Value, read_t1
from tunesmith.space.columns import Frame, column_of, magnitude
from tunesmith.space.value import identity, quote

SPACE_FILE = "space.T1.json"
"""The name of the file of a space beside its recordings."""

# The number of recordings cached in memory, for repeated searches.
_CACHED = 16

Mask = npt.NDArray[np.bool_]
A = TypeVar("A", bound=npt.NDArray[Any])


@dataclass(frozen=True, eq=False)
class Recording:
    """The N recorded configs of a space, with read-only arrays of shape (N,).

    ``outcomes`` are the codes of ``Outcome``; ``seconds`` are those of a call, infinite for an
    invalid config; ``build_times`` and ``run_times`` are the seconds of its trial.
    """

    space: Space
    configs: Sequence[Config]
    outcomes: npt.NDArray[np.int8]
    seconds: Seconds
    build_times: Seconds
    run_times: Seconds
    digest: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def costs(self) -> Seconds:
        """The seconds of each config's trial."""
        return _read_only(self.build_times + self.run_times)

    @cached_property
    def _rows(self) -> dict[Config, int]:
        return {config: row for row, config in enumerate(self.configs)}

    def row(self, config: Config) -> int | None:
        """The index of a config in the arrays; None if it is not recorded."""
        return self._rows.get(config)

    @cached_property
    def size(self) -> int | None:
        """The number of valid configs of the space; None if they cannot be counted."""
        try:
            return self.space.size
        except SpaceError:
            return None


def load_recording(path: str | Path, space: str | Path | Space | None = None) -> Recording:
    """The recording in a T4 file; ``space`` is by default the ``space.T1.json`` beside it.

    Results of configs outside the space are dropped if they say that a constraint is violated.
    Raises ``UsageError`` for files that cannot be read or do not match, configs that are recorded
    twice, and a recording without any valid result.
    """
    path = Path(path).absolute()
    if isinstance(space, Space):
        return _loaded(path, _state(path), space, None)
    place = path.parent / SPACE_FILE if space is None else Path(space).absolute()
    if space is None and path.exists() and not place.exists():
        raise UsageError(f"{path}: there is no {SPACE_FILE} beside it: name the file of its space")
    return _loaded(path, _state(path), place, _state(place))


def _state(path: Path) -> tuple[int, int] | None:
    """The modification time and size of a file, which change with its content."""
    try:
        state = path.stat()
    except OSError:
        return None  # reading the file will raise the error
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=_CACHED)
def _loaded(path: Path, _of: object, space: Path | Space, _space_of: object) -> Recording:
    results = read_t4(path)
    known = space if isinstance(space, Space) else read_t1(space)
    try:
        recording = _recording(results, known)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    _ = recording.size  # count now, so that it does not count as the first tuner's time
    return recording


def _recording(results: T4Results, space: Space) -> Recording:
    rows, configs = _configs(results, space)
    if len(set(configs)) < len(configs):
        seen: set[Config] = set()
        twice = [config for config in configs if config in seen or seen.add(config)]  # type: ignore[func-returns-value]
        raise UsageError(
            f"configs that it has twice: {len(twice):,} of {len(configs):,}, first {twice[0].key}"
        )
    if not np.isfinite(results.seconds[rows]).any():
        raise UsageError("it has no valid result: every config failed")
    return Recording(
        space=space,
        configs=configs,
        outcomes=_read_only(results.outcomes[rows]),
        seconds=_read_only(results.seconds[rows]),
        build_times=_read_only(results.build_times[rows]),
        run_times=_read_only(results.run_times[rows]),
        digest=results.digest,
        metadata=results.metadata,
    )


def _read_only(array: A) -> A:
    """The array made read-only, because recordings are shared."""
    array.flags.writeable = False
    return array


def _configs(results: T4Results, space: Space) -> tuple[npt.NDArray[np.intp], tuple[Config, ...]]:
    """The rows whose configs are in the space, and these configs."""
    listed = results.configurations
    fits = np.array([len(each) == len(space.names) for each in listed])
    read = []
    for parameter in space.parameters:
        reader = _ValueReader(parameter)
        column = [reader.read(each.get(parameter.name)) for each in listed]
        fits &= np.array([value is not None for value in column])
        read.append(column)
    rows = np.flatnonzero(fits)
    columns = [[value for row in rows if (value := column[row]) is not None] for column in read]
    valid = _satisfying(space, columns)
    fits[rows] = valid
    ruled_out = results.outcomes == Outcome.INSTANTIATION_ERROR.value
    outside = np.flatnonzero(~fits & ~ruled_out)
    if len(outside):
        raise UsageError(
            f"configs that are not in the space: {len(outside):,} of {len(listed):,}, "
            f"first {_why_outside(space, listed[outside[0]])}"
        )
    names = space.names
    configs = tuple(
        Config.from_values(dict(zip(names, values, strict=True)))
        for values, holds in zip(zip(*columns, strict=True), valid, strict=True)
        if holds
    )
    return rows[valid], configs


class _ValueReader:
    """Converts JSON values to a parameter's values, with a cache."""

    def __init__(self, parameter: Parameter) -> None:
        self._parameter = parameter
        self._known: dict[object, Value | None] = {}

    def read(self, raw: Any) -> Value | None:
        """The value written as ``raw``; None if the parameter has no such value."""
        if isinstance(raw, list):
            raw = tuple(raw)
        try:
            key = identity(raw)
            if key not in self._known:
                self._known[key] = self._find(raw)
            return self._known[key]
        except TypeError:  # not hashable
            return None

    def _find(self, raw: Any) -> Value | None:
        if self._parameter.contains(raw):
            return raw  # type: ignore[no-any-return]
        if isinstance(raw, str):  # T1's form of tuples
            try:
                listed = json.loads(raw)
            except ValueError:
                return None
            value = tuple(listed) if isinstance(listed, list) else None
            return value if self._parameter.contains(value) else None
        if isinstance(self._parameter, Choice):  # some languages do not distinguish 1, 1.0, true
            return next((value for value in self._parameter.values if value == raw), None)
        return None


def _satisfying(space: Space, columns: Sequence[Sequence[Value]]) -> Mask:
    """Which configs meet all constraints; ``columns`` has one column per parameter."""
    count = len(columns[0])
    holds = np.ones(count, dtype=bool)
    if not count:
        return holds
    of = dict(zip(space.names, columns, strict=True))
    for constraint in space.constraints:
        frame = Frame({name: column_of(of[name]) for name in constraint.names}, count)
        bounds = {name: magnitude(column) for name, column in frame.columns.items()}
        mask = constraint.holds_columns(frame, bounds)
        if mask is None:  # it can only be evaluated row by row
            rows = zip(*(of[name] for name in constraint.names), strict=True)
            mask = np.array(
                [constraint.holds(dict(zip(constraint.names, row, strict=True))) for row in rows]
            )
        holds &= mask
    return holds


def _why_outside(space: Space, configuration: Mapping[str, Any]) -> str:
    try:
        space.check(Config.from_json(configuration))
    except SpaceError as error:
        return f"{quote(dict(configuration))}: {error}"
    return quote(dict(configuration))
