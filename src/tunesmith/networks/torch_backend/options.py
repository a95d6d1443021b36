"""The options of ``torch.compile(..., backend="tunesmith", options={...})``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from tunesmith.errors import UsageError, unknown_name
from tunesmith.networks.check import LIMIT
from tunesmith.target import Target
from tunesmith.tuners import Tuner
from tunesmith.tuners import tuner as tuner_by_name

_BACKEND = "the backend tunesmith"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How graphs are compiled.

    ``seconds`` is how long the tasks of a graph are tuned in all, for all its shapes, and
    earlier runs included; with 0 nothing is measured. ``store`` is a file or a URL, None for
    the user's store. ``cores`` is the number of threads, None for all cores. ``limit`` is the
    largest relative error against PyTorch. ``shapes`` is for how many input shapes a graph is
    compiled. ``quiet`` leaves out the lines that say what PyTorch computes.

    Raises ``UsageError`` for values that cannot be.
    """

    seconds: float = 0.0
    store: str | Path | None = None
    cores: int | None = None
    tuner: str = "auto"
    limit: float = LIMIT
    shapes: int = 8
    quiet: bool = False

    def __post_init__(self) -> None:
        self._check("seconds", _is_number(self.seconds) and self.seconds >= 0, "0 or more seconds")
        self._check("limit", _is_number(self.limit) and self.limit > 0, "a positive number")
        self._check("shapes", type(self.shapes) is int and self.shapes > 0, "a positive integer")
        self._check("quiet", isinstance(self.quiet, bool), "True or False")
        self._check("tuner", isinstance(self.tuner, str), "a name")
        stored = self.store is None or isinstance(self.store, str | Path)
        self._check("store", stored, "a file or a URL")
        _ = self.search, self.target  # they complain of what does not exist

    def _check(self, name: str, fits: bool, expected: str) -> None:
        if not fits:
            raise UsageError(
                f"option {name} of {_BACKEND} must be {expected}, not {getattr(self, name)!r}"
            )

    @property
    def search(self) -> Tuner:
        """The search algorithm."""
        return tuner_by_name(self.tuner)

    @property
    def target(self) -> Target:
        """What is compiled for: this machine."""
        return Target(cores=self.cores)

    @classmethod
    def of(cls, given: Mapping[str, Any] | None, mode: str | None = None) -> Self:
        """The options that a call of ``torch.compile`` gives; it may not give a ``mode``.

        Raises ``UsageError`` for unknown options, and for values that cannot be.
        """
        if mode is not None:
            raise UsageError(f"{_BACKEND} has no mode '{mode}': give options={{'seconds': 120}}")
        known = [field.name for field in fields(cls)]
        for name in given or {}:
            if name not in known:
                raise unknown_name(f"option of {_BACKEND}", str(name), known)
        return cls(**dict(given or {}))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
