"""The tuners of a comparison: how they are named, and what makes runs of theirs the same."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.tuners import Tuner, parse_options
from tunesmith.tuners import tuner as tuner_by_name

REFERENCE = "genetic"
"""What speed-ups are over, if it takes part (NoSE, figure 5B)."""


@dataclass(frozen=True)
class TunerChoice:
    """A tuner with its options, under the label that it was asked for by."""

    label: str
    tuner: Tuner

    @cached_property
    def identity(self) -> dict[str, Any]:
        """JSON-ready; a change of it means that runs of before are of another search."""
        code = _code_of(type(self.tuner))
        return {"name": self.tuner.name, "options": asdict(self.tuner), "code": code}


def choose_tuners(texts: Iterable[str]) -> list[TunerChoice]:
    """The tuners of texts such as ``random`` or ``genetic:population=50,elites=2``.

    Raises ``UsageError`` for an unknown tuner or option, a value of the wrong type or out of range,
    and a tuner that is given twice; ``MissingDependencyError`` for one that cannot be imported.
    """
    chosen: dict[str, TunerChoice] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        assignments = [part.strip() for part in rest.split(",")] if colon else []
        options = parse_options(name.strip(), assignments)
        label = name.strip() + (":" + ",".join(assignments) if assignments else "")
        if label in chosen:
            raise UsageError(f"tuner '{label}' is given twice: leave one out")
        chosen[label] = TunerChoice(label, tuner_by_name(name.strip(), **options))
    if not chosen:
        raise UsageError("no tuner to compare: name one or more with --tuners")
    return list(chosen.values())


def reference_of(labels: Sequence[str]) -> str:
    """Whom the others are compared with: AutoTVM's GA, or the first where that is not there."""
    return REFERENCE if REFERENCE in labels else labels[0]


def _code_of(kind: type) -> str:
    """A digest of the source of a class's module, and of those of its package that it imports,
    wherever in the code it does."""
    package = kind.__module__.rpartition(".")[0] or kind.__module__
    sources: dict[str, bytes] = {}
    waiting = [kind.__module__]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        sources[name] = _source(name)
        imported = _imports(sources[name], package)
        waiting += [each for each in imported if f"{each}.".startswith(f"{package}.")]
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + sources[name])
    return digest.hexdigest()[:16]


def _source(name: str) -> bytes:
    """The text of a module; nothing where there is no such module, or no text of it."""
    try:
        found = importlib.util.find_spec(name)
        file = None if found is None else found.origin
        return Path(file).read_bytes() if file is not None and file.endswith(".py") else b""
    except (ImportError, ValueError, OSError):
        return b""


def _imports(source: bytes, package: str) -> Iterator[str]:
    """The names that may be modules, of all that a source imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
