"""``tunesmith bench calls``: what a call takes beside its program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_page, remark


def calls(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for calls.md and calls.json.")
    ] = opt.FIGURES,
    rounds: Annotated[int, Option(help="Rounds in which all take turns.")] = 15,
    as_json: opt.Json = False,
) -> None:
    """Measure what a call of a kernel takes beside the program, and what other libraries' take."""
    from tunesmith.bench.calls.calls import CallSettings, measure_calls
    from tunesmith.bench.calls.page import calls_page
    from tunesmith.bench.pages.figure_files import make_folder, write_texts

    settings = CallSettings(rounds)
    make_folder(output)
    figures = measure_calls(settings, remark)
    page = calls_page(figures)
    write_texts(output, {"calls.md": page, "calls.json": json.dumps(figures, indent=2) + "\n"})
    print_page(figures, page, as_json=as_json)
