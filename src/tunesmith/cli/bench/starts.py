"""``tunesmith bench starts``: what the model's good starts are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_page, remark, shown_progress


def starts(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for starts.md, starts.json, starts.svg.")
    ] = opt.FIGURES,
    *,
    workload: opt.Workloads = None,
    trials: Annotated[int, Option(help="Trials of each run.")] = 500,
    seed: Annotated[int, Option(help="Seed of the search.")] = 0,
    again: Annotated[
        bool, Option("--again", help="Tune again what has figures of so many trials.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Measure what the first trials find, with the model's good starts and without."""
    from tunesmith.bench.operators.workloads import operator_workloads
    from tunesmith.bench.pages.figure_files import make_folder
    from tunesmith.bench.starts.files import read_starts, write_starts
    from tunesmith.bench.starts.starts import WORKLOADS, StartsSettings, measure_starts

    settings = StartsSettings(trials, seed)
    chosen = operator_workloads(workload or WORKLOADS, fused=False)
    make_folder(output)
    rows = read_starts(output, redone=chosen if again else ())

    for name, operator in chosen.items():
        known = None if again else rows.get(name)
        remark(f"{name}: two runs of {trials} trials ...")
        for row in measure_starts(
            name,
            operator,
            settings,
            known=known,
            watch=lambda trials, flops: shown_progress(trials, None, flops),
        ):
            rows[name] = row
            write_starts(output, rows.values())
    figures, page = write_starts(output, rows.values())
    print_page(figures, page, as_json=as_json)
