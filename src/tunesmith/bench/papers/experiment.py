"""What the papers' experiments have in common: who takes part, on what, how often and how long.

An experiment is a comparison of tuners on measured workloads (``compare``), all with the same
sketch, and so the same space. Its runs are kept in a folder, and one that is there is not repeated.
Each workload may be measured on another machine: an experiment of hours can be done piece by piece.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.runs import CompareSettings
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.compare.tuners import TunerChoice, choose_tuners, why_not_installed
from tunesmith.bench.pages.charts import Draw
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.errors import MissingDependencyError, unknown_name
from tunesmith.operators import Operator

RUNS = "search-runs"
"""The folder, beside the page, that keeps the runs of all experiments."""


@dataclass(frozen=True)
class SearchSettings:
    """How an experiment is done: ``repeats`` runs of each tuner on each workload.

    ``workloads`` are names or patterns, ``tuners`` as ``tunesmith compare`` takes them. A run ends
    after ``seconds`` of tuning, or with its last trial: of ``trials``, or else when ``space_share``
    of the space was visited. ``moment`` is the time in seconds at which an experiment looks at what
    had been found by then. Repeat r has the seed ``seed`` + r.
    """

    workloads: tuple[str, ...]
    tuners: tuple[str, ...]
    sketch: str
    repeats: int
    seconds: float | None = None
    trials: int | None = None
    space_share: float | None = None
    moment: float | None = None
    seed: int = 0

    def changed(self, **values: Any) -> SearchSettings:
        """With those of these values that are given: neither None nor empty."""
        given = {name: value for name, value in values.items() if value not in (None, (), [])}
        return dataclasses.replace(self, **given)


def _nothing_told(_summary: Summary, _settings: SearchSettings) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class SearchExperiment:
    """A paper's experiment: the operators that it ``knows`` by name, and its settings.

    ``charts`` are drawn by short names, such as ``time``. ``told`` gives further figures, which are
    JSON-ready, for the page.
    """

    name: str
    knows: Mapping[str, Operator]
    full: SearchSettings
    quick: SearchSettings
    charts: Callable[[Summary, SearchSettings], Mapping[str, Draw]]
    told: Callable[[Summary, SearchSettings], Mapping[str, Any]] = _nothing_told

    def settings(self, *, quick: bool) -> SearchSettings:
        """Those of hours, or of minutes."""
        return self.quick if quick else self.full

    def problems(self, settings: SearchSettings) -> list[SearchProblem]:
        """The chosen workloads.

        Raises ``UsageError`` for a pattern that none fits, or a sketch that does not fit one.
        """
        chosen: dict[str, SearchProblem] = {}
        for pattern in settings.workloads:
            names = fnmatch.filter(self.knows, pattern)
            if not names:
                raise unknown_name(f"workload of bench {self.name}", pattern, self.knows)
            for name in names:
                problem = SearchProblem(
                    name, self.knows[name], settings.sketch, settings.space_share
                )
                _ = problem.tuned  # whose complaint is due now
                chosen[name] = problem
        return list(chosen.values())

    def comparison(
        self,
        settings: SearchSettings,
        tuners: Sequence[TunerChoice],
        folder: Path,
        *,
        quick: bool = False,
    ) -> Comparison:
        """The runs to do, which are kept below the ``folder`` of the page.

        Raises ``UsageError`` for settings that make no sense.
        """
        kept = folder / RUNS / (f"{self.name}-quick" if quick else self.name)
        limits = CompareSettings(settings.repeats, settings.seconds, settings.trials, settings.seed)
        return Comparison(self.problems(settings), tuners, limits, kept, elsewhere=True)


def take_part(texts: Sequence[str]) -> tuple[list[TunerChoice], dict[str, str]]:
    """The tuners that can take part; of those that are not installed, why not.

    Raises ``UsageError`` for a tuner or option that does not exist, and
    ``MissingDependencyError`` where none is left.
    """
    there, left_out = [], {}
    for text in texts:
        why = why_not_installed(text)
        if why is None:
            there.append(text)
        else:
            left_out[text] = why
    if left_out and not there:
        raise MissingDependencyError("no tuner is left: " + "; ".join(left_out.values()))
    return choose_tuners(there), left_out
