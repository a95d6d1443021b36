"""Runs to report on: one as a user would have it, and one whose every text is an attack."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import numpy as np

from tunesmith.measurement import Measurement, Outcome
from tunesmith.reports import MeasuredConfig, RunReport, SketchShare, TrialPoint, trial_points
from tunesmith.space import Config

FLOPS = 2 * 56 * 56 * 64 * 64 * 9
FAILURES = (Outcome.INSTANTIATION_ERROR, Outcome.RUNTIME_DEVICE, Outcome.BUILD_TIMEOUT)

DEFAULT = Config(
    {
        "tile_co": (4, 1, 16),
        "tile_h": (14, 4, 1),
        "tile_w": (7, 1, 8),
        "tile_ci": (16, 4),
        "order": ("co", "h", "ci", "w"),
        "vectorize": True,
        "unroll": 0,
        "layout": "NCHW16c",
    }
)
BEST = DEFAULT.replace(
    tile_co=(2, 2, 16), tile_h=(28, 1, 2), tile_w=(4, 2, 7), order=("h", "co", "ci", "w"), unroll=64
)

PROGRAM = """\
# from tvm.script import tirx as T


@T.prim_func(private=True)
def conv2d(data: T.handle, weight: T.handle, output: T.handle):
    T.func_attr({"global_symbol": "conv2d", "tirx.noalias": True})
    image = T.match_buffer(data, (1, 64, 56, 56), "float32")
    kernel = T.match_buffer(weight, (64, 64, 3, 3), "float32")
    result = T.match_buffer(output, (1, 64, 56, 56), "float32")
    padded = T.alloc_buffer((1, 64, 58, 58), "float32")
    for y_co in T.parallel(56):
        for c, h, w in T.grid(64, 2, 58):
            with T.sblock("pad"):
                padded[0, c, y_co + h, w] = T.if_then_else(
                    1 <= w and w < 57, image[0, c, y_co + h - 1, w - 1], T.float32(0.0)
                )
        for co, ci, ry, rx, x in T.grid(4, 64, 3, 3, 56):
            for lane in T.vectorized(16):
                with T.sblock("conv2d"):
                    result[0, co * 16 + lane, y_co, x] += (
                        padded[0, ci, y_co + ry, x + rx] * kernel[co * 16 + lane, ci, ry, rx]
                    )
"""


def measurements(trials: int = 500, seed: int = 7) -> list[tuple[Measurement, float]]:
    """Trials that get faster as a tuner learns, a fifth of them invalid in three classes."""
    rng = np.random.default_rng(seed)
    timed: list[tuple[Measurement, float]] = []
    clock = 0.0
    for index in range(trials):
        build, run = rng.uniform(0.3, 1.2), rng.uniform(0.2, 0.9)
        clock += 0.6 * build + run + rng.uniform(0.01, 0.06)
        config = Config({"index": index})
        if rng.random() < 0.2:
            outcome = FAILURES[rng.choice(3, p=(0.6, 0.3, 0.1))]
            measurement = Measurement(config, outcome, build_time=build, message="as asked")
        else:
            learnt = 1 - np.exp(-index / (0.24 * trials))
            share = np.clip(rng.beta(1.2 + 4 * learnt, 4.5 - 1.8 * learnt), 0.004, 0.985)
            seconds = FLOPS / (share * 118e9)
            cut_off = bool(share < 0.12)
            repeats = 1 if cut_off else 3
            measurement = Measurement(
                config,
                Outcome.NO_ERROR,
                tuple(float(seconds * rng.normal(1, 0.004)) for _ in range(repeats)),
                float(build),
                float(run),
                cut_off=cut_off,
            )
        timed.append((measurement, clock))
    return timed


def tuned_run(trials: int = 500) -> RunReport:
    """A convolution tuned for some trials: faster than its default and than PyTorch."""
    timed = measurements(trials)
    points = trial_points(timed)
    elapsed = timed[-1][1] if timed else 0.0
    shares = {"search": 0.05, "build": 0.37, "run": 0.55, "record": 0.01, "idle": 0.02}
    fastest = min((point.seconds for point in points if point.seconds), default=None)
    return RunReport(
        task="conv2d(ci=64,co=64,dtype=float32,h=56,kernel=3x3,layout=NCHW,n=1,padding=1,w=56)@cpu",
        title="conv2d of 1×64×56×56 with 64 filters of 3×3, float32",
        target="llvm, znver4, 16 cores",
        machine="AMD EPYC 9R14 (family 25, model 17), 16 cores, 32 GiB, avx2 avx512f fma",
        tuner="genetic(population=100, mutation=0.1), seed 7",
        started=datetime(2025, 11, 20, 14, 3, 27, tzinfo=UTC),
        budget=f"{trials} trials",
        stopped="all trials of the budget were spent",
        flops=float(FLOPS),
        trials=points,
        time={phase: share * elapsed for phase, share in shares.items()},
        default=MeasuredConfig(FLOPS / 40.1e9, dict(DEFAULT)),
        best=None if fastest is None else MeasuredConfig(fastest, dict(BEST)),
        peers={"PyTorch": FLOPS / 88.6e9},
        versions={"tunesmith": "0.1.0", "tvm": "0.27.0", "llvm": "21.1"},
        program=PROGRAM,
        command="tunesmith tune conv2d --n 1 --ci 64 --h 56 --w 56 --co 64 --kernel 3 --padding 1 "
        f"\\\n    --tuner genetic --trials {trials} --seed 7",
    )


def attack(place: str) -> str:
    """Text that marks the page if any browser takes it for HTML, in any of the usual ways."""
    return (
        f'{place}</script></title></style></pre><script>document.title="owned"</script>'
        '<img class="owned" src="x" onerror="document.title=\'owned\'">\'"><b class="owned">{{7*7}}'
    )


def hostile_run() -> RunReport:
    """A run in which every text, name and value carries an attack."""
    report = tuned_run(60)
    texts = {
        field.name: attack(field.name)
        for field in dataclasses.fields(report)
        if isinstance(getattr(report, field.name), str)
    }
    config = {attack("parameter"): attack("value"), "tuple": (attack("part"), 1)}
    return dataclasses.replace(
        report,
        **texts,  # type: ignore[arg-type]
        default=MeasuredConfig(2e-3, config, attack("sketch")),
        sketches=[SketchShare(attack(f"sketch {number}"), 5, 1e-3) for number in range(2)],
        best=MeasuredConfig(1e-3, {**config, "tuple": (2, 1)}),
        peers={attack("peer"): 1.5e-3},
        versions={attack("software"): attack("version")},
    )


def empty_run() -> RunReport:
    """A run that was stopped before its first trial."""
    return dataclasses.replace(
        tuned_run(0), default=None, best=None, peers={}, program="", command="", versions={}
    )


def fruitless_run() -> RunReport:
    """A run without FLOPs, default or peers in which no trial was valid."""
    points = tuple(
        TrialPoint(index, float(index), Outcome.WRONG_ANSWER, build_time=0.5)
        for index in range(1, 13)
    )
    return dataclasses.replace(
        empty_run(), flops=None, trials=points, time={"build": 6.0, "idle": 6.0}
    )
