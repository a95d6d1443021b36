"""The runs of a comparison that are kept in a folder, and which of them still count."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tunesmith.bench.compare.measured import EARLIER, TRIALS
from tunesmith.bench.compare.problems import MeasuredProblem, Problem, RecordedProblem
from tunesmith.bench.compare.runs import Run
from tunesmith.bench.compare.simulated_trace import Trace, load_trace, save_trace
from tunesmith.bench.compare.tuners import Sees
from tunesmith.errors import TunesmithError, system_reason
from tunesmith.machine import this_machine
from tunesmith.measure.identity import digest
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.store import library_versions

# Changes when traces of before no longer tell what those of now do.
_FORMAT = 1

# By so many configs it is told whether estimates are still the same.
_LOOKED_AT = 32

Limits = tuple[float | None, int | None]
"""Seconds of tuning and trials of a run; None is no limit."""


class KeptRuns:
    """The traces of runs, each in a file of the ``folder``.

    ``seed`` is that of the first repeat, and ``limits`` says those of a run: another of these means
    another run, in another file. With ``elsewhere`` runs of another machine count where all of a
    workload are there; otherwise, and where some are missing, only those of this machine do.
    """

    def __init__(
        self, folder: Path, seed: int, limits: Callable[[Run], Limits], *, elsewhere: bool
    ) -> None:
        self.folder = folder
        self._seed = seed
        self._limits = limits
        self._elsewhere = elsewhere

    def load(self, run: Run) -> Trace | None:
        """The trace that is kept of a run, by its tuner's clock."""
        identity = self.identity(run)
        found = (load_trace(path, identity) for path in (self.path(run), self._path_of_old(run)))
        trace = next((each for each in found if each is not None), None)
        if trace is None or not _of_this_compiler(run, trace):
            return None
        return trace.slowed(run.tuner.multiplier)

    def load_all(self, runs: Iterable[Run], asked: Collection[Run]) -> dict[Run, Trace]:
        """The traces that are kept of these runs, and count. Of a workload all are there where
        those ``asked`` for are, and of other tuners none is missing, or each."""
        wanted = set(asked)
        by_problem: dict[Problem, dict[Run, Trace | None]] = defaultdict(dict)
        for run in runs:
            by_problem[run.problem][run] = self.load(run)
        found: dict[Run, Trace] = {}
        for problem, kept in by_problem.items():
            tuners = {run.tuner for run, trace in kept.items() if trace is not None}
            sought = [kept[run] for run in kept if run in wanted or run.tuner in tuners]
            whole = self._elsewhere and _of_one_machine(sought)
            found |= {
                run: trace
                for run, trace in kept.items()
                if trace is not None and (whole or is_of_here(problem, trace))
            }
        return found

    def save(self, run: Run, trace: Trace) -> None:
        """Keep a trace, which is by the real clock. Raises ``TunesmithError`` where that fails."""
        identity, old = self.identity(run), self._path_of_old(run)
        save_trace(self.path(run), trace, identity)
        if load_trace(old, identity) is not None:
            _unlink([old])

    def remove(self, runs: Iterable[Run], *, all_repeats: bool = False) -> None:
        """Keep nothing of these runs, whatever their seeds and limits, nor, with ``all_repeats``,
        of others of the same tuner on the same problem.

        Raises ``TunesmithError`` where that is impossible.
        """
        for run in runs:
            repeat = f"{run.repeat:03d}"
            for ends in ("*",) if all_repeats else (repeat, f"????-{repeat}"):
                _unlink(self.folder.glob(f"{_stem(run)}-{ends}.npz"))

    def path(self, run: Run) -> Path:
        """The file of a run."""
        how = digest([self._seed, self._limits(run)])
        return self.folder / f"{_stem(run)}-{how[:4]}-{run.repeat:03d}.npz"

    def _path_of_old(self, run: Run) -> Path:
        """Where it was before those of other limits and seeds had files of their own."""
        return self.folder / f"{_stem(run)}-{run.repeat:03d}.npz"

    def identity(self, run: Run) -> str:
        """What tells a run from one that is done otherwise."""
        return digest(
            {
                "format": _FORMAT,
                "problem": run.problem.identity,
                "tuner": run.tuner.identity,
                **_sources(run),
                "seed": self._seed + run.repeat,
                "limits": self._limits(run),
            }
        )


def _unlink(paths: Iterable[Path]) -> None:
    try:
        for path in paths:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise TunesmithError(
            f"cannot remove {error.filename}: {system_reason(error)}: name another folder"
        ) from error


def _stem(run: Run) -> str:
    """What the names of the files of a tuner on a problem begin with."""
    labels = (run.problem.label, run.tuner.kept_as or run.tuner.label)
    plain = "-".join(re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-") for label in labels)
    return f"{plain[:80]}-{digest(labels)[:6]}"


def is_of_here(problem: Problem, trace: Trace) -> bool:
    """Whether a run was measured on this machine, or nowhere, as simulated ones are."""
    if not isinstance(problem, MeasuredProblem):
        return True
    here, target = this_machine()["fingerprint"], problem.task.target.to_json()
    return trace.machine.get("fingerprint") == here and trace.target == target


def _of_one_machine(traces: Sequence[Trace | None]) -> bool:
    """Whether all traces are there, and were measured on the same machine, for the same target."""
    there = [(trace.machine, trace.target) for trace in traces if trace and trace.machine]
    kinds = {digest([machine["fingerprint"], target]) for machine, target in there}
    return len(there) == len(traces) and len(kinds) == 1


def _of_this_compiler(run: Run, trace: Trace) -> bool:
    """Whether the programs of a run were made by the compiler that is here; simulated runs make
    none, and traces of old do not say."""
    its = trace.libraries.get("apache-tvm")
    here = library_versions().get("apache-tvm")
    return not isinstance(run.problem, MeasuredProblem) or its in (None, here)


def _sources(run: Run) -> dict[str, Any]:
    """What a tuner sees beside the space, or learns from beforehand; nothing for others."""
    learns = run.tuner.transfer not in (None, "estimates")
    if isinstance(run.problem, MeasuredProblem):
        sources = [each.identity for each in run.problem.sources]
        return {"sources": sources, "trials": TRIALS, "earlier": EARLIER} if learns else {}
    found: dict[str, Any] = {}
    if isinstance(run.problem, RecordedProblem):
        if run.tuner.sees != "space":
            found["seen"] = _seen(run.problem.path, run.tuner.sees)
        if learns:
            found["sources"] = [load_recording(path).digest for path in run.problem.sources]
        if run.tuner.looks_at_programs:
            found["making_programs"] = "counts"  # of old it did not
    return found


@cache
def _seen(path: Path, sees: Sees) -> str:
    """A digest of what a tuner sees of some configs: the estimates, by code of now, and the model
    that ships."""
    from tunesmith.bench.compare.recorded_task import estimates_seen

    configs = load_recording(path).configs
    some = configs[:: math.ceil(len(configs) / _LOOKED_AT)]
    estimates = estimates_seen(path, sees)
    found = None if estimates is None else estimates(some)
    # The last digits differ between processors.
    return digest(None if found is None else [f"{seconds:.4g}" for seconds in found])
