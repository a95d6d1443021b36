"""``tunesmith bench gather``: trials of known tasks on this machine, for models to learn from.

A tuner's own trials are nearly all good ones. A model that has never seen a bad config cannot tell
it from a good one, so these are of random configs, after those that the sketches' estimates like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tunesmith.budget import Budget
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.training_set import TrainingSet
from tunesmith.tuning.result import check_finished
from tunesmith.tuning.tune import tune

# Trials that are compared by their order need no more.
_SETTINGS = MeasureSettings(repeats=2, min_repeat_time=0.003)


@dataclass(frozen=True)
class GatherSettings:
    """How many trials each task gets, and whether they begin with what the estimates like."""

    trials: int = 24
    prior: bool = False
    seed: int = 0


def operators_of(sets: Iterable[TrainingSet], dtype: str | None = None) -> list[Operator]:
    """The operators of training sets, each once; those of element type ``dtype`` if it is given.

    Raises ``UsageError`` for an unknown type, and for one that an operator does not have.
    """
    found = dict.fromkeys(each.task.operator for one in sets for each in one.series)
    if dtype is None:
        return list(found)
    return list(dict.fromkeys(replace(operator, dtype=dtype) for operator in found))


def gather(
    operators: Sequence[Operator],
    target: Target,
    store: Store,
    settings: GatherSettings,
    *,
    progress: Callable[[int, Progress], None] = lambda _number, _progress: None,
) -> None:
    """Fill a store with random trials of operators; those that it has count.

    ``progress`` is told of each operator's run by the operator's number. Raises ``UsageError`` for
    a target that cannot be measured here or has no sketch for an operator, ``StoreError`` where
    trials cannot be stored, and ``KeyboardInterrupt`` if Ctrl-C ended it.
    """
    target.check_measurable(instead="--target cpu")
    with LocalMeasurers() as measurers:
        for number, operator in enumerate(operators):
            result = tune(
                Task(operator, target),
                "random",
                Budget(trials=settings.trials),
                store=store,
                seed=settings.seed,
                prior=settings.prior,
                transfer=False,
                settings=_SETTINGS,
                measurers=measurers,
                progress=lambda state, number=number: progress(number, state),  # type: ignore[misc]
            )
            check_finished(result)
