"""Databases with other lines, and what is said of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tunesmith.exchange import read_records
from tunesmith.store import Record

Line = list[Any]
Change = Callable[[Line], Any]


def changed(path: Path, change: Change, line: int = 0) -> None:
    """Change a line of a file."""
    lines = path.read_text().splitlines()
    lines[line] = json.dumps(change(json.loads(lines[line])))
    path.write_text("".join(f"{it}\n" for it in lines))


def seconds(value: Any) -> Change:
    """Another time of a record."""

    def change(line: Line) -> Line:
        line[1][1] = value
        return line

    return change


def warned(folder: Path, caplog: pytest.LogCaptureFixture) -> tuple[list[Record], str]:
    with caplog.at_level(logging.WARNING, "tunesmith"):
        return list(read_records(folder)), caplog.text
