"""What this process has trained, for stores beside which no model can be kept, and what it could
not: a program that compiles many tasks asks for the model of its store again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tunesmith.store import Store
    from tunesmith.transfer.model import GlobalModel
    from tunesmith.transfer.of_store.scope import Scope

_Place = tuple[str, str, str]

_models: dict[_Place, GlobalModel] = {}
_complaints: dict[_Place, tuple[int, str]] = {}


def remember(store: Store, scope: Scope, model: GlobalModel) -> None:
    """Keep a model of a store until the process ends."""
    _models[_place(store, scope)] = model


def forget(store: Store, scope: Scope) -> None:
    """Keep no model of a store, as its file is newer."""
    _models.pop(_place(store, scope), None)


def remembered(store: Store, scope: Scope) -> GlobalModel | None:
    """The model that is kept of a store, which may be out of date."""
    return _models.get(_place(store, scope)) if _models else None  # most often: asks no store


def remember_complaint(store: Store, scope: Scope, complaint: str) -> None:
    """Keep why a store cannot teach a model, until something is written to it."""
    _complaints[_place(store, scope)] = store.written(), complaint


def complaint_of(store: Store, scope: Scope) -> str:
    """Why a store could not teach a model when it was as it is now; empty where nobody tried."""
    if not _complaints:  # most often: asks no store
        return ""
    written, complaint = _complaints.get(_place(store, scope), (-1, ""))
    return complaint if written == store.written() else ""


def _place(store: Store, scope: Scope) -> _Place:
    return store.name, store.first_session(), scope.name
