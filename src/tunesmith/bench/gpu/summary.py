"""The figures that sum up ``tunesmith bench gpu``, beside what is wanted."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.gpu.workloads import BFLOAT, HALF, HALF_LAYERS, SQUARE, gpu_workloads
from tunesmith.bench.operators.workloads import BATCHED, RESNET
from tunesmith.measurement import Outcome

Row = Mapping[str, Any]


@dataclass(frozen=True)
class GpuFigure:
    """A figure, what it came to (None: nothing to tell it from), and what is wanted of it.

    ``most`` says that it is to be no more than ``wanted``, else it is to be no less. ``unit`` is
    what it is shown in: ``×``, ``%``, ``/s`` or nothing. ``have`` of ``of`` things are in it.
    """

    name: str
    value: float | None
    wanted: float | None
    unit: str
    have: int
    of: int
    most: bool = False

    @property
    def reached(self) -> bool | None:
        """Whether it is what was wanted; None if nothing was, or not all of it was measured."""
        if self.value is None or self.wanted is None:
            return None
        if self.have < self.of:
            failed = not self.unit and self.value > self.wanted  # a number that can but grow
            return False if failed else None
        return self.value <= self.wanted if self.most else self.value >= self.wanted


def gpu_summary(figures: Mapping[str, Any]) -> list[GpuFigure]:
    """All figures of the data that the JSON file holds, in the order of the page."""
    rows, sketches = figures["rows"], figures["sketches"]
    return [
        _ratio("ResNet-18 C1–C12 against cuDNN", 1.1, RESNET, rows),
        _ratio("matmul 1024–4096 against cuBLAS", 0.9, SQUARE, rows),
        _ratio("OpEvo's batch matmuls against cuBLAS", 1.0, BATCHED, rows),
        _ratio("matmul 1024–4096, bfloat16, against cuBLAS", 0.7, BFLOAT, rows),
        _ratio("matmul 4096, float16, against cuBLAS", None, HALF, rows),
        _ratio("layers of float16 in NHWC against cuDNN", None, HALF_LAYERS, rows),
        _pace("trials a second, once the first has ended (median)", 8.0, "trials_per_second", rows),
        _pace("valid ones among them", None, "valid_per_second", rows),
        _pace("GPU idle, once the first trial has ended (median)", 0.3, "gpu_idle", rows),
        _wrong_in_tuning(rows),
        _of_sketches("sketches' trials that end wrong (not: refused)", sketches, _failures),
        _of_sketches("sketches without a valid trial", sketches, _is_untried),
    ]


def _ratio(
    name: str, wanted: float | None, workloads: Sequence[str], rows: Sequence[Row]
) -> GpuFigure:
    known = {row["workload"]: row for row in rows}
    ratios = [
        known[workload]["comparison"]["ratio"]
        for workload in workloads
        if "ratio" in known.get(workload, {}).get("comparison", {})
    ]
    value = statistics.geometric_mean(ratios) if ratios else None
    return GpuFigure(name, value, wanted, "×", len(ratios), len(workloads))


def _pace(name: str, wanted: float | None, field: str, rows: Sequence[Row]) -> GpuFigure:
    paces = [row["tuning"].get("pace", {}).get(field) for row in rows]
    known = [pace for pace in paces if pace is not None]
    value = statistics.median(known) if known else None
    idle = field == "gpu_idle"
    unit = "%" if idle else "/s"
    return GpuFigure(name, value, wanted, unit, len(known), len(gpu_workloads()), most=idle)


def _wrong_in_tuning(rows: Sequence[Row]) -> GpuFigure:
    tuned = [row["tuning"]["outcomes"] for row in rows if "outcomes" in row["tuning"]]
    wrong = sum(outcomes.get(Outcome.WRONG_ANSWER.name, 0) for outcomes in tuned)
    value = float(wrong) if tuned else None
    of = len(gpu_workloads())
    return GpuFigure("wrong answers while tuning", value, 0.0, "", len(tuned), of, most=True)


def _failures(row: Row) -> int:
    fine = (Outcome.NO_ERROR.name, Outcome.INSTANTIATION_ERROR.name)
    return sum(count for name, count in row["outcomes"].items() if name not in fine)


def _is_untried(row: Row) -> bool:
    return not row["outcomes"].get(Outcome.NO_ERROR.name)


def _of_sketches(name: str, rows: Sequence[Row], count: Callable[[Row], int]) -> GpuFigure:
    meant = [row for row in rows if row["operators"] or row["unfinished"]]
    tried = [row for row in meant if row["outcomes"]]
    value = float(sum(map(count, tried))) if tried else None
    return GpuFigure(name, value, 0.0, "", len(tried), max(1, len(meant)), most=True)
