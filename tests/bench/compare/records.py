"""Small recorded spaces to compare tuners on, and tuners that fail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tunesmith.measure.recorded.t4_writer import write_t4
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config, Ordinal, Space
from tunesmith.space.t1_writer import t1_text

SPACE = Space([Ordinal("a", tuple(range(12))), Ordinal("b", tuple(range(12)))])
OPTIMUM = 1e-3
"""Seconds of the best config, a = 7 and b = 4."""

_MADE = datetime(2026, 1, 1, tzinfo=UTC)


def seconds(config: Config) -> float:
    """What a config takes: more, the farther it is from the best."""
    a, b = config["a"], config["b"]
    assert isinstance(a, int) and isinstance(b, int)
    return OPTIMUM * (1.0 + 0.2 * abs(a - 7) + 0.1 * abs(b - 4))


def measurement(config: Config) -> Measurement:
    """One whose trial costs 2 s of building and 1 s of running; those with a = 0 do not compile."""
    if config["a"] == 0:
        return Measurement(config, Outcome.COMPILE_DEVICE, (), 0.5, 0.0)
    return Measurement(config, Outcome.NO_ERROR, (seconds(config),), 2.0, 1.0)


def record(
    folder: Path,
    name: str = "one",
    *,
    kept: Callable[[Config], bool] = lambda config: True,
    space: Space = SPACE,
) -> Path:
    """A T4 file in a folder of that name, with its space beside it."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "space.T1.json").write_text(t1_text(space, name), encoding="utf-8")
    rows = [(measurement(config), _MADE) for config in space.enumerate() if kept(config)]
    write_t4(place / "gpu.json.gz", rows, {})
    return place / "gpu.json.gz"


FAULTY = '''
"""Tuners that fail, as another package might bring them."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import ClassVar, Literal

from tunesmith.errors import SpaceError
from tunesmith.tuners import Random, Search, Tuner, option


@dataclass(frozen=True)
class Faulty(Tuner):
    """Random search that fails in a way of its own, after three proposals of an odd seed."""

    name: ClassVar[str] = "faulty"

    way: Literal["raise", "die", "slow", "refuse", "none"] = option("raise", "how it fails")

    def start(self, space, seed):
        if self.way == "refuse":
            raise SpaceError("parameter 'a' has no neighbours")
        search = Random().start(space, seed)
        search.propose = self.breaking(search, search.propose, seed)
        return search

    def breaking(self, search, propose, seed):
        def broken(count):
            if self.way == "slow":
                time.sleep(0.02)
            elif len(search.seen) == 3 and seed % 2:
                if self.way == "raise":
                    raise ValueError("no parents\\nto choose from")
                if self.way == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
            return propose(count)

        return broken
'''

_ENTRY_POINTS = """[tunesmith.tuners]
faulty = faulty_tuner:Faulty
gone = faulty_tuner:Gone
"""


def install_faulty(folder: Path) -> Path:
    """A folder for ``PYTHONPATH`` that holds the package of the tuner ``faulty``."""
    (folder / "faulty_tuner.py").write_text(FAULTY, encoding="utf-8")
    about = folder / "faulty_tuner-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty-tuner\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(_ENTRY_POINTS)
    return folder
