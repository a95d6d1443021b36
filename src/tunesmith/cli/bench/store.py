"""``tunesmith bench store``: many processes at one store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_page, remark


def store(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for store.md and store.json.")
    ] = opt.FIGURES,
    records: Annotated[int, Option(help="Records that are written in all.")] = 1_000_000,
    writers: Annotated[int, Option(help="Processes that write them.")] = 16,
    as_json: opt.Json = False,
) -> None:
    """Measure many writers at one store, in PostgreSQL, whose server restarts, and in SQLite."""
    import psutil

    from tunesmith.bench.pages.figure_files import make_folder, write_texts
    from tunesmith.bench.pages.provenance import installed_versions, origin_now
    from tunesmith.bench.store.load import LoadSettings, measure_load
    from tunesmith.bench.store.page import store_page

    settings = LoadSettings(records, writers)
    make_folder(output)
    versions = installed_versions(["sqlalchemy", "psycopg"])
    figures = {**origin_now(versions), "load_before": psutil.getloadavg()[0]}
    page = ""
    for row in measure_load(settings, remark):
        figures["rows"] = [*figures.get("rows", []), row]
        page = store_page(figures)
        write_texts(output, {"store.md": page, "store.json": json.dumps(figures, indent=2) + "\n"})
    print_page(figures, page, as_json=as_json)
