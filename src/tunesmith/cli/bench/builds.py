"""``tunesmith bench builds``: where the time of a build goes."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, remark
from tunesmith.errors import UsageError

# TVM has many passes: those that take less than this share of a build are shown as one.
_SMALL = 0.01


def builds(
    layer: Annotated[str, Option(help="A named layer; weights are constant.")] = "resnet18.C8",
    *,
    sketch: opt.SketchNames = None,
    configs: Annotated[int, Option(help="Configs of each sketch, the default first.")] = 10,
    seed: Annotated[int, Option(help="Seed of the other configs.")] = 0,
    mcpu: opt.Processor = None,
    as_json: opt.Json = False,
) -> None:
    """Show where the time of a build goes: by phase, by TVM's pass and by group of LLVM's."""
    from tunesmith.bench.builds.builds import BuildsSettings, measure_builds
    from tunesmith.bench.operators.workloads import operator_workloads
    from tunesmith.target import Target
    from tunesmith.task import Task

    settings = BuildsSettings(configs, seed)
    named = operator_workloads([layer])
    if layer not in named:
        raise UsageError(f"--layer is a pattern of {len(named)} layers: name one of these")
    task = Task(named[layer], Target("cpu", mcpu=mcpu))
    rows = measure_builds(task, sketch or [], settings, remark)
    if as_json:
        print_json({"layer": layer, "target": task.target.key, "sketches": rows})
        return
    for row in rows:
        console().print(_table(row))


def _table(row: dict[str, Any]) -> Any:
    from rich.table import Table

    from tunesmith.bench.builds.builds import PHASES

    total = sum(row["phases"].values())
    failed = f", {row['failed']} failed" if row["failed"] else ""
    table = Table(title=f"{row['sketch']}: mean of {row['built']} builds{failed}")
    for name in ("phase", "ms", "share"):
        table.add_column(name, justify="left" if name == "phase" else "right")

    def line(name: str, seconds: float) -> None:
        table.add_row(name, f"{seconds * 1e3:.1f}", f"{seconds / total:.0%}")

    for phase, name in PHASES.items():
        line(name, row["phases"][phase])
        inner = row["passes"] if phase == "tvm" else row["llvm"].get(phase, {})
        small = 0.0
        for part, seconds in sorted(inner.items(), key=lambda item: -item[1]):
            if seconds < _SMALL * total:
                small += seconds
            else:
                line(f"  {part}", seconds)
        if small:
            line("  all others", small)
    line("together", total)
    return table
