"""``tunesmith record``: all configs of a space measured on this machine, or a uniform sample.

What NoSE did for one layer of ResNet-18 to know a whole space (section IV, experiment 1). Trials
are kept in a store under a key of their own, so a recording goes on where it was stopped; when all
are made they become a T4 file, with the space in a T1 file beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tunesmith.bench.pages.figure_files import make_folder, write_texts
from tunesmith.bench.recording.part import part_fields
from tunesmith.budget import Budget
from tunesmith.errors import SpaceError, TunesmithError, UsageError
from tunesmith.measure.identity import digest, identify
from tunesmith.measure.recorded.recording import SPACE_FILE
from tunesmith.measure.recorded.t4_reader import read_t4
from tunesmith.measure.recorded.t4_writer import check_name, write_t4
from tunesmith.measurement import Measurement, Outcome
from tunesmith.problem import BaseProblem, Measurer, MeasureSettings, Problem
from tunesmith.progress import Progress
from tunesmith.space import Config, Constraint, Space, read_t1, t1_text
from tunesmith.store import Store
from tunesmith.tuners import Search, Tuner
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune

LARGEST = 50_000
"""As many configs can be recorded; at ten trials a second that is more than an hour."""

# What a T4 file says that it is a recording of.
_KEY = "recording"


@dataclass(frozen=True)
class SpacePart(BaseProblem):
    """A problem of whose space a part is to be recorded, always measured with these settings.

    Its records are its own: other runs of the problem measure differently, and more than this part.
    """

    problem: Problem
    space: Space
    settings: MeasureSettings

    default: ClassVar[Config | None] = None
    finalists: ClassVar[int] = 0

    @property
    def flops(self) -> float | None:
        return self.problem.flops

    @property
    def key(self) -> str:
        measured = {**asdict(self.settings), "workers": None}
        del measured["measure_again"]  # records from before there was this setting go on
        return f"{self.problem.key}|recorded:{digest([identify(self.space), measured])}"

    def describe(self) -> Mapping[str, Any]:
        return {**self.problem.describe(), "recorded": identify(self.space)}

    def measurer(self, settings: MeasureSettings) -> Measurer:
        return self.problem.measurer(settings)


@dataclass(frozen=True)
class Plan(Tuner):
    """Proposes the configs that are to be recorded, in random order."""

    name: ClassVar[str] = "record"

    count: int = 1

    def start(self, space: Space, seed: int) -> Search:
        return PlanSearch(self, space, seed)


class PlanSearch(Search):
    """A plan that is being carried out."""

    def __init__(self, plan: Plan, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._left = planned(space, plan.count, seed)

    def next_config(self) -> Config | None:
        while self._left:
            config = self._left.pop()
            if config not in self.seen:
                return config
        return None


def planned(space: Space, count: int, seed: int) -> list[Config]:
    """The configs to record: the same for the same seed, whatever was measured before."""
    return space.sample_many(count, np.random.default_rng(seed))


@dataclass(frozen=True)
class RecordingState:
    """How far a recording is: the trials that it has of the ``planned`` configs, oldest first."""

    part: SpacePart
    planned: int
    sample: int | None
    seed: int
    trials: Sequence[tuple[Measurement, datetime]]
    result: Result

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How many of the trials ended in each class."""
        return Counter(measurement.outcome for measurement, _ in self.trials)

    @property
    def complete(self) -> bool:
        return len(self.trials) == self.planned


def restricted(space: Space, where: Iterable[str]) -> Space:
    """The part of a space where these expressions hold as well.

    Raises ``SpaceError`` for an expression that is none, or that configs cannot be asked for.
    """
    constraints = [Constraint(expression) for expression in where]
    part = Space(space.parameters, [*space.constraints, *constraints])
    anyone = space.sample(np.random.default_rng(0))
    for constraint in constraints:
        constraint.holds(anyone)
    return part


