"""The model that a task gets: the one that was asked for, or the best that there is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tunesmith.errors import TunesmithError, UsageError, describe, unknown_name
from tunesmith.target import Target
from tunesmith.transfer.files import read_model
from tunesmith.transfer.model import LEAST_TRIALS, GlobalModel, TooFewTrialsError
from tunesmith.transfer.of_store.completed import completed
from tunesmith.transfer.of_store.counted import elsewhere, trials_of
from tunesmith.transfer.of_store.heard import Heard, Tell
from tunesmith.transfer.of_store.remembered import (
    complaint_of,
    remember,
    remember_complaint,
    remembered,
)
from tunesmith.transfer.of_store.saved import (
    below_of,
    saved_models,
    scope_of,
    why_other,
    why_stale,
)
from tunesmith.transfer.of_store.scope import Scope
from tunesmith.transfer.of_store.training import train
from tunesmith.transfer.shipped import shipped_model

if TYPE_CHECKING:
    from tunesmith.store import Store

Transfer = bool | str | GlobalModel
"""Whether to use a model of other tasks; the name of one of the store's; or the model itself."""


def model_for(
    store: Store | None,
    target: Target,
    transfer: Transfer = True,
    tell: Tell | None = None,
    *,
    key: str | None = None,
) -> GlobalModel | None:
    """What there is to transfer to a task for a target: the best model there is, or None.

    That is one of the store's own trials, trained now if enough is new, or else the shipped one;
    unless ``transfer`` is False, names a model of the store, or is a model itself. ``key`` is that
    of the task, if there is one: its trials are not those of other tasks, which a first training
    needs. Whatever is wrong with a model is told in a line, and it is done without.

    Raises ``UsageError`` for a name that the store does not have, for a model by name that is of
    another kind of target, or cannot be used or trained again, and for what is no ``Transfer``.
    Raises ``MissingDependencyError`` where a model by name has to be trained again without XGBoost,
    and ``StoreError`` where the store cannot be read for it.
    """
    check_transfer(store, transfer)
    if isinstance(transfer, GlobalModel):
        return transfer
    heard = Heard(tell)
    if isinstance(transfer, str) and store is not None:
        return _with_shipped(_named(store, transfer, target, heard), target, heard)
    if not transfer:
        return None
    if store is not None:
        for scope in (Scope(target), Scope(None)):
            usable = _usable(store, scope, key, heard)
            if usable is not None:
                return _with_shipped(usable, target, heard)
    return _shipped(target, heard)


def check_transfer(store: Store | None, transfer: Transfer) -> None:
    """Raises ``UsageError`` for what is no ``Transfer``, and for a name that the store does not
    have."""
    if not isinstance(transfer, Transfer):
        raise UsageError(f"transfer must be True, False, or a model or its name, not {transfer!r}")
    if isinstance(transfer, str):
        saved = {} if store is None else saved_models(store)
        if transfer not in saved:
            unknown = unknown_name("model", transfer, saved, listed_by="tunesmith models list")
            raise unknown if saved else UsageError(f"{unknown}: 'tunesmith models train' makes one")


def _with_shipped(model: GlobalModel, target: Target, heard: Heard) -> GlobalModel:
    """A model that leaves sketches which it does not know to the shipped one."""
    # One of the trials for a target has the shipped one below it, which does the same.
    return model if model.below is not None else completed(model, _shipped(target, heard))


def _shipped(target: Target, heard: Heard) -> GlobalModel | None:
    try:
        return shipped_model(target)
    except UsageError as error:
        heard.warn(str(error))
        return None


