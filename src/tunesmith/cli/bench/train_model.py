"""``tunesmith bench train-model``: the model that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, remark


def train_model(
    sets: Annotated[list[Path], Argument(help="Training sets.")],
    *,
    output: Annotated[
        Path | None, Option("-o", "--output", help="The model's file; default: in the package.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Train the model that ships, and test it on networks and processors that it has not seen."""
    from tunesmith.bench.pages.figure_files import make_folder_of
    from tunesmith.bench.training.train_model import default_path
    from tunesmith.bench.training.train_model import train_model as trained
    from tunesmith.reports.models import scores_table
    from tunesmith.transfer.files import write_model
    from tunesmith.transfer.training_set import read_training_set

    read = [read_training_set(path) for path in sets]
    kinds = [each.task.target.kind for one in read for each in one.series]
    path = output or default_path(kinds[0] if kinds else "cpu")
    make_folder_of(path)
    found = trained(read, remark)
    write_model(found.model, path)
    figures = {
        "file": str(path),
        "bytes": path.stat().st_size,
        "trials": found.model.trials,
        "tasks": found.model.tasks,
        **found.figures,
    }
    if as_json:
        print_json(figures)
        return
    rows = {"estimates": figures["estimates"], "new networks": figures["networks"]}
    for name, each in figures["processors"].items():
        rows[f"{name}: estimates"] = each["estimates"]
        rows[f"{name}: new networks"] = each["networks"]
        rows[f"{name}: new processor"] = each["model"]
    console().print(scores_table(rows))
    console().print(
        f"{path}: {found.model.trials:,} trials of {found.model.tasks} tasks, "
        f"{figures['bytes'] / 1000:.0f} kB"
    )
