"""Claims of the papers that recorded spaces can settle: who takes part, on what, and how often.

A replayed trial takes its time and its result from the record, so many runs cost little, and any
processor will do. What only whole spaces of real operators show is measured: ``bench nose``,
``opevo`` and ``gbfs``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.problems import TEMPLATE, Problem, RecordedProblem, recorded_in
from tunesmith.bench.compare.runs import CompareSettings
from tunesmith.bench.compare.tuners import TunerChoice, choose_tuners

_SPACES = (
    *("conv2d", "depthwise", "gemm", "gemm-limited", "winograd"),
    *("layers/C9", "layers/matmul-1024"),
)

# Of a run: four times as many as the random start of those with a hundred parents.
_TRIALS = 400

# Spaces of the template are smaller: these are a tenth of the largest.
_TEMPLATE_TRIALS = 264
_TEMPLATE_SHARES = (0.05, 0.1)

_QUICK_REPEATS = 2
_QUICK_SPACES = 1


@dataclass(frozen=True)
class Line:
    """A tuner by the name that it has in the figures. It is compared, run by run of the same seed,
    with the lines that stand in ``beside``."""

    name: str
    tuner: str
    beside: tuple[str, ...] = ()

    def choice(self) -> TunerChoice:
        """Raises ``MissingDependencyError`` where it needs what is not installed."""
        (chosen,) = choose_tuners([self.tuner])
        return replace(chosen, label=self.name)


@dataclass(frozen=True)
class ReplayPart:
    """A claim and the runs that settle it: ``repeats`` of each line on each of the recorded spaces,
    which are folders of the data's.

    A run has so many ``trials``. ``shares`` of the space at which lines are looked at need trials
    that come so far; without any the end of a run counts. ``claim`` is what the paper says. A
    part is not ``scored`` where most configs of some spaces fail: a score looks at times which
    end before the first trials do there, as the typical trial costs next to nothing.
    """

    name: str
    title: str
    claim: str
    lines: Sequence[Line]
    repeats: int
    trials: int
    recorded: Sequence[str] = _SPACES
    shares: Sequence[float] = ()
    scored: bool = True

    def quick(self) -> ReplayPart:
        """Seconds of it: one space, few runs."""
        return replace(self, recorded=self.recorded[:_QUICK_SPACES], repeats=_QUICK_REPEATS)

    def problems(self, data: Path) -> list[Problem]:
        """Its spaces. Raises ``UsageError`` where one is missing."""
        return [RecordedProblem(name, recorded_in(data, name)) for name in self.recorded]

    def comparison(self, data: Path, folder: Path, seed: int = 0) -> Comparison:
        """The runs to do, which are kept in a folder. Raises ``UsageError`` like ``Comparison``."""
        tuners = [line.choice() for line in self.lines]
        settings = CompareSettings(self.repeats, trials=self.trials, seed=seed)
        return Comparison(self.problems(data), tuners, settings, folder)


def _nose(population: int) -> tuple[Line, ...]:
    """NoSE with so many parents, without its surrogate, and AutoTVM's GA with as many.

    Without it all offspring are measured: NoSE breeds no more than it measures anyway.
    """
    name = f"N = {population}"
    bare, genetic = f"without surrogate, {name}", f"GA, {name}"
    return (
        Line(f"NoSE, {name}", f"nose:population={population}", (bare, genetic)),
        Line(bare, f"nose:population={population},offspring=0.3", (genetic,)),
        Line(genetic, f"genetic:population={population}"),
    )


def _opevo(option: str, symbol: str, values: Sequence[float], default: float) -> tuple[Line, ...]:
    """OpEvo with other values of an option, each beside the default's."""
    name = f"{symbol} = {default:g}"
    return tuple(
        Line(
            f"{symbol} = {value:g}",
            f"opevo:{option}={value:g}",
            (name,) if value != default else (),
        )
        for value in values
    )