def count_configs(space: Space, sample: int | None) -> int:
    """How many configs a recording is to have.

    Raises ``UsageError`` where those are none, or too many, and says what to do.
    """
    if sample is not None and sample < 1:
        raise UsageError(f"cannot record {sample} configs: give a sample of 1 or more")
    try:
        size = space.size
    except SpaceError:
        size = None
    if size == 0:
        raise UsageError("no config of the space meets all constraints: loosen --where")
    wanted = size if sample is None else sample if size is None else min(sample, size)
    if wanted is None or wanted > LARGEST:
        has = "too many configs to count" if wanted is None else f"{wanted:,} configs"
        what = f"the space has {has}" if sample is None else f"these are {has}"
        raise UsageError(
            f"{what}, and no more than {LARGEST:,} can be recorded: measure a uniform sample "
            "(--sample 10000), or a part of the space (--where 'tile[0] <= 8')"
        )
    return wanted


def record(
    part: SpacePart,
    *,
    sample: int | None,
    seed: int,
    store: Store,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> RecordingState:
    """Measure what is still missing of a recording, for so many ``seconds`` at the most.

    Raises ``UsageError`` as ``count_configs`` does, and what ``tune`` raises.
    """
    count = count_configs(part.space, sample)
    result = tune(
        part,
        Plan(count),
        Budget(seconds=seconds),
        store=store,
        seed=seed,
        prior=False,
        settings=part.settings,
        progress=progress,
    )
    wanted = set(planned(part.space, count, seed))
    sketch = part.describe().get("sketch") or {"name": "", "version": 0}
    found: dict[Config, tuple[Measurement, datetime]] = {}
    machine = None if result.session is None else result.session.machine["fingerprint"]
    for made in store.records(part.key, sketch=sketch["name"], machine=machine):
        if made.config in wanted and made.sketch_version == sketch["version"]:
            found.setdefault(made.config, (made.measurement, made.created))
    return RecordingState(part, len(wanted), sample, seed, list(found.values()), result)


def check_output(path: Path, part: SpacePart) -> None:
    """Make the folder of a recording, and see that nothing else is in the place of its files.

    Raises ``UsageError`` if there is, and ``TunesmithError`` for a folder that cannot be written.
    """
    check_name(path)
    make_folder(path.parent)
    other = _in_the_way(path, part)
    if other is not None:
        raise UsageError(f"{other}: name a file in another folder")


def _in_the_way(path: Path, part: SpacePart) -> str | None:
    """What is in the place of a recording's files and is none of theirs; None if nothing is."""
    space = path.parent / SPACE_FILE
    try:
        if space.exists() and read_t1(space) != part.space:
            return f"{space} is another space"
        if path.exists() and read_t4(path).metadata.get(_KEY) != part.key:
            return f"{path} is another recording"
    except UsageError as error:
        return str(error)
    return None


def write_recording(path: Path, recording: RecordingState) -> None:
    """Write a complete recording, and its space beside it.

    Raises ``TunesmithError`` where nothing can be written, or is worth it: all configs failed.
    """
    part, session = recording.part, recording.result.session
    if Outcome.NO_ERROR not in recording.outcomes:
        ways = ", ".join(outcome.name for outcome in recording.outcomes)
        raise TunesmithError(
            f"every config failed ({ways}), so there is nothing to replay: see "
            "'tunesmith history', or record another part of the space"
        )
    metadata = {
        _KEY: part.key,
        "task": part.problem.key,
        **part.problem.describe(),
        **part_fields(part.problem.space, part.space),
        "configs": recording.planned,
        "sample": recording.sample,
        "seed": recording.seed,
        "settings": asdict(part.settings),
        "machine": None if session is None else session.machine,
        "versions": None if session is None else session.versions,
    }
    write_texts(path.parent, {SPACE_FILE: t1_text(part.space, part.problem.key)})
    write_t4(path, recording.trials, metadata)
