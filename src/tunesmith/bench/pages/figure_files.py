"""Files of figures: JSON that says where it comes from, and the page and charts made of it.

Most hold rows, one a workload, and grow row by row over days and versions. So each row says for
itself where it comes from; a run reads those of earlier ones, and writes all files anew after each
row, every one as a whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tunesmith.bench.pages.provenance import Origin, is_origin
from tunesmith.errors import TunesmithError, system_reason
from tunesmith.machine import machine_for
from tunesmith.whole_file import write_whole

Row = dict[str, Any]

_ROWS = "rows of an earlier run"
WAY_OUT = "remove it, or name another folder"

# A draft is written in less than so many seconds.
_OLD_DRAFT = 600.0


def read_figures(
    path: Path, fits: Callable[[Any], bool], what: str = "figures of an earlier run"
) -> dict[str, Any] | None:
    """What a file of figures holds; None where there is none.

    Raises ``TunesmithError`` for one that cannot be read, or holds nothing that ``fits``.
    """
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TunesmithError(f"cannot read {path}: {system_reason(error)}") from error
    except ValueError:
        figures = None
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
        if isinstance(figures, dict) and fits(figures):
            return figures
    raise TunesmithError(f"{path} holds no {what}: {WAY_OUT}")


def write_figures(folder: Path, name: str, figures: Mapping[str, Any]) -> None:
    """Write ``name.json``; it comes before what is made of it, so that no fault of a page costs
    figures. Raises ``TunesmithError`` where that is impossible."""
    write_texts(folder, {f"{name}.json": json.dumps(figures, indent=1) + "\n"})


@dataclass(frozen=True)
class RowFile:
    """A file whose rows are of one machine.

    ``fits`` looks at a row that was read; ``origins`` says where its parts come from, None where
    that is not known; ``anew`` are the options with which all rows are measured anew; ``kind`` is
    that of the targets.
    """

    path: Path
    fits: Callable[[Row], bool]
    origins: Callable[[Row], Sequence[Origin | None]]
    anew: str
    kind: str = "cpu"

    def read(self, redone: Collection[str] = ()) -> dict[str, Row]:
        """The rows of earlier runs by workload; none where there is no file.

        Rows of another machine, or of an unknown one, are left out where they are ``redone``.
        Raises ``TunesmithError`` for other such rows, and for a file that holds no rows.
        """

        def fits(figures: Any) -> bool:
            return all(
                self.fits(row) and all(map(is_origin, self.origins(row))) for row in figures["rows"]
            )

        figures = read_figures(self.path, fits, _ROWS) or {"rows": []}
        return {row["workload"]: row for row in figures["rows"] if self._is_kept(row, redone)}

    def _is_kept(self, row: Row, redone: Collection[str]) -> bool:
        here = machine_for(self.kind)["fingerprint"]
        machines = [origin and origin["machine"] for origin in self.origins(row)]
        others = [each for each in machines if not each or each["fingerprint"] != here]
        if not others:
            return True
        if row["workload"] in redone:
            return False
        whose = f"another machine ({_named(others[0])})" if others[0] else "an unknown machine"
        raise self.refused(whose)

    def refused(self, whose: str) -> TunesmithError:
        """The error for rows that new ones cannot stand beside."""
        return TunesmithError(
            f"{self.path} holds rows of {whose}: name another folder with --output, or measure all "
            f"of its workloads anew ({self.anew})"
        )


def _named(machine: Mapping[str, Any]) -> str:
    return ", ".join(str(machine[part]) for part in ("cpu", "device") if part in machine)


def in_order(rows: Iterable[Mapping[str, Any]], workloads: Iterable[str]) -> list[Row]:
    """Rows in the order of the workloads that are known, then the others."""
    order = {name: place for place, name in enumerate(workloads)}
    return sorted(map(dict, rows), key=lambda row: order.get(row["workload"], len(order)))


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of these names anew. Raises ``TunesmithError`` where that is impossible."""
    for name, text in texts.items():
        try:
            _remove_drafts(folder, name)
            write_whole(folder / name, text)
        except OSError as error:
            raise TunesmithError(
                f"cannot write {folder / name}: {system_reason(error)}: name another folder"
            ) from error


@contextlib.contextmanager
def folder_to_itself(folder: Path) -> Iterator[None]:
    """Within it no other process that does the same reads or writes the folder's figures, so that
    of two that add to one file none undoes what the other has done."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system that knows no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_drafts(folder: Path, name: str) -> None:
    """Remove what processes that were killed while they wrote the file have left beside it. A young
    draft may be of a process in another container, whose number says nothing here."""
    for draft in folder.glob(f".{name}.*.part"):
        writer = draft.name.rsplit(".", 2)[1]
        gone = writer.isdecimal() and not psutil.pid_exists(int(writer))
        with contextlib.suppress(FileNotFoundError):
            if gone and time.time() - draft.stat().st_mtime > _OLD_DRAFT:
                draft.unlink()


def make_folder(path: Path) -> None:
    """Make a folder that can be written to, now rather than after minutes of measuring.

    Raises ``TunesmithError`` where that is impossible.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TunesmithError(
            f"cannot make the folder {path}: {system_reason(error)}: name another"
        ) from error
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise TunesmithError(
            f"cannot write to the folder {path}: {system_reason(error)}: name another"
        ) from error


def make_folder_of(file: Path) -> None:
    """Make the folder of a file that will be written. Raises ``TunesmithError`` like
    ``make_folder``, and for a file that is a folder."""
    make_folder(file.parent)
    if file.is_dir():
        raise TunesmithError(f"cannot write {file}: it is a folder: name a file")
