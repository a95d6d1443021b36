"""``tunesmith export``: records of a store as a file that other programs read."""

from __future__ import annotations

import enum
import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import counted_progress, print_json, print_text, remark
from tunesmith.errors import UsageError, unknown_name
from tunesmith.reports import format as fmt

if TYPE_CHECKING:
    from tunesmith.store import Record, Store


class Format(enum.StrEnum):
    """What a file's name does not say."""

    METASCHEDULE = "metaschedule"


def export(
    *,
    output: Annotated[
        Path,
        Option(
            "-o",
            "--output",
            help="The file: NAME.jsonl, NAME.jsonl.gz or NAME.parquet; for a database a folder.",
        ),
    ],
    file_format: Annotated[
        Format | None,
        Option(
            "--format",
            help="metaschedule: the best schedules measured on a machine of this kind, as a "
            "database for TVM's passes. By default the file's name says the format.",
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        Option(help="Only tasks of this key, or pattern such as 'conv2d*'; repeatable."),
    ] = None,
    this_machine: Annotated[
        bool, Option("--this-machine", help="Only what was measured on a machine of this kind.")
    ] = False,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Write the records of a store as JSON lines or Parquet, or the best ones as a database of
    MetaSchedule."""
    from tunesmith.store import ANY_MACHINE, open_store

    only_this = this_machine or file_format is Format.METASCHEDULE
    machine = None if only_this else ANY_MACHINE
    with open_store(store, create=False) as opened:
        tasks = opened.tasks(machine=machine)
        if this_machine and not task:  # a store also has tasks of other machines alone
            tasks = [each for each in tasks if each.last is not None]
        keys = _chosen([each.key for each in tasks], task or [])
        if file_format is Format.METASCHEDULE:
            found = _export_schedules(opened, keys, output)
        else:
            found = _export_records(opened, keys, machine, output)
    words = found.pop("words")
    if as_json:
        print_json({"tasks": keys, **found, "file": str(output)})
    else:
        print_text(f"{words}: {output}")


def _export_records(
    store: Store, keys: list[str], machine: str | None, output: Path
) -> dict[str, Any]:
    from tunesmith.exchange import write_records

    with counted_progress("records", store.written()) as counted:
        count = write_records(output, counted(_records(store, keys, machine)))
    words = f"{fmt.counted(count, 'record')} of {fmt.counted(len(keys), 'task')}"
    return {"records": count, "words": words}


def _export_schedules(store: Store, keys: list[str], output: Path) -> dict[str, Any]:
    """Write the best schedules, and say on standard error what has none."""
    from tunesmith.exchange.metaschedule import best_schedules, write_database

    best = best_schedules(store, keys)
    for reason, count in best.left_out.most_common():
        remark(f"{fmt.counted(count, 'task')} left out: {reason}")
    for sketch, count in best.faster.most_common():
        remark(
            f"of {fmt.counted(count, 'task')} {sketch} has a faster program, without a trace: "
            "written is the best schedule"
        )
    if not best.schedules:
        raise UsageError("no task has a schedule to export: tune with --sketch tiled")
    with counted_progress("tasks", len(best.schedules)) as counted:
        written = write_database(output, counted(best.schedules))
    tasks, functions = written.tasks, written.functions
    return {
        "records": tasks,
        "functions": functions,
        "left_out": dict(best.left_out),
        "faster": dict(best.faster),
        "words": f"schedules of {fmt.counted(tasks, 'task')} for "
        f"{fmt.counted(functions, 'function')}",
    }


def _chosen(known: list[str], patterns: list[str]) -> list[str]:
    """The keys that patterns fit, in the store's order; all without a pattern."""
    if not known:
        raise UsageError("the store has no records to export")
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise unknown_name("task", pattern, known, listed_by="tunesmith history")
    if not patterns:
        return known
    return [key for key in known if any(fnmatch.fnmatch(key, each) for each in patterns)]


def _records(store: Store, keys: list[str], machine: str | None) -> Iterator[Record]:
    from tunesmith.machine import machine_of

    for key in keys:
        by = machine or machine_of(key)["fingerprint"]
        yield from store.records(key, machine=by, play_off=None)
