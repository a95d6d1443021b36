"""The experiments of "Learning to Optimize Tensor Programs", section 6: who takes part on what.

Recorded are parts of the spaces of ResNet-18's layers: ``layers`` of one of our sketches, on a CPU,
and ``template`` of AutoTVM's template on a GPU, as in the paper.
"""

from __future__ import annotations

from tunesmith.bench.autotvm.parts import Line, Part
from tunesmith.bench.compare.problems import TEMPLATE
from tunesmith.bench.operators.workloads import RESNET
from tunesmith.features.program import PROGRAM_FEATURES

_SOURCES = tuple(f"layers/C{number}" for number in range(1, 7))
_HARD = ("conv2d", "gemm")
_ALL = (*(f"layers/C{number}" for number in range(1, 13)), *_HARD)

BATCH = 32
"""Configs that ``autotvm`` plans at once in recorded spaces, which are small: with its 64 a third
of a run would be its random start."""

_TREE_GRU = {"model": "tree-gru", "features": "loop-context"}


def _autotvm(**options: object) -> str:
    written = ",".join([f"batch={BATCH}", *(f"{name}={value}" for name, value in options.items())])
    return f"autotvm:{written}"


_MODELS_WIN = (
    "GBT and TreeGRU find better configs than random search and a genetic algorithm, even where "
    "these have two evaluations a trial."
)
_TRANSFER_HELPS = "With a model of earlier workloads tuning is 2 to 10 times as fast."
_GA, _RANDOM = Line("GA", "genetic"), Line("random", "random")
_SMALL_GA = Line(
    f"GA of {BATCH}",
    f"genetic:population={BATCH}",
    note="the GA with as small a population as our batches are where spaces are replayed: the "
    "first hundred of the GA's are random",
)
_MODELS_AND_NONE = (
    Line("GBT", _autotvm(objective="rank")),
    Line("TreeGRU", _autotvm(**_TREE_GRU, objective="rank")),
    _GA,
    Line("GA × 2", "genetic*2"),
    _SMALL_GA,
    _RANDOM,
    Line("random × 2", "random*2"),
)
_TRANSFER_AND_NONE = (
    Line(
        "transfer",
        _autotvm(),
        "context-relation",
        note="a search with a model of other tasks by context relations, as in the paper; what it "
        "learns in the run itself is by configurations. The model of `tunesmith tune` is another "
        "one, which is seen on whole spaces below",
    ),
    Line("from nothing", _autotvm()),
    Line("random", "random"),
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
                _GA,
                _SMALL_GA,
                _RANDOM,
            ),
            trials=512,
            repeats=8,
            measured=RESNET,
            note="What two evaluations a trial would find is taken from the same runs; in the two "
            "parts below, which are replayed, it has runs of its own.",
            by_problem=True,
        ),
        Part(
            "model-replay",
            "The same on recorded spaces (figure 4)",
            _MODELS_WIN,
            _MODELS_AND_NONE,
            trials=320,
            repeats=8,
            recorded=_ALL,
        ),
        Part(
            "model-template",
            "The same in a GPU's template (figure 4)",
            _MODELS_WIN,
            _MODELS_AND_NONE,
            trials=320,
            repeats=8,
            recorded=TEMPLATE,
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
                Line("mean of five", _autotvm(objective="regression", members=5)),
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
            note="Its models learn by regression there, and so do these; **GBT** above by rank.",
        ),
        Part(
            "transfer",
            "Transfer from C1–C6 to C7, C8 and C9 (figure 8)",
            _TRANSFER_HELPS,
            _TRANSFER_AND_NONE,
            trials=200,
            repeats=32,
            recorded=("layers/C7", "layers/C8", "layers/C9"),
            sources=_SOURCES,
            by_problem=True,
        ),
        Part(
            "transfer-template",
            "Transfer in a GPU's template (figure 8)",
            _TRANSFER_HELPS,
            _TRANSFER_AND_NONE,
            trials=200,
            repeats=32,
            recorded=("template/C7", "template/C9"),
            sources=tuple(f"template/C{number}" for number in (1, 2, 3, 4, 6)),
            by_problem=True,
        ),
        Part(
            "transfer-measured",
            "Transfer on whole spaces (figure 8)",
            _TRANSFER_HELPS,
            (
                Line("transfer", "autotvm", "configuration"),
                Line(
                    "estimates alone",
                    "autotvm",
                    "estimates",
                    note="`autotvm` with the sketch's estimates in place of a model of other tasks",
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
                    note="the default tuner with the sketch's estimates alone, whose favourites it "
                    "begins with",
                ),
                Line("from nothing", "autotvm"),
                Line("random", "random"),
            ),
            trials=200,
            repeats=8,
            measured=RESNET[6:9],
            sources=RESNET[:6],
            by_problem=True,
        ),
        Part(
            "representation",
            "Representations that transfer (figure 9)",
            "Configurations are less useful for other workloads, flat loop contexts transfer "
            "between convolutions and not between operators, context relations everywhere.",
            (
                Line("configuration", _autotvm(), "configuration"),
                Line("loop context", _autotvm(), "loop-context"),
                Line("context relation", _autotvm(), "context-relation"),
                *(
                    Line(
                        f"{kind.replace('-', ' ')}, both",
                        _autotvm(features=kind),
                        kind,
                        note="a search whose own model has these features too, as in the paper; "
                        "that of the other lines has configurations",
                    )
                    for kind in PROGRAM_FEATURES
                ),
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
