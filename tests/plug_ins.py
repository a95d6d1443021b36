"""Plug-ins of packages that are not installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest


def offer(monkeypatch: pytest.MonkeyPatch, group: str, places: dict[str, str]) -> None:
    """Make installed packages seem to bring what is at these places, ``module:name`` by name."""
    found = {name: EntryPoint(name, place, group) for name, place in places.items()}
    monkeypatch.setattr(
        "tunesmith.registry.plug_ins", lambda asked: found if asked == group else {}
    )
