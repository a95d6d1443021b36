"""The tuners of a comparison: how they are named, and what makes runs of theirs the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from tunesmith.bench.compare.code import Sources, digest_of, sources_of
from tunesmith.errors import MissingDependencyError, UsageError, unknown_name
from tunesmith.features.kinds import FeatureKind
from tunesmith.models.registry import MODELS
from tunesmith.space import Ordinal, Space
from tunesmith.tuners import Tuner, parse_options
from tunesmith.tuners import tuner as tuner_by_name

REFERENCE = "genetic"
"""What speed-ups are over, if it takes part (NoSE, figure 5B)."""

MULTIPLIERS = range(2, 101)
"""How many configs a trial of a tuner may have."""

Transferred = FeatureKind | Literal["estimates"]
"""What a tuner has of other tasks: a model by these features, or one that has learned nothing."""

Sees = Literal["space", "estimates", "model"]
_SEEN: dict[str, Sees] = {"estimates": "estimates", "model": "model"}

_ANY_SPACE = Space([Ordinal("x", (1, 2, 3))])

_OF_PROGRAMS = {"loop-context", "context-relation"}

# What features of programs are made by, but for the operators and sketches, whose versions count.
_FEATURES = (
    "tunesmith.features.program",
    "tunesmith.compiler.loop_nest",
    "tunesmith.compiler.index_points",
)

# What a model of other tasks is made by.
_TRANSFER = (
    "tunesmith.transfer.model",
    "tunesmith.transfer.encoding",
    "tunesmith.transfer.training_set",
    "tunesmith.bench.compare.recorded_task",
)
_TRANSFER_NEEDS = ("tunesmith.models", "tunesmith.features.estimate_parts")


@dataclass(frozen=True)
class TunerChoice:
    """A tuner with its options, under the label that it was asked for by.

    With a ``multiplier`` it may try so many configs a trial, in so many times the seconds: its
    clock, and its count of trials, run so many times as slow ("Learning to Optimize Tensor
    Programs", figure 4: two evaluations a trial in Random × 2). With ``transfer``, a kind of
    features, it has a model of the problem's sources; with ``estimates``, for workloads alone, one
    that has learned nothing. With ``starts`` too, it begins with what that model likes, as the
    product does: for tuners that do not look for that by themselves. ``sees`` is what it may look
    at of a recorded space whose sketch is known, beside the space: the sketch's estimates, as they
    are or corrected by the model that ships. ``kept_as`` names the files of its runs, where that is
    not its label: choices that differ in their labels alone may share them.
    """

    label: str
    tuner: Tuner
    multiplier: int = 1
    transfer: Transferred | None = None
    starts: bool = False
    sees: Sees = "space"
    kept_as: str = ""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before are of another search."""
        code = digest_of(self.sources)
        found: dict[str, Any] = {
            "name": self.tuner.name,
            "options": asdict(self.tuner),
            "code": code,
        }
        if self.transfer is not None:
            found["transfer"] = self.transfer
        if self.starts:
            found["starts"] = True
        if self.sees != "space":
            found["sees"] = self.sees
        elif getattr(self.tuner, "features", None) in _OF_PROGRAMS:
            found["features"] = "without estimates"
        return found

    @property
    def looks_at_programs(self) -> bool:
        """Whether a model of its own or of others learns from features of programs."""
        return bool({getattr(self.tuner, "features", None), self.transfer} & _OF_PROGRAMS)

    @property
    def sources(self) -> Sources:
        """The code that decides what it proposes: of the tuner with all that it imports, and of the
        cost model, of the features of programs and of the model of other tasks, if it has them."""
        found = sources_of(type(self.tuner).__module__)
        model = getattr(self.tuner, "model", None)
        if isinstance(model, str) and model in MODELS.names():
            found |= sources_of(MODELS.get(model).__module__)
        if self.looks_at_programs:
            for module in _FEATURES:
                found |= sources_of(module, _FEATURES)
        if self.transfer is not None:
            for module in _TRANSFER:
                found |= sources_of(module, (*_TRANSFER, *_TRANSFER_NEEDS))
        return found


def choose_tuners(texts: Iterable[str]) -> list[TunerChoice]:
    """The tuners of texts such as ``random``, ``random*2``, ``auto+estimates``, ``auto+model``, or
    ``genetic:population=50,elites=2``.

    Raises ``UsageError`` for an unknown tuner or option, a value of the wrong type or out of range,
    a bad multiplier, and a tuner that is given twice; ``MissingDependencyError`` for one that
    cannot be imported.
    """
    chosen: dict[str, TunerChoice] = {}
    for text in texts:
        before, colon, rest = text.partition(":")
        before, plus, seen = before.partition("+")
        sees = seen.strip()
        if plus and sees not in _SEEN:
            raise unknown_name(f"view of tuner '{text.strip()}'", sees, _SEEN)
        name, multiplier = _multiplied(before)
        assignments = [part.strip() for part in rest.split(",")] if colon else []
        options = parse_options(name, assignments)
        label = name if multiplier == 1 else f"{name}×{multiplier}"
        label += plus + sees
        label += ":" + ",".join(assignments) if assignments else ""
        if label in chosen:
            raise UsageError(f"tuner '{label}' is given twice: leave one out")
        chosen[label] = TunerChoice(
            label, tuner_by_name(name, **options), multiplier, sees=_SEEN.get(sees, "space")
        )
    if not chosen:
        raise UsageError("no tuner to compare: name one or more with --tuners")
    return list(chosen.values())


def _multiplied(text: str) -> tuple[str, int]:
    """The tuner and the multiplier of ``random*2``, or of ``random×2``, which is its label."""
    name, times, number = (part.strip() for part in text.replace("×", "*").partition("*"))
    if not times:
        return name, 1
    if not number.isdecimal() or len(number) > 3 or int(number) not in MULTIPLIERS:
        raise UsageError(
            f"tuner '{text.strip()}': the multiplier must be a whole number from {MULTIPLIERS[0]} "
            f"to {MULTIPLIERS[-1]}, not '{number}': write {name}*2"
        )
    return name, int(number)


def reference_of(labels: Sequence[str]) -> str:
    """Whom the others are compared with: AutoTVM's GA, or the first where that is not there."""
    return REFERENCE if REFERENCE in labels else labels[0]


def why_not_installed(text: str) -> str | None:
    """Why a tuner cannot run on this machine, None if it can."""
    try:
        (choice,) = choose_tuners([text])
        tuner: Any = choice.tuner
        if getattr(tuner, "features", "configuration") != "configuration":
            tuner = replace(tuner, features="configuration")  # this space has no programs
        tuner.start(_ANY_SPACE, 0)
    except MissingDependencyError as error:
        return str(error)
    except Exception:  # whatever else is wrong the comparison finds out
        return None
    return None
