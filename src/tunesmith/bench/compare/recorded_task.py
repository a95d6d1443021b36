"""What is known of a recorded space beside its times, where it is that of a task and a sketch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.tuners import Sees
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.features.kinds import FeatureKind
from tunesmith.features.program.vectors import without_estimates
from tunesmith.measure.recorded.recording import Recording, load_recording
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.task.program_features import side_by_side
from tunesmith.models.boosted_trees import BoostedTrees, Growth
from tunesmith.operators import parse_operator
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.encoding import Encoding
from tunesmith.transfer.model import estimates_of
from tunesmith.transfer.shipped import shipped_model
from tunesmith.tuners.view import FeaturesOfConfigs, OfConfigs

Array = npt.NDArray[np.float64]

# The trees of a model of other spaces: deeper and slower than those of one space, as it has more to
# tell apart, and more to learn from.
_GROWTH = Growth(rounds=150, depth=5, rate=0.1, columns=0.5)

TAUGHT = 256
"""So many random configs of each of the other spaces are learned from."""


@cache
def recorded_problem(path: Path) -> TaskProblem | None:
    """The task and sketch of a recording; None where it names none, or one of another version."""
    described = load_recording(path).metadata
    try:
        operator, target, sketch = (described[name] for name in ("operator", "target", "sketch"))
        task = Task(
            parse_operator(operator["operator"], operator["options"]),
            Target.from_json(target),
        )
        problem = TaskProblem.of(task, sketch["name"])
    except (KeyError, TypeError, TunesmithError):
        return None
    return problem if problem.sketch.version == sketch["version"] else None


class MadePrograms:
    """The programs that a run has asked for, and the ``seconds`` that making them takes.

    A process makes each once, for all its runs; here it counts in each of them. In a run on real
    hardware several processes make them side by side, so their CPU time is divided by the number of
    these.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._known: set[Config] = set()

    def count(self, problem: TaskProblem, configs: Sequence[Config]) -> None:
        """Count those of configs that are new; features of all have been made."""
        new = [config for config in dict.fromkeys(configs) if config not in self._known]
        self._known.update(new)
        self.seconds += problem.features_cost(new) / side_by_side(len(new))


def features_of(
    path: Path, sees: Sees = "space", made: MadePrograms | None = None
) -> FeaturesOfConfigs:
    """The function for the features of a recording's programs, which are ``made`` when it is
    called.

    What the sketch estimates is among them for a tuner that ``sees`` estimates.
    """

    def of(configs: Sequence[Config], kind: str) -> Array | None:
        problem = None if kind == "configuration" else recorded_problem(path)
        found = None if problem is None else problem.features(configs, kind)
        if problem is not None and made is not None:
            made.count(problem, configs)
        return without_estimates(found, kind) if found is not None and sees == "space" else found

    return of


def estimates_seen(path: Path, sees: Sees) -> OfConfigs | None:
    """The function for the estimates that a tuner may look at; None if there are none."""
    problem = None if sees == "space" else recorded_problem(path)
    if problem is None:
        return None
    return estimates_of(problem, shipped_model(problem.task.target) if sees == "model" else None)


def learned_from(
    sources: Sequence[Path],
    path: Path,
    kind: FeatureKind,
    seed: int,
    made: MadePrograms | None = None,
) -> OfConfigs:
    """What a model of other recorded spaces says of a recording's configs: logarithms of speeds,
    but for a constant and a scale. Programs of this recording that it looks at are ``made``.

    It learns the order (equation 2) of ``TAUGHT`` random configs of each source from features of a
    kind, without what sketches estimate. Those of the configuration are its values by name, as
    coordinates of different spaces do not compare. Raises ``UsageError`` for a recording without a
    sketch, or of one of another version.
    """
    rng = np.random.default_rng(seed)
    problems = [_known(each) for each in (*sources, path)]
    configs, values, groups = [], [], []
    for number, source in enumerate(sources):
        recording = load_recording(source)
        chosen = _chosen(recording, rng)
        configs.append([recording.configs[row] for row in chosen])
        speeds = 1.0 / recording.seconds[chosen]  # 0 for a failed one
        values.append(speeds / speeds.max())
        groups.append(np.full(len(chosen), number))
    features = _Features(kind, list(zip(problems[:-1], configs, strict=True)))
    rows = [features.of(*each) for each in zip(problems, configs, strict=False)]
    model = BoostedTrees(rows[0].shape[1], "rank", _GROWTH)
    model.fit(np.concatenate(rows), np.concatenate(values), np.concatenate(groups))

    def log_speeds(asked: Sequence[Config]) -> Array:
        rows = features.of(problems[-1], asked)
        if kind != "configuration" and made is not None:
            made.count(problems[-1], asked)
        return model.predict(rows).means

    return log_speeds


def _known(path: Path) -> TaskProblem:
    problem = recorded_problem(path)
    if problem is None:
        raise UsageError(f"{path} is no recording of a sketch as it is now: record it again")
    return problem


def _chosen(recording: Recording, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    count = len(recording.configs)
    return rng.choice(count, min(TAUGHT, count), replace=False)


class _Features:
    """Features of a kind for configs of several tasks, without estimates."""

    def __init__(
        self, kind: FeatureKind, known: Sequence[tuple[TaskProblem, Sequence[Config]]]
    ) -> None:
        self._kind = kind
        self._encoding = Encoding.of(
            (problem.task, problem.sketch.name, configs) for problem, configs in known
        )

    def of(self, problem: TaskProblem, configs: Sequence[Config]) -> Array:
        if self._kind == "configuration":
            rows = self._encoding.rows(problem.task, problem.sketch.name, configs, None)
            return rows.astype(np.float64)
        found = problem.features(configs, self._kind)
        assert found is not None
        return without_estimates(found, self._kind)
