"""The problems of a comparison: recorded and synthetic spaces, and measured workloads."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tunesmith.bench.compare.score import Baselines
from tunesmith.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from tunesmith.measure.recorded.recording import Recording
    from tunesmith.problem import Problem as TuningProblem
    from tunesmith.task import Task
    from tunesmith.tuners import View

_WILD = frozenset("*?[")


@dataclass(frozen=True)
class RecordedProblem:
    """A T4 file with the T1 file beside it; ``label`` tells it from the others.

    ``sources`` are other files, for tuners that learn from them beforehand.
    """

    label: str
    path: Path
    sources: tuple[Path, ...] = ()

    @cached_property
    def recording(self) -> Recording:
        """What the file records. Raises ``UsageError`` for one that cannot be used."""
        from tunesmith.measure.recorded.recording import load_recording

        return load_recording(self.path)

    @cached_property
    def baselines(self) -> Baselines:
        """What searches of it are measured with. Raises ``UsageError`` where there is none."""
        recording = self.recording
        try:
            return Baselines.of(recording.seconds, recording.costs)
        except UsageError as error:
            raise UsageError(f"{self.path}: {error}") from error

    @cached_property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before were on another problem."""
        from tunesmith.measure.identity import digest, identify

        recording = self.recording
        return {"record": recording.digest, "space": digest(identify(recording.space))}

    def views(self) -> list[View]:
        """What a tuner is shown."""
        from tunesmith.bench.compare.recorded_task import features_of
        from tunesmith.tuners import View

        return [View(self.recording.space, features=features_of(self.path))]


@dataclass(frozen=True)
class SyntheticProblem:
    """A synthetic space, whose ``label`` is its name."""

    label: str

    trials: ClassVar[int] = 250
    """How many a run has unless it is said."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before were on another problem."""
        import numpy as np

        from tunesmith.bench.synthetic.families import synthetic
        from tunesmith.measure.identity import digest, identify

        landscape = synthetic(self.label)
        some = landscape.space.sample_many(32, np.random.default_rng(0))
        results = [landscape.measurement(config).to_json() for config in some]
        return {"synthetic": digest([identify(landscape.space), results])}

    def views(self) -> list[View]:
        """What a tuner is shown."""
        from tunesmith.bench.synthetic.families import synthetic
        from tunesmith.tuners import View

        return [View(synthetic(self.label).space)]


@dataclass(frozen=True)
class MeasuredProblem:
    """A named workload, measured on this machine with all sketches that can schedule it."""

    label: str

    @cached_property
    def task(self) -> Task:
        """Its task on this machine's CPU."""
        from tunesmith.operators import workload
        from tunesmith.target import Target
        from tunesmith.task import Task

        return Task(workload(self.label), Target())

    @property
    def tuned(self) -> Task | TuningProblem:
        """What its runs tune."""
        return self.task

    @property
    def trials(self) -> int | None:
        """How many a run has unless it is said; None: no limit of its own."""
        return None

    @property
    def sources(self) -> Sequence[MeasuredProblem]:
        """The workloads that tuners learn from beforehand if they transfer."""
        return ()

    @cached_property
    def sketches(self) -> dict[str, int]:
        """The versions of the sketches that it is searched with, by their names."""
        from tunesmith.measure.task.portfolio import problems_of
        from tunesmith.measure.task.problem import TaskProblem
        from tunesmith.task import Task

        tuned = self.tuned
        problems = problems_of(tuned, (), ()) if isinstance(tuned, Task) else tuned.alternatives
        known = [each.sketch for each in problems if isinstance(each, TaskProblem)]
        return {sketch.name: sketch.version for sketch in known}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before were on another problem. On which
        machine they were stands in their traces."""
        return {"task": self.task.key, "sketches": self.sketches}

    def views(self) -> list[View]:
        """What a tuner is shown, one of each sketch."""
        from tunesmith.measure.task.portfolio import problems_of
        from tunesmith.tuners import View

        problems = problems_of(self.task, (), ())
        return [View(problem.space, features=problem.features) for problem in problems]


SimulatedProblem = RecordedProblem | SyntheticProblem
Problem = SimulatedProblem | MeasuredProblem


RECORDED = Path("data/replay")
"""Where a checkout has recorded spaces."""

TEMPLATE = tuple(f"template/C{number}" for number in (1, 2, 3, 4, 6, 7, 9, 10, 12))
"""Those of ResNet-18's layers in AutoTVM's template for a GPU, of which many configs fail."""


def recorded_in(folder: Path, name: str) -> Path:
    """A space's record by the name of its folder. Raises ``UsageError`` where it is missing."""
    found = sorted((folder / name).glob("*.json.gz"))
    if not found:
        raise UsageError(
            f"there is no recorded space in {folder / name}: name its folder by --data"
        )
    return found[0].absolute()