def _named(store: Store, name: str, target: Target, heard: Heard) -> GlobalModel:
    model = read_model(saved_models(store)[name])
    scope = scope_of(model)
    if scope.name != name:
        raise UsageError(
            f"the model '{name}' is a copy of the model '{scope.name}': name that one, or train it "
            "again"
        )
    if scope.target is not None and scope.target.kind != target.kind:
        raise UsageError(
            f"the model '{name}' learned of {scope.target.kind}, whose sketches are others than "
            f"those for {target.kind}: name another, or all"
        )
    try:
        return _as_saved(model, scope, store, heard) or _trained(model, scope, store, heard)
    except TunesmithError:
        raise
    except Exception as error:  # of a damaged record, of XGBoost
        raise UsageError(
            f"the model '{name}' of {store.name} cannot be trained again ({describe(error)})"
        ) from error


def _usable(store: Store, scope: Scope, key: str | None, heard: Heard) -> GlobalModel | None:
    """The model of a scope, or None; whatever goes wrong with it is told in a line, as a search can
    do without."""
    try:
        return _own(store, scope, key, heard)
    except Exception as error:  # of the store, of a damaged record, of XGBoost
        heard.warn(f"without a model of {store.name}: {describe(error)}")
        return None


def _own(store: Store, scope: Scope, key: str | None, heard: Heard) -> GlobalModel | None:
    """The model of a scope; that of all targets is used only where somebody has trained it."""
    kept = None
    try:
        kept = _kept(store, scope)
        usable = None if kept is None else _as_saved(kept, scope, store, heard)
    except UsageError as error:
        heard.warn(str(error))
    else:
        if usable is not None:
            return usable
        if kept is None and (scope.target is None or not _can_teach(store, scope, key, heard)):
            return None
    return _trained(kept, scope, store, heard)


def _trained(kept: GlobalModel | None, scope: Scope, store: Store, heard: Heard) -> GlobalModel:
    """The model of a scope, trained now; where that fails, the ``kept`` one if it is merely older
    than some trials. Raises what ``train`` does."""
    try:
        complaint = complaint_of(store, scope)
        if complaint:
            raise UsageError(complaint)
        return train(store, scope, heard.tell)
    except Exception as error:  # also of a damaged record, of XGBoost
        if kept is None or why_other(kept, scope.name, store):
            if isinstance(error, UsageError):
                remember_complaint(store, scope, str(error))
            raise
        if not isinstance(error, TooFewTrialsError):  # else what is new is of other sketches
            heard.warn(f"the model {scope.name} of {store.name} stays as it is: {describe(error)}")
        # Until the store has grown again.
        remember(store, scope, replace(kept, origin={**kept.origin, "written": store.written()}))
        return replace(kept, below=below_of(scope))


def _kept(store: Store, scope: Scope) -> GlobalModel | None:
    """The model of a scope that this process keeps, or its file. Raises like ``read_model``."""
    path = saved_models(store).get(scope.name)
    return remembered(store, scope) or (None if path is None else read_model(path))


def _as_saved(model: GlobalModel, scope: Scope, store: Store, heard: Heard) -> GlobalModel | None:
    """A model of the store as it was saved; None, and a line, where it has to be trained again."""
    stale = why_stale(model, scope.name, store)
    if stale:
        heard.inform(f"the model {scope.name} of {store.name} is trained again: {stale}")
        return None
    return replace(model, below=below_of(scope))


def _can_teach(store: Store, scope: Scope, key: str | None, heard: Heard) -> bool:
    """Whether a store has enough trials of other tasks than the one of the key; where it has those
    of other targets or machines instead, that is told. What is wrong with them is told later."""
    if complaint_of(store, scope):
        return True
    if store.written() < LEAST_TRIALS:  # which is quick, and most often all that it takes
        return False
    here = trials_of(store, scope, key)
    if here >= LEAST_TRIALS:
        return True
    others = elsewhere(store, scope, here, key)
    if others.count >= LEAST_TRIALS and Scope(None).name not in saved_models(store):
        heard.warn(
            f"nothing is learned from {store.name}: its trials of other tasks are {others}, and "
            f"too few for {scope.name} here: 'tunesmith models train --target all' learns from them"
        )
    return False
