"""The store over SQLite: what every store does, and where it is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tunesmith.errors import StoreError, UsageError
from tunesmith.store import open_store
from tunesmith.testing.store import StoreConformance, begin, trial


class TestSqlite(StoreConformance):
    @pytest.fixture
    def location(self, tmp_path: Path) -> Path:
        return tmp_path / "a folder" / "new%20?#" / "records.db"
