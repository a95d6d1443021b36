"""What an experiment of "Learning to Optimize Tensor Programs" is made of: lines and problems.

What needs whole spaces is measured. What recorded spaces answer is replayed from them, which costs
no hardware.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.problems import Problem, RecordedProblem, recorded_in
from tunesmith.bench.compare.runs import CompareSettings, Run
from tunesmith.bench.compare.tuners import (
    Transferred,
    TunerChoice,
    choose_tuners,
    why_not_installed,
)
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.errors import unknown_name
from tunesmith.features.program import PROGRAM_FEATURES
from tunesmith.operators import workload

SKETCH = "cpu_tiled"
"""Of the kind of the paper's templates: tiles of all loops, orders, and unrolling."""


@dataclass(frozen=True)
class Line:
    """A tuner by the name that it has in the part's figures. ``transfer`` is the kind of features
    by which it has a model of other tasks, or ``estimates`` for one that has learned nothing; with
    ``starts`` a run begins with what that likes. ``note`` says what it is, where the name does not.
    """

    name: str
    tuner: str
    transfer: Transferred | None = None
    starts: bool = False
    note: str = ""

    def choice(self) -> TunerChoice:
        """Raises ``MissingDependencyError`` where it needs what is not installed."""
        (chosen,) = choose_tuners([self.tuner])
        return TunerChoice(self.name, chosen.tuner, chosen.multiplier, self.transfer, self.starts)


@dataclass(frozen=True)
class Part:
    """An experiment, by recorded spaces or measured: ``recorded`` are folders of recorded spaces,
    ``measured`` workloads; the tuners that transfer learn from ``sources``, which are of the same
    kind. ``claim`` is what the paper says, ``note`` what is different here. With ``by_problem`` the
    page tells of each problem too."""

    name: str
    title: str
    claim: str
    lines: Sequence[Line]
    trials: int
    repeats: int
    recorded: Sequence[str] = ()
    measured: Sequence[str] = ()
    sources: Sequence[str] = ()
    note: str = ""
    by_problem: bool = False

    @property
    def folder(self) -> str:
        """The folder of its runs. Parts that replay as many trials share theirs, as some of their
        lines are the same search."""
        return f"replayed-{self.trials}" if self.recorded else self.name

    def reads_programs(self, names: Collection[str]) -> bool:
        """Whether models of lines of these names learn from features of programs in the run."""
        return any("features=" in line.tuner for line in self.lines if line.name in names)

    def looks_at_programs(self, names: Collection[str]) -> bool:
        """Whether models of lines of these names, of the run or of other tasks, learn from
        features of programs."""
        others = (line for line in self.lines if line.name in names)
        return self.reads_programs(names) or any(it.transfer in PROGRAM_FEATURES for it in others)

    def runs_of(self, comparison: Comparison, names: Sequence[str]) -> list[Run]:
        """The runs of those of its lines that are named; of all where none is.

        Raises ``UsageError`` for a name that no line has.
        """
        known = [line.name for line in self.lines]
        for name in names:
            if name not in known:
                raise unknown_name(f"line of part {self.name}", name, known)
        return [run for run in comparison.runs() if not names or run.tuner.label in names]

    def installed(self, named: Sequence[str] = ()) -> tuple[Part, dict[str, str]]:
        """With those of its lines alone that can run on this machine, and those that are ``named``;
        of the others, why not."""
        missing = {line.name: why_not_installed(line.tuner) for line in self.lines}
        left_out = {name: why for name, why in missing.items() if why and name not in named}
        return replace(self, lines=[it for it in self.lines if it.name not in left_out]), left_out

    def problems(self, data: Path, chosen: Sequence[str] = ()) -> list[Problem]:
        """Its problems, or those of them that are ``chosen`` by name.

        Raises ``UsageError`` where a recorded space is missing, or a name is unknown.
        """
        known: dict[str, Problem] = {}
        sources = tuple(recorded_in(data, name) for name in self.sources if self.recorded)
        others = tuple(
            SearchProblem(name, workload(name), SKETCH) for name in self.sources if self.measured
        )
        for name in self.recorded:
            known[name] = RecordedProblem(name, recorded_in(data, name), sources)
        for name in self.measured:
            known[name] = SearchProblem(name, workload(name), SKETCH, others=others)
        for name in chosen:
            if name not in known:
                raise unknown_name(f"problem of part {self.name}", name, known)
        return [problem for name, problem in known.items() if not chosen or name in chosen]

    def comparison(
        self, problems: Sequence[Problem], settings: CompareSettings, folder: Path
    ) -> Comparison:
        """The runs to do, which are kept in a folder. Raises ``UsageError`` like ``Comparison``."""
        tuners = [line.choice() for line in self.lines]
        if self.recorded:  # whose runs have the name of the search, not of the line
            searches = (f"{line.tuner} {line.transfer or ''}" for line in self.lines)
            tuners = [replace(it, kept_as=name) for it, name in zip(tuners, searches, strict=True)]
        return Comparison(problems, tuners, settings, folder, elsewhere=True)
