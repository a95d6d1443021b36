"""The tuners of a comparison: how they are named, and what makes runs of theirs the same."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from tunesmith.errors import UsageError, unknown_name
from tunesmith.features.kinds import FeatureKind
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

_COMMENT = re.compile(r"#.*|\\\n")
_IMPORT = re.compile(r"\b(?:from[ \t]+([.\w]+)[ \t]+import\b(\s*\([^)]*\)|.*)|import[ \t]+(.*))")
_NAME = re.compile(r"\w+(?:\.\w+)*")


@dataclass(frozen=True)
class TunerChoice:
    """A tuner with its options, under the label that it was asked for by.

    With a ``multiplier`` it may try so many configs a trial, in so many times the seconds: its
    clock, and its count of trials, run so many times as slow ("Learning to Optimize Tensor
    Programs", figure 4: two evaluations a trial in Random × 2). With ``transfer``, a kind of
    features, it has a model of the problem's sources; with ``estimates``, for workloads alone, one
    that has learned nothing. ``sees`` is what it may look at of a recorded space whose sketch is
    known, beside the space: the sketch's estimates, as they are or corrected by the model that
    ships.
    """

    label: str
    tuner: Tuner
    multiplier: int = 1
    transfer: Transferred | None = None
    sees: Sees = "space"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before are of another search."""
        code = _code_of(type(self.tuner))
        found = {"name": self.tuner.name, "options": asdict(self.tuner), "code": code}
        if self.transfer is not None:
            found["transfer"] = self.transfer
        if self.sees != "space":
            found["sees"] = self.sees
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


def _code_of(kind: type) -> str:
    """A digest of the source of a class's module, and of what that imports of ``_sources``."""
    digest = hashlib.sha256()
    for name, source in sorted(_sources(kind.__module__).items()):
        digest.update(name.encode() + b"\0" + source)
    return digest.hexdigest()[:16]


def _sources(module: str) -> dict[str, bytes]:
    """The sources of a module and of all that it imports, directly or not and wherever in the code,
    from its own top-level package and from ours, whose spaces and models tuners build on."""
    followed = {module.partition(".")[0], __name__.partition(".")[0]}
    sources: dict[str, bytes] = {}
    waiting, seen = [module], {module}
    while waiting:
        name = waiting.pop()
        file = _file(name)
        if file is not None:
            sources[name] = file.read_bytes()
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            found = set(_imports(sources[name].decode("utf-8", "replace"), package)) - seen
            new = {each for each in found if each.partition(".")[0] in followed}
            waiting += new
            seen |= new
    return sources


def _file(name: str) -> Path | None:
    """The source of a module of a package that is imported; None where there is no such module."""
    top, *rest = name.split(".")
    package = sys.modules.get(top)
    folders = getattr(package, "__path__", None)
    if folders is None:  # a module by itself
        file = getattr(package, "__file__", None)
        return Path(file) if file and file.endswith(".py") and not rest else None
    for folder in folders:
        place = Path(folder, *rest)
        for source in (place / "__init__.py", place.with_suffix(".py")):
            if source.is_file():
                return source
    return None


def _imports(source: str, package: str) -> Iterator[str]:
    """The names that may be modules, of all that a source imports.

    Text that only looks like an import gives names that are no modules, or a module too many. It is
    ten times as fast as parsing, and a comparison waits for it.
    """
    for origin, names, modules in _IMPORT.findall(_COMMENT.sub(" ", source)):
        if modules:
            yield from _NAME.findall(modules)
            continue
        try:
            base = importlib.util.resolve_name(origin, package)
        except ImportError:  # above the top
            continue
        yield base
        yield from (f"{base}.{name}" for name in _NAME.findall(names))
