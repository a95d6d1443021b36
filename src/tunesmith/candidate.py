"""A candidate: a config with the sketch that it is for, where a run chooses among several.

It is a config with one more entry, so measurers, play-offs and all else that compares configs need
not know of sketches. Searches and stores are given the plain configs of one sketch.
"""

from __future__ import annotations

import dataclasses

from tunesmith.measurement import Measurement
from tunesmith.space import Config, Value

# No parameter has such a name.
_SKETCH = "@sketch"


def candidate(sketch: str, config: Config) -> Config:
    """The config as a candidate of that sketch; as it is where the name is empty."""
    if not sketch:
        return config
    return Config.from_values({_SKETCH: sketch, **config})


def sketch_and_config(candidate: Config) -> tuple[str, Config]:
    """The name of a candidate's sketch, empty for a plain config; and the config."""
    if _SKETCH not in candidate:
        return "", candidate
    plain: dict[str, Value] = {name: candidate[name] for name in candidate if name != _SKETCH}
    return str(candidate[_SKETCH]), Config.from_values(plain)


def as_candidate(sketch: str, measurement: Measurement) -> Measurement:
    """The measurement of a plain config as that of a candidate."""
    return dataclasses.replace(measurement, config=candidate(sketch, measurement.config))


def of_plain_config(measurement: Measurement) -> Measurement:
    """The inverse of ``as_candidate``."""
    return dataclasses.replace(measurement, config=sketch_and_config(measurement.config)[1])
