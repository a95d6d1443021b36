"""A database that MetaSchedule wrote, on another machine than this."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

# Two rounds of MetaSchedule on a product of 64 x 64 matrices, of which this is a part.
RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the recorded database, whose target is another machine than this one."""
    from tunesmith.compiler import llvm
    from tunesmith.exchange.metaschedule import reading

    monkeypatch.setattr(llvm, "host_processor", lambda: "x86-64")
    monkeypatch.setattr("tunesmith.target.Target.core_count", 1)
    reading._target.cache_clear()
    copy = tmp_path / "database"
    shutil.copytree(RECORDED, copy)
    yield copy
    reading._target.cache_clear()
