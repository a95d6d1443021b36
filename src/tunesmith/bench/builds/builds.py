"""``tunesmith bench builds``: where the time of a build goes.

Some configs of each sketch are built as trials build them: once to take the time of each phase and
of each of TVM's passes, and once more while LLVM writes which passes it runs. How its time divides
comes from the second build, how much there is to divide from the first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.bench.builds.llvm_trace import mean, shares
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.trial.job import Job
from tunesmith.problem import MeasureSettings
from tunesmith.task import Task

PHASES = {
    "fork": "making the process",
    "emit": "the sketch writes the program",
    "tvm": "TVM's passes",
    "optimise": "LLVM: IR and its optimisation",
    "generate": "LLVM: machine code",
}
"""The phases of a build in their order, and what each is called."""

Row = dict[str, Any]


@dataclass(frozen=True)
class BuildsSettings:
    """How many configs of each sketch are built, the default first, and the seed of the others.

    Raises ``UsageError`` for none.
    """

    configs: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.configs < 1:
            raise UsageError(f"at least one config of each sketch is needed, not {self.configs}")


def measure_builds(
    task: Task, sketches: list[str], settings: BuildsSettings, say: Callable[[str], None]
) -> list[Row]:
    """A row for each sketch: ``sketch``, ``built`` and ``failed`` configs, and mean seconds of a
    build by ``phases``, ``passes`` (TVM's) and ``llvm`` (by group of ``optimise``, ``generate``).

    Raises ``UsageError`` for a target that is no CPU and a sketch that does not fit,
    ``TunesmithError`` if nothing can be built.
    """
    if task.target.kind != "cpu":
        raise UsageError("builds are measured for processors only: leave out --target")
    rows = []
    for problem in problems_of(task, sketches):
        say(f"{problem.sketch.name}: {settings.configs} configs ...")
        rows.append(_row(problem, settings))
    return rows


def _row(problem: TaskProblem, settings: BuildsSettings) -> Row:
    rng = np.random.default_rng(settings.seed)
    others = problem.space.sample_many(settings.configs, rng)
    configs = list(dict.fromkeys([problem.default, *others]))[: settings.configs]
    job = problem.job(MeasureSettings())
    builds: list[Row] = []
    divided: list[dict[str, dict[str, float]]] = []
    failed, lines = 0, []
    for at, line in _lines(job, [config.to_json() for config in configs]):
        if not line.startswith("{"):
            lines.append((at, line))
            continue
        told = json.loads(line)
        if lines:  # of a build that LLVM wrote of
            divided.append(shares(lines))
            lines = []
        elif "failed" in told:
            failed += 1
        else:
            builds.append(told)
    if not builds:
        raise TunesmithError(f"no config of {problem.sketch.name} could be built")
    phases = mean(build["phases"] for build in builds)
    return {
        "sketch": problem.sketch.name,
        "built": len(builds),
        "failed": failed // 2,
        "phases": phases,
        "passes": mean(build["passes"] for build in builds),
        "llvm": {
            phase: {
                group: share * phases[phase]
                for group, share in mean(division[phase] for division in divided).items()
            }
            for phase in ("optimise", "generate")
        },
    }


def _lines(job: Job, configs: list[dict[str, Any]]) -> Iterator[tuple[float, str]]:
    """What the building process writes, and when each line came."""
    task = json.dumps({"job": job.to_text(), "configs": configs})
    command = [sys.executable, "-P", "-m", "tunesmith.bench.builds.process", task]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr is not None
        last = ""
        for line in process.stderr:
            last = line.decode(errors="replace").rstrip("\n")
            yield time.perf_counter(), last
    if process.returncode:
        raise TunesmithError(f"the process that builds has failed: {last}")
