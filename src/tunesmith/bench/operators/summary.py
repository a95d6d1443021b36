"""The figures that sum up the rows of ``tunesmith bench operators``, beside what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from typing import Any

from tunesmith.bench.operators.shapes import shape_workloads
from tunesmith.bench.operators.workloads import (
    BATCHED,
    COMPARED_TUNERS,
    DENSE,
    DEPTHWISE,
    FUSED,
    OPEVO,
    POINTWISE,
    RESNET,
    SQUARE,
    Suite,
)
from tunesmith.bench.timing.rotation import DISTURBED, disturbance

Row = Mapping[str, Any]
_ONEDNN = ("onednn", "onednn-blocked")


@dataclass(frozen=True)
class Figure:
    """A figure, what it came to (None: nothing to tell it from), and what was wanted of it.

    ``have`` of ``of`` workloads are in it, and in ``undisturbed`` of those no side was disturbed;
    None for what is no ratio of sides in turn.
    """

    name: str
    value: float | None
    wanted: float | None
    have: int
    of: int
    undisturbed: int | None

    @property
    def reached(self) -> bool:
        """Whether it is what was wanted, of all workloads."""
        if self.value is None or self.wanted is None:
            return False
        return self.have == self.of and self.value >= self.wanted


def summary(rows: Iterable[Row], suite: Suite = Suite.LAYERS) -> list[Figure]:
    """All figures of a suite, in the order of the page."""
    figure = partial(_figure, {row["workload"]: row for row in rows})
    if suite is Suite.SHAPES:
        names = tuple(shape_workloads())
        return [
            figure("the least of all", 1.0, names, best_ratio, together=min),
            figure("geometric mean of all", None, names, best_ratio),
            *(figure(name, 1.0, (name,), best_ratio, together=min) for name in names),
        ]
    fused, tuned = tuple(name + FUSED for name in RESNET), COMPARED_TUNERS
    mkl, kernels = ratio_to("pytorch"), "C1–C12 and matmuls against MetaSchedule's kernels"
    return [
        figure("ResNet-18 C1–C12 against the best peer", 1.5, RESNET, best_ratio),
        figure("the least of these", 1.0, RESNET, best_ratio, together=min),
        figure("C1–C12 against oneDNN, plain data as ours", 1.8, RESNET, ratio_to("onednn")),
        figure("C1–C12 against oneDNN, also with its own data", 1.8, RESNET, ratio_to(*_ONEDNN)),
        figure("C1–C12 with bias and ReLU against the best peer", None, fused, best_ratio),
        figure("the least of these", 1.0, fused, best_ratio, together=min),
        figure("matmul 512–2048 against PyTorch (MKL)", 1.0, SQUARE, mkl),
        figure("the least of these", 1.0, SQUARE, mkl, together=min),
        figure("matmul 512–2048 against the best peer", 1.0, SQUARE, best_ratio),
        figure("OpEvo's matmuls against the best peer", 1.0, OPEVO, best_ratio),
        figure("batch matmuls against torch.bmm", 1.3, BATCHED, mkl),
        figure("depthwise layers against the best peer", 1.8, DEPTHWISE, best_ratio),
        figure("pointwise layers against the best peer", 1.0, POINTWISE, best_ratio),
        figure("dense, constant weights, against the best peer", 1.0, DENSE, best_ratio),
        figure(kernels, 1.5, tuned, _kernel_ratio, disturbed=_is_rival_disturbed),
        figure("trials a second against MetaSchedule's", 15.0, tuned, _trial_rates, disturbed=None),
    ]


def is_disturbed(row: Row) -> bool:
    """Whether any side of the comparison with libraries was."""
    return bool(row["disturbed"] or any(peer["disturbed"] for peer in row["peers"].values()))


def _figure(
    known: Mapping[str, Row],
    name: str,
    wanted: float | None,
    workloads: Sequence[str],
    of_row: Callable[[Row], float | None],
    *,
    together: Callable[[Sequence[float]], float] = geometric_mean,
    disturbed: Callable[[Row], bool] | None = is_disturbed,
) -> Figure:
    """What the rows of these workloads come to ``together``."""
    there = [known[workload] for workload in workloads if workload in known]
    have = [(row, value) for row in there if (value := of_row(row)) is not None]
    value = together([value for _, value in have]) if have else None
    calm = disturbed and sum(not disturbed(row) for row, _ in have)
    return Figure(name, value, wanted, len(have), len(workloads), calm)


def best_ratio(row: Row) -> float | None:
    """Against the fastest peer of the row."""
    ratio: float | None = row["best_peer_ratio"]
    return ratio


def ratio_to(*peers: str) -> Callable[[Row], float | None]:
    """Against the fastest of these peers."""

    def ratio(row: Row) -> float | None:
        ratios = [row["peers"][name]["ratio"] for name in peers if name in row["peers"]]
        return min(ratios, default=None)

    return ratio


def _kernel_ratio(row: Row) -> float | None:
    ratio: float | None = row.get("metaschedule", {}).get("ratio")
    return ratio


def _trial_rates(row: Row) -> float | None:
    found = row.get("metaschedule", {})
    theirs = found.get("trials_per_second")
    return found["our_trials_per_second"] / theirs if theirs else None


def _is_rival_disturbed(row: Row) -> bool:
    found = row["metaschedule"]
    sides = (("first", "first_alone"), ("second", "second_alone"))
    return any(disturbance(found[turn], found[alone]) > DISTURBED for turn, alone in sides)
