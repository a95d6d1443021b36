"""The files of a store's models, and whether one may be used as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.sketches.registry import SKETCHES
from tunesmith.store.versions import library_versions
from tunesmith.transfer.model import LEAST_TRIALS, GlobalModel
from tunesmith.transfer.of_store.counted import trials_of
from tunesmith.transfer.of_store.scope import Scope
from tunesmith.transfer.shipped import shipped_model

if TYPE_CHECKING:
    from tunesmith.store import Store

# A model is trained again when the store has grown by this share, and by so many trials.
_GROWTH = 0.25
_MORE = 250

_UNKNOWN = "it does not say what it learned from"

# The libraries whose versions decide how fast a config is.
_DECISIVE = ("tunesmith", "apache-tvm")


def folder_of(store: Store) -> Path | None:
    """The folder of a store's models, which may not exist yet; None for a store without a file."""
    return None if store.file is None else store.file.with_name(f"{store.file.name}.models")


def saved_models(store: Store) -> dict[str, Path]:
    """The files of a store's models, by the names of their scopes."""
    folder = folder_of(store)
    found = [] if folder is None else sorted(folder.glob("*.json.gz"))
    return {path.name.removesuffix(".json.gz"): path for path in found}


def scope_of(model: GlobalModel) -> Scope:
    """What a model that was saved learned from. Raises ``UsageError`` where it does not say."""
    try:
        return Scope.from_json(model.origin["choice"])
    except (AttributeError, KeyError, TypeError, UsageError) as error:
        name = model.origin.get("scope")
        raise UsageError(
            f"the model '{name}' does not say what it learned from: train it again"
        ) from error


def why_stale(model: GlobalModel, name: str, store: Store) -> str:
    """Why a store's model is not used as it is; empty if it is. ``name`` is that of its file.

    Raises ``UsageError`` like ``scope_of``.
    """
    other = why_other(model, name, store)
    if other:
        return other
    before = model.origin["written"]
    new = store.written() - before
    grown = new > _MORE and new > _GROWTH * before
    if grown and trials_of(store, scope_of(model)) >= LEAST_TRIALS:  # else others measured them
        return f"{new:,} trials are new"
    return ""


def why_other(model: GlobalModel, name: str, store: Store) -> str:
    """Why a model is none that this version would have trained of this store, as it was then; empty
    if it is. Raises ``UsageError`` like ``scope_of``."""
    before = model.origin.get("written")
    if not isinstance(before, int):
        return _UNKNOWN
    different = _why_different(model, name)
    if different:
        return different
    if store.written() < before or model.origin.get("first_session") != store.first_session():
        return "the store is another one"
    return ""


def _why_different(model: GlobalModel, name: str) -> str:
    """In what a model differs from one that would be trained of the same trials now."""
    then, now = model.origin.get("versions"), library_versions()
    scope = model.origin.get("scope")
    if not (isinstance(then, Mapping) and isinstance(scope, str)):
        return _UNKNOWN
    for library in _DECISIVE:
        if then.get(library) != now.get(library):
            return f"it is of {library} {then.get(library)}"
    if scope != name:
        return f"it is a copy of the model {scope}"
    if model.origin.get("below") != identity(below_of(scope_of(model))):
        return "it corrects another model than the one that ships"
    for sketch, version in model.sketches.items():
        if _version_now(sketch) not in {None, version}:
            return f"it knows another version of the sketch {sketch}"
    return ""


def _version_now(sketch: str) -> int | None:
    """The version that a sketch has; None for one that is gone, or cannot be imported."""
    try:
        return SKETCHES.get(sketch).version
    except TunesmithError:
        return None


def below_of(scope: Scope) -> GlobalModel | None:
    """The model that one of a scope corrects."""
    return None if scope.target is None else shipped_model(scope.target)


def identity(model: GlobalModel | None) -> str | None:
    """What tells a shipped model from others; None for none."""
    return None if model is None else str(model.origin.get("date", ""))