_SURROGATE = (
    "The surrogate, weighted k-NN, avoids configs that fail, and makes an evolutionary search find "
    "good ones sooner than AutoTVM's genetic algorithm (section V)."
)
_WALKS = "In most cases q and λ hardly change what OpEvo finds (section 5.5, figures 7 and 8)."
_Q_AND_PARENTS = (
    *_opevo("q", "q", (0.1, 0.2, 0.5, 0.8, 0.9), 0.5),
    *_opevo("parents", "λ", (2, 8, 32), 8),
    Line("random", "random"),
)
_OPEVO_LEADS = (
    "After 512 trials OpEvo has found faster programs than AutoTVM (figures 3 to 5), and of "
    "products in most cases faster ones than G-BFS and N-A2C (figure 3), on GPUs (section 5)."
)
# Of small spaces 64 random configs are too many.
_SMALL_BATCHES = "autotvm, b = 32"
_OPEVO_AND_OTHERS = (
    Line("OpEvo", "opevo", ("G-BFS", "N-A2C", _SMALL_BATCHES, "random")),
    Line("G-BFS", "gbfs"),
    Line("N-A2C", "na2c"),
    Line(_SMALL_BATCHES, "autotvm:batch=32"),
    Line("random", "random"),
)
# Before 64 trials ``autotvm`` is random search: smaller batches say what its model is worth there.
_SMALLEST_BATCHES = "autotvm, b = 16"
_RIVALS = ("autotvm", _SMALLEST_BATCHES, "controller", "random")


PARTS: dict[str, ReplayPart] = {
    part.name: part
    for part in (
        ReplayPart(
            "surrogate",
            "NoSE: what its surrogate is worth",
            _SURROGATE,
            (*_nose(20), *_nose(100), Line("random", "random")),
            repeats=25,
            trials=_TRIALS,
        ),
        ReplayPart(
            "surrogate-template",
            "NoSE: the same where many configs fail",
            _SURROGATE,
            (*_nose(20), Line("random", "random")),
            repeats=25,
            recorded=TEMPLATE,
            trials=_TEMPLATE_TRIALS,
            shares=_TEMPLATE_SHARES,
            scored=False,
        ),
        ReplayPart(
            "opevo",
            "OpEvo: products",
            _OPEVO_LEADS,
            _OPEVO_AND_OTHERS,
            repeats=25,
            recorded=("gemm", "gemm-64", "gemm-limited"),
            trials=512,
        ),
        ReplayPart(
            "opevo-template",
            "OpEvo: convolutions in a GPU's template",
            _OPEVO_LEADS,
            _OPEVO_AND_OTHERS,
            repeats=25,
            recorded=TEMPLATE,
            trials=_TEMPLATE_TRIALS,
            shares=_TEMPLATE_SHARES,
            scored=False,
        ),
        ReplayPart("walks", "OpEvo: q and λ", _WALKS, _Q_AND_PARENTS, repeats=25, trials=_TRIALS),
        ReplayPart(
            "walks-template",
            "OpEvo: q and λ in a GPU's template",
            _WALKS,
            _Q_AND_PARENTS,
            repeats=25,
            recorded=TEMPLATE,
            trials=_TEMPLATE_TRIALS,
            shares=_TEMPLATE_SHARES,
            scored=False,
        ),
        ReplayPart(
            "visited",
            "G-BFS and N-A2C: the share of the space that was visited",
            "At the same share of the space G-BFS and N-A2C have found faster configs than "
            "AutoTVM's tuner with XGBoost, by 24 % of the time of a call, and than the RNN "
            "controller, by 40 %, at 0.1 % (section 4, figures 7 and 8, 1024³ on a GPU).",
            (
                Line("G-BFS", "gbfs", _RIVALS),
                Line("N-A2C", "na2c", _RIVALS),
                Line("autotvm", "autotvm"),
                Line(_SMALLEST_BATCHES, "autotvm:batch=16"),
                Line("controller", "controller"),
                Line("random", "random"),
                Line("genetic", "genetic"),
            ),
            repeats=100,
            recorded=("gemm-64",),
            trials=2470,
            shares=(0.001, 0.01, 0.05),
        ),
    )
}
"""The claims by name, in the order of the page."""
