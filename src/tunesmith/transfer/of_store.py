"""Models of a store's own trials: trained when enough is new, and saved beside the store.

Such a model learns what the shipped model of the same kind of target gets wrong on this machine, so
a few hundred trials are enough for it to be of use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.errors import TunesmithError, UsageError, describe, system_reason
from tunesmith.store.versions import library_versions
from tunesmith.target import Target
from tunesmith.transfer.files import read_model, write_model
from tunesmith.transfer.held_out import Score, folds, scores, summary
from tunesmith.transfer.model import (
    LEAST_TRIALS,
    GlobalModel,
    TooFewTrialsError,
    learn,
    predicted,
    problem_of,
)
from tunesmith.transfer.shipped import shipped_model
from tunesmith.transfer.training_set import Series, stored_set

if TYPE_CHECKING:
    from tunesmith.store import Store

Tell = Callable[[str], None]

# A model is trained again when the store has grown by this share, and by so many trials.
_GROWTH = 0.25
_MORE = 250

# A task's sketch teaches by so many trials at most, drawn at random: more say little that is new.
_MOST_OF_SERIES = 100

# Into so many parts tasks are put, each of which is held out in turn.
_FOLDS = 5

# The libraries whose versions decide how fast a config is.
_DECISIVE = ("tunesmith", "apache-tvm")


@dataclass(frozen=True)
class Scope:
    """Which of a store's trials a model learns from: those of all targets, or of one.

    ``operators`` and ``sketches`` are names; none: all.
    """

    target: Target | None
    operators: Collection[str] = ()
    sketches: Collection[str] = ()

    @property
    def name(self) -> str:
        """The name of its file."""
        return "all" if self.target is None else _file_name(self.target)

    def chosen(self, series: Series) -> bool:
        """Whether it has a series."""
        return (
            (self.target is None or _same(series.task.target, self.target))
            and (not self.operators or series.task.operator.name in self.operators)
            and (not self.sketches or series.sketch in self.sketches)
        )


def folder_of(store: Store) -> Path | None:
    """The folder of a store's models, which may not exist yet; None for a store without a file."""
    return None if store.file is None else store.file.with_name(f"{store.file.name}.models")


def saved_models(store: Store) -> dict[str, Path]:
    """The files of a store's models, by the names of their scopes."""
    folder = folder_of(store)
    found = [] if folder is None else sorted(folder.glob("*.json.gz"))
    return {path.name.removesuffix(".json.gz"): path for path in found}


def train(store: Store, scope: Scope, tell: Tell = lambda _: None) -> GlobalModel:
    """Learn from a store's trials, and save the model beside the store.

    Raises ``UsageError`` for a store with too few trials, or of which all failed, and
    ``MissingDependencyError`` without XGBoost. A model that cannot be saved is told of.
    """
    written = store.written()
    found = stored_set(store)
    series = [_at_most(each) for each in found.series if scope.chosen(each)]
    count = sum(len(each.configs) for each in series)
    tell(f"learning from {count:,} trials of {store.name}, at most {_MOST_OF_SERIES} of a series")
    origin = {
        "store": store.name,
        "written": written,
        "machine": dict(found.machine),
        "versions": library_versions(),
        "scope": scope.name,
        "below": _identity(_below(scope)),
    }
    model = learn(series, origin=origin, below=_below(scope))
    folder = folder_of(store)
    if folder is not None:
        try:
            folder.mkdir(exist_ok=True)
            write_model(model, folder / f"{scope.name}.json.gz")
        except OSError as error:
            tell(f"the model is not saved in {folder} ({system_reason(error)})")
    return model


