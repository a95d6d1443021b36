"""Trains a model of a store's trials, and says how good one would be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tunesmith.errors import UsageError, system_reason
from tunesmith.models.boosted_trees import BoostedTrees
from tunesmith.store.versions import library_versions
from tunesmith.target import Target
from tunesmith.transfer.files import write_model
from tunesmith.transfer.held_out import Score, folds, scores, summary
from tunesmith.transfer.model import (
    LEAST_TRIALS,
    GlobalModel,
    TooFewTrialsError,
    learn,
    predicted,
    problem_of,
)
from tunesmith.transfer.of_store.counted import elsewhere, trials_of
from tunesmith.transfer.of_store.heard import Heard, Tell
from tunesmith.transfer.of_store.remembered import forget, remember
from tunesmith.transfer.of_store.saved import below_of, folder_of, identity
from tunesmith.transfer.of_store.scope import Scope
from tunesmith.transfer.training_set import Series, TrainingSet, stored_set

if TYPE_CHECKING:
    from tunesmith.store import Store

# A task's sketch teaches by so many trials at most, drawn at random: more say little that is new.
_MOST_OF_SERIES = 100

# Into so many parts tasks are put, each of which is held out in turn.
_FOLDS = 5


def train(store: Store, scope: Scope, tell: Tell | None = None) -> GlobalModel:
    """Learn from a store's trials, and save the model beside the store.

    Raises ``UsageError`` for a store with too few trials, or of which all failed, and
    ``MissingDependencyError`` without XGBoost. A model that cannot be saved is told of.
    """
    heard = Heard(tell)
    BoostedTrees(0)  # whose complaint is due before all of a store is read
    written = store.written()
    found = _trials(store, scope)
    series = _chosen(found, scope)
    count = sum(len(each.configs) for each in series)
    heard.inform(
        f"learning from {count:,} trials of {store.name}, at most {_MOST_OF_SERIES} of a series"
    )
    origin = {
        "store": store.name,
        "written": written,
        "first_session": store.first_session(),
        "machine": dict(found.machine),
        "versions": library_versions(),
        "scope": scope.name,
        "choice": scope.to_json(),
        "below": identity(below_of(scope)),
    }
    try:
        model = learn(series, origin=origin, below=below_of(scope), most=_MOST_OF_SERIES)
    except TooFewTrialsError as error:
        here = trials_of(store, scope)
        others = elsewhere(store, scope, here)
        if not others.count:
            raise
        advice = _advice(here + others.count)
        raise TooFewTrialsError(
            f"{error}; the trials of {store.name} are {others}{advice}"
        ) from error
    folder = folder_of(store)
    if folder is None:
        heard.warn(
            f"the model is kept until the program ends, as {store.name} has no file beside which "
            "it could be"
        )
        remember(store, scope, model)
        return model
    try:
        folder.mkdir(exist_ok=True)
        write_model(model, folder / f"{scope.name}.json.gz")
    except OSError as error:
        heard.warn(f"the model is not saved in {folder} ({system_reason(error)})")
        remember(store, scope, model)
    else:
        forget(store, scope)
    return model


def _trials(store: Store, scope: Scope) -> TrainingSet:
    """The trials that a store has by the machine of a scope. Raises ``UsageError`` for none."""
    if not trials_of(store, scope):
        others = elsewhere(store, scope, 0)
        if others.count:
            by = " by this machine" if scope.machine is None else ""
            raise TooFewTrialsError(
                f"{store.name} has no trials for {scope.name}{by}, but {others}"
                f"{_advice(others.count)}"
            )
    return stored_set(store, machine=scope.machine)


def _advice(trials: int) -> str:
    """What to do where a store has so many trials in all, and too few of a scope."""
    return ": with '--target all' a model learns from them" if trials >= LEAST_TRIALS else ""


def _chosen(found: TrainingSet, scope: Scope) -> list[Series]:
    """The series of a scope, but for those of processors that the compiler here does not know."""
    return [each for each in found.series if scope.chosen(each) and _is_known(each.task.target)]


def _is_known(target: Target) -> bool:
    try:
        target.to_json()
    except UsageError:
        return False
    return True


def held_out_scores(
    store: Store, scope: Scope, tell: Tell | None = None
) -> dict[str, dict[str, Any]]:
    """How good the estimates, the shipped model and one of the store's trials are on tasks that the
    latter has not learned from; summaries as ``held_out.summary`` has them, of the same tasks.

    Raises like ``train``, and ``TooFewTrialsError`` for trials of one task alone.
    """
    heard = Heard(tell)
    known = _trials(store, scope)
    series = [each for each in _chosen(known, scope) if problem_of(each) is not None]
    below = below_of(scope)
    found: list[Score] = []
    seen: list[Series] = []
    parts = folds(series, _FOLDS)
    count = sum(len(each.configs) for each in series)
    if count < LEAST_TRIALS or len(parts) < 2:
        raise TooFewTrialsError(
            f"scores need {LEAST_TRIALS} trials, of two tasks or more, as some are held out, and "
            f"{store.name} has {count:,} of {len({each.task for each in series})}: tune more"
        )
    for number, (learned, tested) in enumerate(parts, 1):
        heard.inform(f"tasks held out: part {number} of {len(parts)}")
        taught = [series[place] for place in learned]
        try:
            model = learn(taught, below=below, least=1, most=_MOST_OF_SERIES)
        except UsageError as error:  # of tasks of which nothing worked
            heard.inform(f"part {number} is left out: {error}")
            continue
        held = [series[place] for place in tested]
        found += scores(held, partial(predicted, model))
        seen += held
    rows = {"estimates": summary(scores(seen, partial(predicted, None)))}
    if below is not None:
        rows["shipped model"] = summary(scores(seen, partial(predicted, below)))
    return {**rows, "own trials, held out": summary(found)}
