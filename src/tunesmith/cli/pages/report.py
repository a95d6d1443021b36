"""``tunesmith report``: a page about all runs of a task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_json, print_text
from tunesmith.cli.task_choice import SketchChoice


def report(
    output: Annotated[Path, Option("-o", "--output", help="The HTML file to write.")],
    choice: SketchChoice,
    *,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Write a self-contained HTML page about all runs of an operator's task on this machine."""
    from tunesmith.cli.pages.report_page import write_task_report
    from tunesmith.store import open_store

    choice.task()  # complain about the words before anything heavy is loaded
    with open_store(store, create=False) as opened:
        problems = choice.problems()
        write_task_report(opened, problems, output)
    if as_json:
        print_json({"task": problems[0].key, "report": str(output)})
    else:
        print_text(f"report: {output}")
