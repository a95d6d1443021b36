"""The loop: a tuner proposes, a measurer measures, a store keeps, until the budget ends."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError
from tunesmith.measure.task_problem import TaskProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.problem import Measurer, MeasureSettings, Problem
from tunesmith.progress import Progress
from tunesmith.result import PHASES, Found, Result
from tunesmith.store import Record, Session, open_store, rescue
from tunesmith.task import Task
from tunesmith.tuners import Tuner
from tunesmith.tuners import tuner as tuner_by_name
from tunesmith.tuners.tuner import Search

if TYPE_CHECKING:
    from tunesmith.store import Store

# How many rounds the play-off has; each round runs every finalist once, in turn.
PLAY_OFF_ROUNDS = 15
# Only configs this close to the best take part in the play-off: further off, noise is no excuse.
PLAY_OFF_MARGIN = 1.15
# How long to wait for a measurement before looking at the clock again.
_PATIENCE = 0.25


def tune(
    problem: Problem | Task,
    tuner: str | Tuner = "genetic",
    budget: Budget | None = None,
    *,
    store: Store | str | Path | None = None,
    seed: int = 0,
    fresh: bool = False,
    sketch: str | None = None,
    settings: MeasureSettings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Search for the fastest config of a problem.

    A run continues what earlier runs of the same problem left in the store: their trials are
    shown to the tuner, count towards ``budget.trials`` and are not repeated, unless ``fresh``.
    Without a ``store`` a task uses the user's store, any other problem none that lasts. ``sketch``
    names the sketch for a task, the first one that fits by default. Every trial is saved as it
    ends; Ctrl-C ends the run like a budget does. At the end the best few are measured again in
    turn, so that noise picks no winner.

    Raises ``UsageError`` for what does not exist or cannot be, ``StoreError`` if the store cannot
    be opened, ``TunesmithError`` if measuring is impossible on this machine.
    """
    chosen = TaskProblem.of(problem, sketch) if isinstance(problem, Task) else problem
    algorithm = tuner_by_name(tuner) if isinstance(tuner, str) else tuner
    with contextlib.ExitStack() as stack:
        if store is None or isinstance(store, str | Path):
            lasting = store is not None or isinstance(chosen, TaskProblem)
            store = stack.enter_context(open_store(store if lasting else "sqlite://"))
        run = _Run(chosen, algorithm, budget or Budget(), store=store, seed=seed, progress=progress)
        return run.go(settings or MeasureSettings(), fresh=fresh)


class SketchIdentity(TypedDict):
    """The sketch that made the programs of a record; empty for a problem without one."""

    sketch: str
    sketch_version: int


