"""The model that comes with the package, of trials of many networks on our machines."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tunesmith.target import Target
from tunesmith.transfer.files import read_model
from tunesmith.transfer.model import GlobalModel

FOLDER = Path(__file__).parent / "data"
"""A file for each kind of target."""


def shipped_model(target: Target) -> GlobalModel | None:
    """The model for a target's kind; None where there is none.

    Raises ``UsageError`` like ``read_model``.
    """
    return _read(target.kind)


@cache
def _read(kind: str) -> GlobalModel | None:
    path = FOLDER / f"{kind}.json.gz"
    return read_model(path) if path.exists() else None
