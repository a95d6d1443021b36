"""The experiments of "Learning to Optimize Tensor Programs", section 6: who takes part on what.

What needs whole spaces is measured. What compares variants of one search is replayed from recorded
parts of the spaces of ResNet-18's layers, which costs no hardware.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.problems import Problem, RecordedProblem, recorded_in
from tunesmith.bench.compare.runs import CompareSettings
from tunesmith.bench.compare.tuners import (
    Transferred,
    TunerChoice,
    choose_tuners,
    why_not_installed,
)
from tunesmith.bench.operators.workloads import RESNET
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.errors import unknown_name
from tunesmith.operators import workload

SKETCH = "cpu_tiled"
"""Of the kind of the paper's templates: tiles of all loops, orders, and unrolling."""

_SOURCES = tuple(f"layers/C{number}" for number in range(1, 7))
_HARD = ("conv2d", "gemm")
_ALL = (*(f"layers/C{number}" for number in range(1, 13)), *_HARD)
# Recorded spaces are small: with batches of 64 a third of a run would be its random start.
_SMALL = "batch=32"
_TREE_GRU = {"model": "tree-gru", "features": "loop-context"}


@dataclass(frozen=True)
class Line:
    """A tuner by the name that it has in the part's figures. ``transfer`` is the kind of features
    by which it has a model of other spaces, or ``estimates`` for one that has learned nothing; with
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
    page has a table for each problem."""

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

    def only(self, names: Sequence[str]) -> Part:
        """With those of its lines alone that are named; with all where none is.

        Raises ``UsageError`` for a name that no line has.
        """
        known = {line.name: line for line in self.lines}
        for name in names:
            if name not in known:
                raise unknown_name(f"line of part {self.name}", name, known)
        return replace(self, lines=[known[name] for name in names] or self.lines)

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


def _autotvm(**options: object) -> str:
    written = ",".join([_SMALL, *(f"{name}={value}" for name, value in options.items())])
    return f"autotvm:{written}"


_MODELS_WIN = (
    "GBT and TreeGRU find better configs than random search and a genetic algorithm, even where "
    "these have two evaluations a trial."
)
_WITHOUT_MODEL = (
    Line("GA", "genetic"),
    Line("GA × 2", "genetic*2"),
    Line("random", "random"),
    Line("random × 2", "random*2"),
)


PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part(
            "model",
            "Models against searches without one (figure 4)",
            _MODELS_WIN,
            (
                Line("GBT", "autotvm"),
                Line("TreeGRU", "autotvm:model=tree-gru,features=loop-context"),
                *_WITHOUT_MODEL,
            ),
            trials=512,
            repeats=8,
            measured=RESNET,
        ),
        Part(
            "model-replay",
            "The same on recorded spaces (figure 4)",
            _MODELS_WIN,
            (
                Line("GBT", _autotvm(objective="rank")),
                Line("TreeGRU", _autotvm(**_TREE_GRU, objective="rank")),
                *_WITHOUT_MODEL,
            ),
            trials=320,
            repeats=8,
            recorded=_ALL,
        ),
        Part(
            "objective",
            "Rank and regression (figure 5)",
            "The rank objective is as good as regression or better, for both models.",
            (
                Line("GBT, rank", _autotvm(objective="rank")),
                Line("GBT, regression", _autotvm(objective="regression")),
                Line(
                    "GBT of programs, rank",
                    _autotvm(objective="rank", features="context-relation"),
                ),
                Line(
                    "GBT of programs, regression",
                    _autotvm(objective="regression", features="context-relation"),
                ),
                Line("TreeGRU, rank", _autotvm(**_TREE_GRU, objective="rank")),
                Line("TreeGRU, regression", _autotvm(**_TREE_GRU, objective="regression")),
                Line("random", "random"),
            ),
            trials=320,
            repeats=8,
            recorded=_ALL,
        ),
        Part(
            "diversity",
            "Diversity-aware choice of batches (figure 6)",
            "Diversity makes little difference on most workloads, and helps on one.",
            (
                Line("λ = 1", _autotvm(diversity_ratio=1)),
                Line("λ = 2", _autotvm(diversity_ratio=2)),
                Line("λ = 4", _autotvm(diversity_ratio=4)),
                Line("λ = 2, α = 0", _autotvm(diversity_ratio=2, diversity_weight=0.0)),
                Line("λ = 4, α = 0.5", _autotvm(diversity_ratio=4, diversity_weight=0.5)),
                Line("random", "random"),
            ),
            trials=320,
            repeats=8,
            recorded=_ALL,
        ),
        Part(
            "uncertainty",
            "Uncertainty by bootstrap ensembles (figure 7)",
            "The mean, expected improvement and the upper confidence bound find the same.",
            (
                Line("one model", _autotvm(objective="regression")),
                Line(
                    "expected improvement",
                    _autotvm(objective="regression", acquisition="expected-improvement"),
                ),
                Line(
                    "upper confidence bound",
                    _autotvm(objective="regression", acquisition="upper-confidence-bound"),
                ),
                Line("random", "random"),
            ),
            trials=320,
            repeats=8,
            recorded=_ALL,
        ),
        Part(
            "transfer",
            "Transfer from C1–C6 to C7, C8 and C9 (figure 8)",
            "With a model of earlier workloads tuning is 2 to 10 times as fast.",
            (
                Line("transfer", _autotvm(), "context-relation"),
                Line("from nothing", _autotvm()),
                Line("random", "random"),
            ),
            trials=200,
            repeats=32,
            recorded=("layers/C7", "layers/C8", "layers/C9"),
            sources=_SOURCES,
        ),
        Part(
            "transfer-measured",
            "Transfer on whole spaces (figure 8)",
            "With a model of earlier workloads tuning is 2 to 10 times as fast.",
            (
                Line("transfer", "autotvm", "configuration"),
                Line(
                    "estimates alone",
                    "autotvm",
                    "estimates",
                    note="the same tuner with a model that has learned nothing, which is what the "
                    "sketch estimates",
                ),
                Line(
                    "auto with transfer",
                    "auto",
                    "configuration",
                    starts=True,
                    note="the default tuner with the same model as **transfer**, whose favourites "
                    "it begins with",
                ),
                Line(
                    "auto with estimates",
                    "auto",
                    "estimates",
                    starts=True,
                    note="the default tuner as it is without a model of other tasks",
                ),
                Line("from nothing", "autotvm"),
                Line("random", "random"),
            ),
            trials=200,
            repeats=8,
            measured=RESNET[6:9],
            sources=RESNET[:6],
        ),
        Part(
            "representation",
            "Representations that transfer (figure 9)",
            "Configurations transfer within one operator's sizes alone, flat loop contexts less "
            "well between operators, context relations everywhere.",
            (
                Line("configuration", _autotvm(), "configuration"),
                Line("loop context", _autotvm(), "loop-context"),
                Line("context relation", _autotvm(), "context-relation"),
                Line("from nothing", _autotvm()),
                Line("random", "random"),
            ),
            trials=200,
            repeats=32,
            recorded=("layers/C7", "layers/matmul-1024"),
            sources=_SOURCES,
            by_problem=True,
        ),
    )
}
"""The experiments by name, in the order of the page."""
