"""A store, and forgotten warnings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tunesmith.store import Store, open_store
from tunesmith.transfer.of_store import heard


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "t.db") as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_warned() -> None:
    heard.forget()