def held_out_scores(
    store: Store, scope: Scope, tell: Tell = lambda _: None
) -> dict[str, dict[str, Any]]:
    """How good the estimates, the shipped model and one of the store's trials are on tasks that the
    latter has not learned from; summaries as ``held_out.summary`` has them.

    Raises like ``train``.
    """
    chosen = [each for each in stored_set(store).series if scope.chosen(each)]
    series = [each for each in chosen if problem_of(each) is not None]
    below = _below(scope)
    found: list[Score] = []
    parts = folds(series, _FOLDS)
    for number, (learned, tested) in enumerate(parts, 1):
        tell(f"tasks held out: part {number} of {len(parts)}")
        taught = [_at_most(series[place]) for place in learned]
        model = learn(taught, below=below, least=LEAST_TRIALS // 2)
        found += scores([series[place] for place in tested], partial(predicted, model))
    rows = {"estimates": summary(scores(series, partial(predicted, None)))}
    if below is not None:
        rows["shipped model"] = summary(scores(series, partial(predicted, below)))
    return {**rows, "own trials, held out": summary(found)}


def model_for(
    store: Store | None,
    target: Target,
    transfer: bool | GlobalModel = True,
    tell: Tell = lambda _: None,
) -> GlobalModel | None:
    """What there is to transfer to a task for a target: the best model there is, or None.

    That is one of the store's own trials, trained now if enough is new, or else the shipped one;
    unless ``transfer`` is False, or is a model itself. Whatever is wrong with a model is told in a
    line, and it is done without.
    """
    if not isinstance(transfer, bool):
        return transfer
    if not transfer:
        return None
    if store is not None:
        for scope in (Scope(target), Scope(None)):
            model = _usable(store, scope, tell)
            if model is not None:
                return model
    try:
        return shipped_model(target)
    except UsageError as error:
        tell(str(error))
        return None


def _usable(store: Store, scope: Scope, tell: Tell) -> GlobalModel | None:
    """The model of a scope, or None; whatever goes wrong with it is told in a line, as a search can
    do without."""
    try:
        return _own(store, scope, tell)
    except TooFewTrialsError:
        return None
    except Exception as error:  # of the store, of a damaged record, of XGBoost
        tell(f"without a model of {store.name}: {describe(error)}")
        return None


def _own(store: Store, scope: Scope, tell: Tell) -> GlobalModel | None:
    """The model of a scope; that of all targets is used only where somebody has trained it."""
    path = saved_models(store).get(scope.name)
    written = store.written()
    if path is None and (scope.target is None or written < LEAST_TRIALS):
        return None
    if path is not None:
        try:
            model = with_below(read_model(path), scope)
            stale = why_stale(model, written)
            if not stale:
                return model
            tell(f"the model of {store.name} is trained again: {stale}")
        except UsageError as error:
            tell(str(error))
    return train(store, scope, tell)


def with_below(model: GlobalModel, scope: Scope) -> GlobalModel:
    """A model as read from a file, with the one that it corrects.

    Raises ``UsageError`` where that is not the same any more.
    """
    below = _below(scope)
    if model.origin.get("below") != _identity(below):
        raise UsageError("the model is of another version of the shipped one: train it again")
    return replace(model, below=below)


def why_stale(model: GlobalModel, written: int) -> str:
    """Why a store's model is not used as it is; empty if it is.

    ``written`` is how many records the store has by now.
    """
    then, now = model.origin.get("versions", {}), library_versions()
    for name in _DECISIVE:
        if then.get(name) != now.get(name):
            return f"it is of {name} {then.get(name)}"
    new = written - int(model.origin.get("written", 0))
    if new < 0:
        return "the store is another one"
    if new > _MORE and new > _GROWTH * model.origin["written"]:
        return f"{new:,} trials are new"
    return ""


def _below(scope: Scope) -> GlobalModel | None:
    return None if scope.target is None else shipped_model(scope.target)


def _identity(model: GlobalModel | None) -> str | None:
    return None if model is None else str(model.origin.get("date", ""))


def _at_most(series: Series) -> Series:
    count = len(series.configs)
    if count <= _MOST_OF_SERIES:
        return series
    kept = np.random.default_rng(0).choice(count, _MOST_OF_SERIES, replace=False)
    configs = [series.configs[place] for place in kept.tolist()]
    return replace(series, configs=configs, seconds=series.seconds[kept])


def _same(one: Target, other: Target) -> bool:
    """Whether targets are for the same processor; the number of cores is a feature."""
    return _file_name(one) == _file_name(other)


def _file_name(target: Target) -> str:
    try:
        return f"cuda-{target.gpu_arch}" if target.kind == "cuda" else f"cpu-{target.processor}"
    except TunesmithError:
        return f"{target.kind}-unknown"
