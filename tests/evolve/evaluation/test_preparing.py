"""What the original's tests leave in the server."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from tunesmith.evolve.evaluation.preparing import prepared

_MEMORY = 1 << 30


class Importing:
    """Its tests import modules, and make one that no file has."""

    def prepare(self) -> str:
        import colorsys

        sys.modules["made_by_a_test"] = ModuleType("made_by_a_test")
        return colorsys.__name__

    def build(self, text: str) -> Any:
        raise AssertionError(text)

    def evaluate(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


def test_what_tests_import_is_imported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert prepared(Importing(), _MEMORY, 1) == "colorsys"
    assert "colorsys" in sys.modules
    assert "made_by_a_test" not in sys.modules
