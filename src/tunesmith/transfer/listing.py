"""The models that a store and the package have, and whether each can be used."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.transfer.files import read_model
from tunesmith.transfer.of_store import saved_models, why_stale
from tunesmith.transfer.shipped import FOLDER

if TYPE_CHECKING:
    from tunesmith.store import Store

SHIPPED = "shipped"


@dataclass(frozen=True)
class Listed:
    """A model: ``trials`` of ``tasks`` that it learned from, None for a file that is no model, and
    its ``state``: "ready", or why it is not used as it is."""

    name: str
    file: str
    trials: int | None
    tasks: int | None
    state: str

    def to_json(self) -> dict[str, Any]:
        """Its fields, JSON-ready."""
        return asdict(self)


def listed(store: Store | None) -> list[Listed]:
    """Those of a store, if there is one, then those that ship."""
    saved = {} if store is None else saved_models(store)
    found = [_listed(name, path, store) for name, path in saved.items()]
    shipped = sorted(FOLDER.glob("*.json.gz"))
    return found + [_listed(f"{SHIPPED} {_kind(path)}", path, None) for path in shipped]


def _kind(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


def _listed(name: str, path: Path, store: Store | None) -> Listed:
    try:
        model = read_model(path)
    except UsageError as error:
        return Listed(name, str(path), None, None, str(error))
    try:
        stale = "" if store is None else why_stale(model, name, store)
    except TunesmithError as error:
        stale = str(error)
    state = f"is not used as it is: {stale}" if stale else "ready"
    return Listed(name, str(path), model.trials, model.tasks, state)
