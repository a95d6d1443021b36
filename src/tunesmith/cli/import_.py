"""``tunesmith import``: records that a run could not store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_json, print_text


def import_(
    file: Annotated[Path, Argument(help="A file of records that a run could not store.")],
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Add the records that a run had to rescue because its store failed."""
    from tunesmith.store import open_store

    with open_store(store) as opened:
        added = opened.import_rescued(file)
    if as_json:
        print_json({"added": added})
    else:
        print_text(f"{added} records added")