def choose_problems(texts: Iterable[str]) -> list[Problem]:
    """The problems that texts name: T4 files, synthetic spaces such as ``synthetic.mixed.0``, and
    workloads such as ``resnet18.C7``.

    All may be patterns as in a shell. Raises ``UsageError`` for one that is nothing of these, for a
    record that cannot be used or scored, and for a problem that is named twice.
    """
    found = [each for text in texts for each in _named(text)]
    if not found:
        raise UsageError("no problem to compare on: name one or more with --problems")
    twice = [each for each, count in Counter(found).items() if count > 1]
    if twice:
        raise UsageError(f"problem '{twice[0]}' is given twice: leave one out")
    paths = [each for each in found if isinstance(each, Path)]
    labels = _labels(paths)
    problems: list[Problem] = []
    for each in found:
        if isinstance(each, str):
            problems.append(_of_name(each))
        else:
            recorded = RecordedProblem(labels[each], each)
            _ = recorded.baselines  # whose complaint is due now
            problems.append(recorded)
    return problems


def _of_name(name: str) -> SyntheticProblem | MeasuredProblem:
    from tunesmith.bench.synthetic.families import synthetic_names

    return SyntheticProblem(name) if name in synthetic_names() else MeasuredProblem(name)


def _named(text: str) -> Iterator[Path | str]:
    """The files, or the synthetic spaces and workloads, that a text names."""
    from tunesmith.bench.synthetic.families import synthetic_names
    from tunesmith.operators import workload_names

    path, known = Path(text).expanduser(), [*workload_names(), *synthetic_names()]
    if text in known:
        yield text
    elif path.is_file():
        yield path.absolute()
    elif set(text) & _WILD:
        files = [file for file in _fitting(path) if not file.name.endswith(".T1.json")]
        named = files or fnmatch.filter(known, text)
        if not named:
            raise UsageError(
                f"problem '{text}': no file, synthetic space or workload fits this pattern"
            )
        yield from named
    elif path.is_dir():
        raise UsageError(f"problem '{text}' is a folder: name its T4 files: '{text}/*.json.gz'")
    elif "/" in text or path.suffix in (".json", ".gz"):
        raise UsageError(f"problem '{text}': there is no such file")
    else:
        raise unknown_name("problem", text, known, listed_by="tunesmith operators")


def _fitting(pattern: Path) -> list[Path]:
    root = Path(pattern.anchor or ".")
    below = pattern.relative_to(pattern.anchor) if pattern.anchor else pattern
    return sorted(file.absolute() for file in root.glob(str(below)) if file.is_file())


def _labels(paths: Iterable[Path]) -> dict[Path, str]:
    """The last parts of each path that tell it from the others, two at least: convolution/A100."""
    listed = list(paths)
    for depth in range(2, 2 + max((len(path.parts) for path in listed), default=0)):
        labels = {path: _label(path, depth) for path in listed}
        if len(set(labels.values())) == len(listed):
            return labels
    return {path: str(path) for path in listed}


def _label(path: Path, depth: int) -> str:
    name = path.name.removesuffix(".gz").removesuffix(".json")
    return "/".join([*path.parts[-depth:-1], name])
