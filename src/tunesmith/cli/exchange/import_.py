"""``tunesmith import``: records from a file into a store."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import Annotated

from typer import Argument

from tunesmith.cli import options as opt
from tunesmith.cli.output import counted_progress, print_json, print_text

# Records that are added at a time: each time is one transaction.
_AT_A_TIME = 5000


def import_(
    file: Annotated[
        Path,
        Argument(
            help="A file of 'tunesmith export', of records that a run could not store, a log of "
            "AutoTVM, or a folder with a database of MetaSchedule."
        ),
    ],
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Add the records of a file that the store lacks."""
    from tunesmith.exchange import read_records
    from tunesmith.store import open_store

    read = added = 0
    with counted_progress("records") as counted:
        records = counted(read_records(file))
        batches = iter(lambda: list(islice(records, _AT_A_TIME)), [])
        first = next(batches, [])  # before the store: what cannot be read makes none
        with open_store(store) as opened:
            for batch in chain([first], batches):
                read += len(batch)
                added += opened.merge(batch)
    if as_json:
        print_json({"added": added, "known": read - added})
    else:
        print_text(f"{added:,} records added, {read - added:,} were there already")
