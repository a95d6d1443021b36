"""A file of records, in the format that its name says."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tunesmith.errors import StoreError, UsageError, system_reason
from tunesmith.exchange import autotvm_log, json_lines, metaschedule, parquet
from tunesmith.store import Record


@dataclass(frozen=True)
class Format:
    """How records are written to a file, which returns their number, and read from one.

    ``read`` raises ``StoreError`` for a file that is none of its own, with its first record or
    later.
    """

    write: Callable[[Path, Iterable[Record]], int]
    read: Callable[[Path], Iterator[Record]]


FORMATS: dict[str, Format] = {
    ".jsonl": Format(json_lines.write, json_lines.read),
    ".jsonl.gz": Format(json_lines.write, json_lines.read),
    ".parquet": Format(parquet.write, parquet.read),
}
"""By how a file's name ends."""


def write_records(path: Path, records: Iterable[Record]) -> int:
    """Write records to a file, whole or not at all; returns how many.

    Raises ``UsageError`` for a name that ends like none of ``FORMATS``, ``MissingDependencyError``
    where a format's package is not installed, and ``StoreError`` where it cannot be written.
    """
    chosen = _format_of(path)
    draft = path.with_name(f".{os.getpid()}.{path.name}")  # whose name ends alike
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        count = chosen.write(draft, records)
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {system_reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return count


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file that ``write_records`` wrote, of one that a run rescued, of a log of
    AutoTVM, whatever its name is, or of a folder with a database of MetaSchedule; lazily. Their
    measurements are ``checked``.

    Raises like ``write_records``, and ``StoreError`` for a file that cannot be read, or is none.
    """
    try:
        for record in _reader_of(path)(path):
            yield replace(record, measurement=record.measurement.checked())
    except OSError as error:
        raise StoreError(f"cannot read {path}: {system_reason(error)}") from error


def _reader_of(path: Path) -> Callable[[Path], Iterator[Record]]:
    """What reads a file, by its name or its first line. Raises ``OSError``."""
    if metaschedule.is_database(path):
        return metaschedule.read
    if path.is_dir():
        raise StoreError(f"{path} is a folder without a database of MetaSchedule: name a file")
    if not path.is_file():
        raise StoreError(f"there is no file {path}")
    return autotvm_log.read if autotvm_log.is_log(path) else _format_of(path).read


def _format_of(path: Path) -> Format:
    for ending, chosen in FORMATS.items():
        if path.name.endswith(ending):
            return chosen
    raise UsageError(
        f"{path} is of no format that is known: name a file that ends in {', '.join(FORMATS)}"
    )
