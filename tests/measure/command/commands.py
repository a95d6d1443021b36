"""What the tests of commands share."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from tunesmith.measure.command.measurer import CommandMeasurer, CommandProblem
from tunesmith.measurement import Measurement
from tunesmith.problem import MeasureSettings
from tunesmith.space import Categorical, Config, Ordinal, Space
from tunesmith.testing.trials import candidates

SPACE = Space(
    [Ordinal("n", tuple(range(1, 9))), Categorical("word", ("plain", "; touch x", "$(touch x)"))]
)
ONE, TWO, THREE = (Config({"n": n, "word": "plain"}) for n in (1, 2, 3))
QUICK = MeasureSettings(build_timeout=PATIENCE, run_timeout=PATIENCE, repeats=1)
SHORT = MeasureSettings(build_timeout=0.3, run_timeout=0.3, repeats=1)

NUMBER = r"cost (\S+)"


def python(program: str) -> str:
    """The command that runs a Python program; its braces are fields. Starts in few milliseconds."""
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(program)}"


def printing(text: str) -> str:
    return python(f"print({text!r})")


def measure(
    directory: Path,
    command: str,
    config: Config = ONE,
    settings: MeasureSettings = QUICK,
    **options: Any,
) -> Measurement:
    """The measurement of one config."""
    problem = CommandProblem(SPACE, command, cwd=directory, **options)
    with problem.measurer(settings) as measurer:
        measurer.submit(candidates([config]))
        [measurement] = measurer.collect(0.0)
        assert measurement.config == config
        assert "\n" not in measurement.message
        return measurement


def measurer_of(directory: Path, command: str, **options: Any) -> CommandMeasurer:
    """A measurer with three repeats."""
    problem = CommandProblem(SPACE, command, cwd=directory, **options)
    return problem.measurer(MeasureSettings(repeats=3))
