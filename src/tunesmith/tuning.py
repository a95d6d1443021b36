"""The loop: a tuner proposes, a measurer measures, a store keeps, until the budget ends."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tunesmith import play_off
from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError, UsageError
from tunesmith.ledger import Ledger
from tunesmith.measure.task_problem import TaskProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.problem import Measurer, MeasureSettings, Problem
from tunesmith.progress import PHASES, Progress
from tunesmith.result import Found, Result
from tunesmith.standing import Standing
from tunesmith.store import Session, open_store
from tunesmith.task import Task
from tunesmith.tuners import Tuner
from tunesmith.tuners import tuner as tuner_by_name
from tunesmith.tuners.tuner import Search

if TYPE_CHECKING:
    from tunesmith.store import Store

# How long to wait for a measurement before looking at the clock again, in seconds.
_LOOK_UP = 0.25


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
    _check_kind("problem", chosen, "a Task or a problem", hasattr(chosen, "measurer"))
    _check_kind("tuner", algorithm, "a name or a Tuner", isinstance(algorithm, Tuner))
    _check_kind("budget", budget, "a Budget", budget is None or isinstance(budget, Budget))
    with contextlib.ExitStack() as stack:
        if store is None or isinstance(store, str | Path):
            lasting = store is not None or isinstance(chosen, TaskProblem)
            store = stack.enter_context(open_store(store if lasting else "sqlite://"))
        run = _Run(chosen, algorithm, budget or Budget(), store=store, seed=seed, progress=progress)
        return run.go(settings or MeasureSettings(), fresh=fresh)


def _check_kind(what: str, value: object, expected: str, fits: bool) -> None:
    if not fits:
        raise UsageError(f"{what} must be {expected}, not {value!r}")


class SketchIdentity(TypedDict):
    """The sketch that made the programs of a record; empty for a problem without one."""

    sketch: str
    sketch_version: int


class _Run:
    """One tuning run: a search, a measurer and a ledger, and how it stands."""

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
        self.standing = Standing(problem.default, problem.finalists)
        self.resumed = 0
        self._working = 0.0
        self._begun = time.monotonic()

    def go(self, settings: MeasureSettings, *, fresh: bool) -> Result:
        """The whole run. Whatever ends it, the session in the store says so."""
        identity = sketch_of(self.problem)
        search = self.tuner.start(self.problem.space, self.seed)
        with self._work():
            if not fresh:
                self._resume(search, identity)
            ledger = Ledger(self.store, self._begin_session(identity))
        stop = Stop.FAILED
        with contextlib.ExitStack() as shield:
            measurer = self.problem.measurer(settings, self.standing.best_seconds)
            try:
                with measurer:
                    stop = self._measure(search, measurer, ledger)
                    shield.enter_context(uninterrupted())
                    split = self._time(measurer)
            except BaseException as error:
                shield.enter_context(uninterrupted())
                ended = Stop.FAILED if isinstance(error, Exception) else Stop.TERMINATED
                ledger.close(ended, {})
                raise
            return self._finish(ledger, stop, split)

    def _measure(self, search: Search, measurer: Measurer, ledger: Ledger) -> Stop:
        """The loop and the play-off; Ctrl-C and a failing store end them early."""
        try:
            stop = self._loop(search, measurer, ledger)
            measurer.cancel()
            self._play_off(measurer, ledger)
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except StoreError as error:
            ledger.failure = str(error)
            return Stop.STORE
        return stop

    def _begin_session(self, identity: SketchIdentity) -> Session:
        described = self.problem.describe()
        default = self.problem.default
        return self.store.begin_session(
            self.problem.key,
            tuner=self.tuner.name,
            seed=self.seed,
            description={**described, "default": None if default is None else default.to_json()},
            target=described.get("target"),
            tuner_settings=asdict(self.tuner),
            budget=self.budget.to_json(),
            **identity,
        )

    def _resume(self, search: Search, identity: SketchIdentity) -> None:
        """Learn from earlier runs. Where a play-off measured a config again, its times count."""
        key, store, standing = self.problem.key, self.store, self.standing
        self._learn(search, store.measurements(key, **identity))
        self.resumed, standing.since_improvement = standing.trials, 0
        winner = store.best(key, **identity)
        known = [] if winner is None else [winner.config]
        known += [measurement.config for measurement in standing.finalists]
        latest = [store.measurement_of(key, config, **identity) for config in dict.fromkeys(known)]
        standing.replace_best([m for m in latest if m is not None and m.valid])
        if self.problem.default is not None:
            standing.default = store.measurement_of(key, self.problem.default, **identity)

    def _loop(self, search: Search, measurer: Measurer, ledger: Ledger) -> Stop:
        default = self.problem.default
        if default is not None and self.standing.default is None:
            measurer.submit([default])
        exhausted = False
        while True:
            stop = self._stop()
            if stop is not None:
                return stop
            if not exhausted:
                with self._work():
                    configs = search.propose(self._wanted(measurer))
                exhausted = not configs and self._wanted(measurer) > 0
                measurer.submit([config for config in configs if config != default])
            if measurer.pending == 0:
                return Stop.EXHAUSTED
            measurements = measurer.collect(self._time_to_wait())
            with self._work():
                if measurements:
                    try:
                        ledger.save(measurements)
                    finally:  # saved or not, it was measured
                        self._learn(search, measurements)
                self._tell(measurer)

    def _wanted(self, measurer: Measurer) -> int:
        """How many configs to propose: enough to keep the measurer busy, none over the budget."""
        wanted = measurer.batch - measurer.pending
        if self.budget.trials is not None:
            wanted = min(wanted, self.budget.trials - self.standing.trials - measurer.pending)
        return max(0, wanted)

    def _time_to_wait(self) -> float:
        if self.budget.seconds is None:
            return _LOOK_UP
        return max(0.0, min(_LOOK_UP, self.budget.seconds - self.elapsed))

    def _stop(self) -> Stop | None:
        return self.budget.stop(
            elapsed=self.elapsed,
            trials=self.standing.trials,
            best_seconds=self.standing.best_seconds,
            since_improvement=self.standing.since_improvement,
            flops=self.problem.flops,
        )

    def _learn(self, search: Search, measurements: Sequence[Measurement]) -> None:
        search.observe(measurements)
        for measurement in measurements:
            self.standing.count(measurement)

    def _play_off(self, measurer: Measurer, ledger: Ledger) -> None:
        if self.problem.finalists == 0 or self.standing.trials == self.resumed:
            return
        planned = play_off.plan(self.standing, self.elapsed, measurer.round_cost)
        if planned.configs:
            measured = measurer.play_off(planned.configs, planned.rounds)
            play_off.apply(self.standing, measured)
            with self._work():
                ledger.save(play_off.verdicts(measured), play_off=True)

    # -- what others are told --------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begun

    @contextlib.contextmanager
    def _work(self) -> Iterator[None]:
        """Count the time of a block as the run's own: the tuner's thinking, and bookkeeping."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._working += time.monotonic() - started

    def _time(self, measurer: Measurer) -> dict[str, float]:
        """Seconds by phase. Search that goes on while programs are built counts as search too."""
        split = measurer.time_split()
        busy = {"search": self._working, "build": split["build"], "run": split["run"]}
        total = self.elapsed
        return {**busy, "idle": max(0.0, total - sum(busy.values())), "total": total}

    def _tell(self, measurer: Measurer) -> None:
        if self.progress is None:
            return
        spent, standing = self._time(measurer), self.standing
        self.progress(
            Progress(
                trials=standing.trials,
                valid=standing.outcomes[Outcome.NO_ERROR],
                outcomes=dict(standing.outcomes),
                best_seconds=None if math.isinf(standing.best_seconds) else standing.best_seconds,
                default_seconds=_seconds(standing.default),
                time={phase: spent[phase] for phase in PHASES},
                elapsed=self.elapsed,
            )
        )

    def _finish(self, ledger: Ledger, stop: Stop, split: dict[str, float]) -> Result:
        rescued = ledger.close(stop, {phase: split[phase] for phase in PHASES})
        standing = self.standing
        best = next(iter(standing.finalists), None)
        default = standing.default
        return Result(
            problem=self.problem,
            best=None if best is None else Found(self.problem, best),
            default=(
                Found(self.problem, default) if default is not None and default.valid else None
            ),
            trials=standing.trials,
            outcomes=dict(standing.outcomes),
            time=split,
            stopped=Stop.STORE if ledger.failure else stop,
            resumed=self.resumed,
            failure=ledger.failure,
            rescued=rescued,
            session=ledger.session,
        )


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C for a block that saves what there is; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        # None: a handler that was not set from Python, which cannot be put back from here.
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


def sketch_of(problem: Problem) -> SketchIdentity:
    """What a store files the records of a problem under, beside its key."""
    sketch = problem.describe().get("sketch") or {"name": "", "version": 0}
    return {"sketch": str(sketch["name"]), "sketch_version": int(sketch["version"])}


def _seconds(measurement: Measurement | None) -> float | None:
    return measurement.seconds if measurement is not None and measurement.valid else None
