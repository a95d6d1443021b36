"""``tunesmith bench train-model``: the model that ships, and how good it is on what is new to it.

It is tested on whole networks that it did not learn from, and, where there are records of several
kinds of processor, on each kind after learning from other processors. Of a kind are processors of
one name that run code for one instruction set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.store.versions import library_versions
from tunesmith.transfer.held_out import Score, folds, scores, summary
from tunesmith.transfer.model import GlobalModel, TooFewTrialsError, learn, predicted, problem_of
from tunesmith.transfer.training_set import Series, TrainingSet

Tell = Callable[[str], None]

# Into so many parts networks are put, each of which is held out in turn.
FOLDS = 5


@dataclass(frozen=True)
class Trained:
    """A model of all series, and ``figures`` of models that did not see what they are tested on."""

    model: GlobalModel
    figures: dict[str, Any]


def train_model(sets: Sequence[TrainingSet], tell: Tell = lambda _: None) -> Trained:
    """Train a model, and test others like it.

    Raises ``UsageError`` for sets of several kinds of target, and like ``learn``.
    """
    series = [each for one in sets for each in one.series if problem_of(each) is not None]
    known = sum(len(each.configs) for each in series)
    left_out = sum(one.trials for one in sets) - known
    if left_out:
        tell(f"{left_out:,} trials are left out: their sketches are gone, or of another version")
    kinds = {each.task.target.kind for each in series}
    if len(kinds) > 1:
        raise UsageError(
            f"a model is for one kind of target, not for {' and '.join(sorted(kinds))}"
        )
    tell("the model of all trials")
    model = learn(series)
    machines = {each.machine: _machine(one) for one in sets for each in one.series}
    named = _kinds(series, machines)
    by_network = _by_network(series, tell)
    figures: dict[str, Any] = {
        "estimates": summary(scores(series, partial(predicted, None))),
        "networks": summary(by_network),
        "processors": {
            name: {
                "estimates": summary(scores(those, partial(predicted, None))),
                "networks": summary([it for it in by_network if _kind(it, named) == name]),
                "model": summary(found),
            }
            for name, those, found in _by_processor(series, named, machines, tell)
        },
        "sets": [_described(one) for one in sets],
    }
    origin = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machines": [dict(one.machine) for one in sets],
        "versions": library_versions(),
        "networks": sorted({name for each in series for name in each.networks}),
        "held_out": figures,
    }
    return Trained(replace(model, origin=origin), figures)


def _kinds(series: Sequence[Series], machines: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """The names of the kinds of processor, by the processor that code is for and the fingerprint of
    the machine that ran it: the former alone where all machines that ran its code have one name.
    ``machines`` have their names by fingerprint."""
    ran = {(_processor(each), each.machine) for each in series}
    of_code: dict[str, set[str]] = {}
    for code, machine in ran:
        of_code.setdefault(code, set()).add(machines[machine])
    return {
        (code, machine): code if len(of_code[code]) == 1 else f"{code} on {machines[machine]}"
        for code, machine in ran
    }


def _kind(of: Series | Score, kinds: Mapping[tuple[str, str], str]) -> str:
    return kinds[_processor(of), of.machine]


def _processor(of: Series | Score) -> str:
    target = of.task.target
    return target.gpu_arch if target.kind == "cuda" else target.processor


def _described(one: TrainingSet) -> dict[str, Any]:
    operators = {each.task.operator for each in one.series}
    processors = sorted({_processor(each) for each in one.series})
    return {
        "machine": _machine(one),
        "processors": processors,
        "trials": one.trials,
        "operators": len(operators),
        "networks": len({name for each in one.series for name in each.networks}),
    }


def _machine(of: TrainingSet) -> str:
    names = (of.machine.get(each) for each in ("name", "device", "cpu"))
    return next((str(name) for name in names if name), "")


def _by_network(series: Sequence[Series], tell: Tell) -> list[Score]:
    found: list[Score] = []
    parts = folds(series, FOLDS)
    for number, (learned, tested) in enumerate(parts, 1):
        tell(f"networks held out: part {number} of {len(parts)}")
        model = learn([series[place] for place in learned], least=1)
        found += scores([series[place] for place in tested], partial(predicted, model))
    return found


def _by_processor(
    series: Sequence[Series],
    kinds: Mapping[tuple[str, str], str],
    machines: Mapping[str, str],
    tell: Tell,
) -> list[tuple[str, list[Series], list[Score]]]:
    """Each kind with its series, and the scores of a model of other processors', which does not
    know what the same processor ran of another instruction set either."""
    processors = sorted({_kind(each, kinds) for each in series})
    found = []
    for processor in processors if len(processors) > 1 else ():
        tell(f"processor held out: {processor}")
        own = [each for each in series if _kind(each, kinds) == processor]
        same = {machines[each.machine] for each in own}
        others = [each for each in series if machines[each.machine] not in same]
        try:
            found.append((processor, own, scores(own, partial(predicted, learn(others)))))
        except TooFewTrialsError:
            continue
    return found


def default_path(kind: str) -> Path:
    """Where the package has its model."""
    from tunesmith.transfer.shipped import FOLDER

    return FOLDER / f"{kind}.json.gz"
