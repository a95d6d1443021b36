"""Files of figures that grow row by row: read by the next run, each written as a whole."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, system_reason
from tunesmith.whole_file import write_whole

Row = dict[str, Any]


def read_rows(path: Path, check: Callable[[Row], bool]) -> dict[str, Row]:
    """The rows of earlier runs by workload; none where there is no file.

    Raises ``TunesmithError`` for a file that is no such thing: every row has to pass the ``check``.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        if all(check(row) for row in rows):
            return {row["workload"]: row for row in rows}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise TunesmithError(f"cannot read {path}: {system_reason(error)}") from error
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise TunesmithError(
        f"{path} holds no rows of an earlier run: remove it, or name another folder"
    )


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of these names anew. Raises ``TunesmithError`` where that is impossible."""
    for name, text in texts.items():
        try:
            write_whole(folder / name, text)
        except OSError as error:
            raise TunesmithError(
                f"cannot write {folder / name}: {system_reason(error)}: name another folder"
            ) from error


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
