"""``tunesmith bench loop``: the tuning loop as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_page, remark


def loop(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for loop.md and loop.json.")
    ] = opt.FIGURES,
    trials: Annotated[int, Option(help="Trials of the random run.")] = 500,
    seconds: Annotated[float, Option(help="Length of the tuning run.")] = 90.0,
    records: Annotated[int, Option(help="Records in the store that is measured.")] = 1_000_000,
    as_json: opt.Json = False,
) -> None:
    """Measure trials a second, the best of 90 s against PyTorch, the store, and memory."""
    from datetime import UTC, datetime

    from tunesmith.bench.loop.loop import LoopSettings, measure_loop
    from tunesmith.bench.loop.page import loop_page
    from tunesmith.bench.pages.figure_files import make_folder, write_texts
    from tunesmith.bench.peers.sides import peer_versions
    from tunesmith.store import library_versions, this_machine

    settings = LoopSettings(trials, seconds, records)
    make_folder(output)
    figures = measure_loop(settings, remark)
    figures["machine"] = this_machine()
    figures["versions"] = {**library_versions(), **peer_versions()}
    page = loop_page(figures, figures["machine"], f"{datetime.now(UTC):%Y-%m-%d}")
    write_texts(output, {"loop.md": page, "loop.json": json.dumps(figures, indent=2) + "\n"})
    print_page(figures, page, as_json=as_json)
