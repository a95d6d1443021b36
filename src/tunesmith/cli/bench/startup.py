"""``tunesmith bench startup``: the way to the first trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, remark

if TYPE_CHECKING:
    from collections.abc import Mapping


def startup(
    *,
    layer: Annotated[str, Option(help="A named layer.")] = "resnet18.C8",
    mcpu: opt.Processor = None,
    repeats: Annotated[int, Option(help="Runs of which the medians are printed.")] = 5,
    as_json: opt.Json = False,
) -> None:
    """Measure where the time goes from 'tunesmith tune' to the result of its first trial."""
    from tunesmith.bench.loop.startup import measure_startup

    words = ["--layer", layer, *(["--mcpu", mcpu] if mcpu else [])]
    figures = measure_startup(words, repeats, remark)
    if as_json:
        print_json({"layer": layer, "repeats": repeats, **figures})
    else:
        _print(figures)


def _print(figures: Mapping[str, Any]) -> None:
    from rich.table import Table

    for process, milestones in figures["milestones"].items():
        table = Table("reached", "after", "took", title=f"the {process}", title_justify="left")
        before = 0.0
        for name, seconds in milestones.items():
            table.add_row(name, f"{seconds:.2f} s", f"{seconds - before:.2f} s")
            before = seconds
        console().print(table)
    console().print(
        f"the first trial begins after {figures['first_trial']:.2f} s, "
        f"and its result is there after {figures['first_result']:.2f} s"
    )
