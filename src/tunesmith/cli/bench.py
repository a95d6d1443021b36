"""``tunesmith bench``: the figures that we hold ourselves to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, remark
from tunesmith.errors import TunesmithError, system_reason

bench = typer.Typer(help="Measure the figures that the project promises.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(bench, name="bench")


@bench.callback()
def group() -> None:
    """Measure the figures that the project promises."""


@bench.command("loop")
def loop(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for loop.md and loop.json.")
    ] = Path("docs/benchmarks"),
    trials: Annotated[int, typer.Option("--trials", help="Trials of the random run.")] = 500,
    seconds: Annotated[float, typer.Option("--seconds", help="Length of the tuning run.")] = 90.0,
    records: Annotated[
        int, typer.Option("--records", help="Records in the store that is measured.")
    ] = 1_000_000,
    as_json: opt.Json = False,
) -> None:
    """Measure trials a second, the best of 90 s against PyTorch, the store, and memory."""
    from datetime import UTC, datetime

    from tunesmith.bench.loop import LoopSettings, measure_loop
    from tunesmith.bench.loop_page import loop_page
    from tunesmith.bench.peers import peer_versions
    from tunesmith.store import library_versions, this_machine

    settings = LoopSettings(trials, seconds, records)
    _make_folder(output)
    figures = measure_loop(settings, remark)
    figures["machine"] = this_machine()
    figures["versions"] = {**library_versions(), **peer_versions()}
    page = loop_page(figures, figures["machine"], f"{datetime.now(UTC):%Y-%m-%d}")
    (output / "loop.md").write_text(page, encoding="utf-8")
    (output / "loop.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if as_json:
        print_json(figures)
    else:
        console().print(page, markup=False, soft_wrap=True)


def _make_folder(path: Path) -> None:
    """Now rather than after minutes of measuring."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TunesmithError(
            f"cannot make the folder {path}: {system_reason(error)}: name another"
        ) from error
