"""How much each parameter of a space has to do with the time, by the trials of a store."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tunesmith.store.aggregates import Trial

EXPLANATION: Final = (
    "The share of the variance of log(time) that lies between the groups of trials with the same "
    "value of this parameter, less what groups of this size have by chance (omega squared; the "
    "main effects of a functional analysis of variance). It is of the trials that the tuner chose, "
    "and leaves out what parameters do only together."
)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Parameter:
    """The values of a parameter in some trials: ``place`` numbers them among the sorted
    ``values``. ``share`` is its importance from 0 to 1, None where too few trials tell."""

    name: str
    values: Sequence[Any]
    place: Sequence[int]
    share: float | None


def parameters_of(trials: Sequence[Trial]) -> list[Parameter]:
    """The parameters of these trials' configs, the most important ones first."""
    configs = [config_of(trial) for trial in trials]
    names = dict.fromkeys(name for config in configs for name in config)
    times = np.array([math.nan if it.seconds is None else it.seconds for it in trials])
    found = [_parameter(name, configs, times) for name in names]
    return sorted(found, key=lambda it: -1.0 if it.share is None else -it.share - 1.0)


def config_of(trial: Trial) -> Mapping[str, Any]:
    """A trial's config as plain values; empty if it is none."""
    config = json.loads(trial.config)
    return config if isinstance(config, dict) else {}


def _parameter(name: str, configs: Sequence[Mapping[str, Any]], times: Array) -> Parameter:
    texts = [json.dumps(config.get(name), sort_keys=True) for config in configs]
    ordered = sorted(set(texts), key=_order)
    places = {text: place for place, text in enumerate(ordered)}
    place = [places[text] for text in texts]
    return Parameter(
        name, [json.loads(text) for text in ordered], place, explained(np.array(place), times)
    )


def _order(text: str) -> tuple[int, Any]:
    """Numbers by size, then tuples of numbers, then all others by their text."""
    value = json.loads(text)
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, list) and all(isinstance(it, int | float) for it in value):
        return 1, value
    return 2, text


def explained(groups: npt.NDArray[Any], times: Array) -> float | None:
    """The share of the variance of log(``times``) between groups: see ``EXPLANATION``.

    ``groups`` has a number for each time, shape (trials,); times that are NaN do not count. None
    unless there are more times than groups, and times that differ.
    """
    known = np.isfinite(times) & (times > 0)
    logs, numbers = np.log(times[known]), groups[known]
    _, members = np.unique(numbers, return_inverse=True)
    sizes = np.bincount(members) if len(members) else np.zeros(0)
    if len(logs) <= len(sizes) + 1:
        return None
    total = float(((logs - logs.mean()) ** 2).sum())
    if total <= 0.0:
        return None
    means = np.bincount(members, weights=logs) / sizes
    between = float((sizes * (means - logs.mean()) ** 2).sum())
    freedom = len(sizes) - 1
    noise = (total - between) / (len(logs) - len(sizes))
    return min(1.0, max(0.0, (between - freedom * noise) / (total + noise)))
