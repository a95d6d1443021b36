"""Networks to report on: a large one, a small one that was measured inside, and a hostile one."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

from tests.reports.samples import attack
from tunesmith.reports.networks.model import (
    MODEL,
    STORE,
    CallPart,
    CallTimes,
    NetworkReport,
    TaskRow,
)

OPERATORS = ("conv2d", "depthwise_conv2d", "pool2d", "dense", "softmax", "layer_norm", "lstm")


def task(number: int, *, layers: int = 1, origin: str = STORE) -> TaskRow:
    """A task that is ``number`` + 1 times as dear as the first one; every third is estimated."""
    operator = OPERATORS[number % len(OPERATORS)]
    seconds = (number + 1) * 1e-5
    return TaskRow(
        key=f"{operator}(n={number})@cpu",
        label=f"{operator}(n={number}, bias=true)",
        brief=f"{operator} {number}×7×7 → 64×7×7, 3×3, bias",
        operator=operator,
        flops=1e6 * (number + 1),
        layers=layers,
        least_seconds=seconds / 2,
        limit="memory" if operator == "pool2d" else "arithmetic",
        seconds=seconds,
        default_seconds=4 * seconds if origin == STORE else None,
        sketch="cpu_direct",
        origin=origin,
        trials=40 if origin == STORE else 0,
    )


def large_network() -> NetworkReport:
    """120 layers of 60 tasks, a third of which were never tuned."""
    tasks = [task(number, layers=2, origin=STORE if number % 3 else MODEL) for number in range(60)]
    return NetworkReport(
        title="inception_v3, batch 8",
        inputs="x 8×3×299×299 float32",
        target="kind = llvm, mcpu = znver4, num-cores = 16",
        machine="AMD EPYC 9R14 (family 25, model 17), 16 cores",
        tasks=tasks,
        layers=[*range(60), *range(60)],
        uncovered=["reshape"] * 2 + ["take"],
        curve=[(0.0, 0.12), (100.0, 0.05), (8000.0, 0.0366)],
        tuning_seconds=8000.0,
        tuner="auto",
        started=datetime(2025, 11, 20, 14, 3, 27, tzinfo=UTC),
        ended=datetime(2025, 11, 20, 16, 20, 5, tzinfo=UTC),
        versions={"tunesmith": "0.1.0", "apache-tvm": "0.27.0"},
        commands=["tunesmith network tune inception.onnx --seconds 8000"],
    )


def measured_network() -> NetworkReport:
    """Three layers of two tasks, with peers, and what a call took inside the built network."""
    tasks = [
        dataclasses.replace(task(0, layers=2), peers={"OpenVINO": 2e-5, "PyTorch": 4e-5}),
        task(2),
    ]
    parts = [
        _part("layer0_conv2d", 1.1e-5, tasks[0]),
        _part("layer1_pool2d", 3.3e-5, tasks[1]),
        CallPart(name="fused_take_multiply", seconds=5e-6),
        _part("layer0_conv2d", 1.3e-5, tasks[0]),
    ]
    return dataclasses.replace(
        large_network(),
        title="net.onnx",
        tasks=tasks,
        layers=[0, 1, 0],
        uncovered=["take", "multiply"],
        call=CallTimes(7e-5, parts),
        curve=[(0.0, 2e-4), (20.0, 5e-5)],
        tuning_seconds=20.0,
    )


def hostile_network() -> NetworkReport:
    """Every text carries an attack."""
    report = measured_network()
    texts = {
        field.name: attack(field.name)
        for field in dataclasses.fields(report)
        if isinstance(getattr(report, field.name), str)
    }
    names = ("key", "label", "brief", "operator", "sketch")
    row = dataclasses.replace(
        report.tasks[0],
        **{name: attack(name) for name in names},  # type: ignore[arg-type]
        peers={attack("peer"): 1e-3},
    )
    return dataclasses.replace(
        report,
        **texts,  # type: ignore[arg-type]
        tasks=[row, report.tasks[1]],
        uncovered=[attack("operation")],
        call=CallTimes(1e-4, [CallPart(name=attack("function"), seconds=1e-5)]),
        versions={attack("software"): attack("version")},
        commands=[attack("command")],
    )


def _part(name: str, seconds: float, row: TaskRow) -> CallPart:
    return CallPart(
        name=name,
        seconds=seconds,
        label=row.label,
        brief=row.brief,
        operator=row.operator,
        flops=row.flops,
        least_seconds=row.least_seconds,
        limit=row.limit,
        sketch=row.sketch,
    )