class _Run:
    """One tuning run: the counts that the budget, the progress and the result need."""

    def __init__(
        self,
        problem: Problem,
        tuner: Tuner,
        budget: Budget,
        *,
        store: Store,
        seed: int,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.problem = problem
        self.tuner = tuner
        self.budget = budget
        self.store = store
        self.seed = seed
        self.progress = progress
        self.outcomes: Counter[Outcome] = Counter()
        self.best_seconds = math.inf
        self.since_improvement = 0
        self.default: Measurement | None = None
        self.thinking = 0.0
        self.resumed = 0
        self.unsaved: list[Record] = []
        self._finalists: list[tuple[float, int, Measurement]] = []
        self._order = itertools.count()
        self._begun = time.monotonic()

    # -- the run ---------------------------------------------------------------------------------

    def go(self, settings: MeasureSettings, *, fresh: bool) -> Result:
        identity = sketch_of(self.problem)
        search = self.tuner.start(self.problem.space, self.seed)
        if not fresh:
            self._resume(search, identity)
        session = self.store.begin_session(
            self.problem.key,
            tuner=self.tuner.name,
            seed=self.seed,
            description={**self.problem.describe(), "default": _default_json(self.problem)},
            target=self.problem.describe().get("target"),
            tuner_settings=asdict(self.tuner),
            budget=self.budget.to_json(),
            **identity,
        )
        stop, failure = Stop.INTERRUPTED, ""
        with self.problem.measurer(settings, self.best_seconds) as measurer:
            try:
                stop = self._loop(search, measurer, session)
                measurer.cancel()
                self._play_off(measurer, session)
            except KeyboardInterrupt:
                stop = Stop.INTERRUPTED
            except StoreError as error:
                stop, failure = Stop.STORE, str(error)
            split = self._time(measurer)
        return self._finish(session, stop, failure, split)

    def _resume(self, search: Search, identity: SketchIdentity) -> None:
        """Learn from earlier runs. Where a play-off measured a config again, its times count."""
        key, store = self.problem.key, self.store
        self._learn(search, store.measurements(key, **identity))
        self.resumed, self.since_improvement = self.trials, 0
        winner = store.best(key, **identity)
        known = [] if winner is None else [winner.config]
        known += [measurement.config for measurement in self.finalists]
        self._finalists = []
        for config in dict.fromkeys(known):
            measurement = store.measurement_of(key, config, **identity)
            if measurement is not None and measurement.valid:
                self._enter(measurement)
        self.best_seconds = min((m.seconds for m in self.finalists), default=math.inf)
        if self.problem.default is not None:
            self.default = store.measurement_of(key, self.problem.default, **identity)

    def _loop(self, search: Search, measurer: Measurer, session: Session) -> Stop:
        default = self.problem.default
        if default is not None and self.default is None:
            measurer.submit([default])
        exhausted = False
        while True:
            stop = self._stop()
            if stop is not None:
                return stop
            if not exhausted:
                started = time.monotonic()
                configs = search.propose(self._wanted(measurer))
                self.thinking += time.monotonic() - started
                exhausted = not configs and self._wanted(measurer) > 0
                measurer.submit([config for config in configs if config != default])
            if measurer.pending == 0:
                return Stop.EXHAUSTED
            measurements = measurer.collect(self._patience())
            if measurements:
                try:
                    self._save(session, measurements)
                finally:  # saved or not, it was measured
                    self._learn(search, measurements)
            self._tell(measurer)

    def _wanted(self, measurer: Measurer) -> int:
        """How many configs to propose: enough to keep the measurer busy, none over the budget."""
        wanted = measurer.batch - measurer.pending
        if self.budget.trials is not None:
            wanted = min(wanted, self.budget.trials - self.trials - measurer.pending)
        return max(0, wanted)

    def _patience(self) -> float:
        if self.budget.seconds is None:
            return _PATIENCE
        return max(0.0, min(_PATIENCE, self.budget.seconds - self.elapsed))

    def _stop(self) -> Stop | None:
        return self.budget.stop(
            elapsed=self.elapsed,
            trials=self.trials,
            best_seconds=self.best_seconds,
            since_improvement=self.since_improvement,
            flops=self.problem.flops,
        )

    # -- what a measurement changes --------------------------------------------------------------

    def _save(
        self, session: Session, measurements: Sequence[Measurement], *, play_off: bool = False
    ) -> None:
        self.unsaved = [session.record(m, play_off=play_off) for m in measurements]
        if play_off:
            self.store.confirm(session, measurements)
        else:
            self.store.append(session, measurements)
        self.unsaved = []

    def _learn(self, search: Search, measurements: Sequence[Measurement]) -> None:
        started = time.monotonic()
        search.observe(measurements)
        for measurement in measurements:
            self._count(measurement)
        self.thinking += time.monotonic() - started

    def _count(self, measurement: Measurement) -> None:
        self.outcomes[measurement.outcome] += 1
        if measurement.config == self.problem.default:
            self.default = measurement
        self.since_improvement += 1
        if not measurement.valid:
            return
        if measurement.seconds < self.best_seconds:
            self.best_seconds = measurement.seconds
            self.since_improvement = 0
        self._enter(measurement)

    def _enter(self, measurement: Measurement) -> None:
        """Let a valid measurement take part in the play-off, if it is one of the best few."""
        heapq.heappush(self._finalists, (-measurement.seconds, next(self._order), measurement))
        if len(self._finalists) > max(1, self.problem.finalists):
            heapq.heappop(self._finalists)

    @property
    def finalists(self) -> list[Measurement]:
        """The best few so far, best first."""
        return [measurement for _, _, measurement in sorted(self._finalists, reverse=True)]

    @property
    def trials(self) -> int:
        return self.outcomes.total()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begun

    # -- the end ---------------------------------------------------------------------------------

    def _play_off(self, measurer: Measurer, session: Session) -> None:
        """Measure the best few again, in turn, and the default beside them."""
        slowest = self.best_seconds * PLAY_OFF_MARGIN
        configs = [close.config for close in self.finalists if close.seconds <= slowest]
        if self.problem.finalists == 0 or not configs or self.trials == self.resumed:
            return
        default = self.default
        if default is not None and default.valid and default.config not in configs:
            configs.append(default.config)
        measured = measurer.play_off(configs, PLAY_OFF_ROUNDS)
        again = {measurement.config: measurement for measurement in measured}
        if default is not None:
            self.default = again.get(default.config, default)
        confirmed = [measurement for measurement in measured if measurement.valid]
        if confirmed:
            self._finalists = []
            for measurement in confirmed:
                self._enter(measurement)
        self._save(session, measured, play_off=True)

    def _time(self, measurer: Measurer) -> dict[str, float]:
        """Seconds by phase. Search that goes on while programs are built counts as search too."""
        split = measurer.time_split()
        busy = {"search": self.thinking, "build": split["build"], "run": split["run"]}
        total = self.elapsed
        return {**busy, "idle": max(0.0, total - sum(busy.values())), "total": total}

    def _tell(self, measurer: Measurer) -> None:
        if self.progress is None:
            return
        spent = self._time(measurer)
        self.progress(
            Progress(
                trials=self.trials,
                valid=self.outcomes[Outcome.NO_ERROR],
                outcomes=dict(self.outcomes),
                best_seconds=None if math.isinf(self.best_seconds) else self.best_seconds,
                default_seconds=_seconds(self.default),
                time={phase: spent[phase] for phase in PHASES},
                elapsed=self.elapsed,
            )
        )

    def _finish(
        self, session: Session, stop: Stop, failure: str, split: dict[str, float]
    ) -> Result:
        rescued = None
        try:
            if self.unsaved:  # Ctrl-C came in between, or there may be room by now
                self.store.merge(self.unsaved)
                self.unsaved = []
            self.store.finish_session(
                session, stopped=stop.value, time_split={phase: split[phase] for phase in PHASES}
            )
        except StoreError as error:
            stop, failure = Stop.STORE, failure or str(error)
        if self.unsaved:
            try:
                rescued = rescue(self.unsaved, self.store.folder)
            except StoreError as error:  # the result in memory is all that is left: return it
                failure = f"{failure}; {error}"
        best = self.finalists[0] if self._finalists else None
        return Result(
            problem=self.problem,
            best=None if best is None else Found(self.problem, best),
            default=(
                Found(self.problem, self.default)
                if self.default is not None and self.default.valid
                else None
            ),
            trials=self.trials,
            outcomes=dict(self.outcomes),
            time=split,
            stopped=stop,
            resumed=self.resumed,
            failure=failure,
            rescued=rescued,
        )


def sketch_of(problem: Problem) -> SketchIdentity:
    """What a store files the records of a problem under, beside its key."""
    sketch = problem.describe().get("sketch") or {"name": "", "version": 0}
    return {"sketch": str(sketch["name"]), "sketch_version": int(sketch["version"])}


def _default_json(problem: Problem) -> dict[str, Any] | None:
    return None if problem.default is None else problem.default.to_json()


def _seconds(measurement: Measurement | None) -> float | None:
    return measurement.seconds if measurement is not None and measurement.valid else None
