"""The loop: a tuner proposes, a measurer measures, a store keeps, until the budget ends."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError, UsageError
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measure.milestones import reached
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measure.trial.measurers import HasJob, Measurers
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import Measurable, Measurer, MeasureSettings
from tunesmith.progress import PHASES, Progress
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.tuners import Tuner
from tunesmith.tuners import tuner as tuner_by_name
from tunesmith.tuning import play_off
from tunesmith.tuning.branches import Branches, resume, sketch_of
from tunesmith.tuning.clock import RunClock
from tunesmith.tuning.deadline import Deadline
from tunesmith.tuning.incumbents import Incumbents
from tunesmith.tuning.recorder import Recorder, uninterrupted
from tunesmith.tuning.result import Found, Result, SketchTrials

if TYPE_CHECKING:
    from tunesmith.store import Store


def tune(
    problem: Measurable | Task,
    tuner: str | Tuner = "auto",
    budget: Budget | None = None,
    *,
    store: Store | str | Path | None = None,
    seed: int = 0,
    fresh: bool = False,
    sketch: str | Iterable[str] | None = None,
    without_sketches: Iterable[str] = (),
    prior: bool = True,
    settings: MeasureSettings | None = None,
    measurers: Measurers | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Search for the fastest config of a problem.

    A run continues what earlier runs of the same problem left in the store: their trials are
    shown to the tuner, count towards ``budget.trials`` and are not repeated, unless ``fresh``.
    Without a ``store`` a task uses the user's store, any other problem none that lasts. Every trial
    is saved as it ends; Ctrl-C ends the run like a budget does. At the end the best few are
    measured again in turn, so that noise picks no winner.

    A task is tuned with all sketches that can schedule it, or those that ``sketch`` names, but none
    of ``without_sketches``; each has a search of its own, and most trials go to those that are
    ahead. With ``prior`` a search begins with configs that the sketch's model of the machine likes.
    ``measurers`` measure a task, on this machine unless they are given; its records are filed under
    the machine that they name.

    The default is measured first. ``budget.seconds`` ends no run that has nothing valid yet: it
    waits for what was begun, and if all of that fails, for a few more; see ``Deadline``.

    Raises ``UsageError`` for what does not exist or cannot be, ``StoreError`` if the store cannot
    be opened, ``TunesmithError`` if measuring is impossible on this machine.
    """
    algorithm = tuner_by_name(tuner) if isinstance(tuner, str) else tuner
    is_task = isinstance(problem, Task | HasJob)
    is_problem = isinstance(problem, Task) or hasattr(problem, "alternatives")
    _check_kind("problem", problem, "a Task or a problem (a BaseProblem)", is_problem)
    _check_kind("tuner", algorithm, "a name or a Tuner", isinstance(algorithm, Tuner))
    _check_kind("budget", budget, "a Budget", budget is None or isinstance(budget, Budget))
    has_measurers = measurers is None or isinstance(measurers, Measurers)
    _check_kind("measurers", measurers, "an object with a method measurer", has_measurers)
    if measurers is not None and not is_task:
        raise UsageError(f"measurers are for tasks: {problem!r} measures itself")
    with contextlib.ExitStack() as stack:
        if measurers is None and isinstance(problem, Task):
            problem.target.check_measurable()
        if is_task and measurers is None:
            measurers = stack.enter_context(LocalMeasurers())
        if isinstance(problem, Task):
            names = [sketch] if isinstance(sketch, str) else sketch or ()
            problem = joined(problems_of(problem, names, without_sketches))
        settings = settings or MeasureSettings()
        measurer: Measurer  # before the rest: it may need its time to get ready
        if measurers is not None and isinstance(problem, HasJob):
            measurer = measurers.measurer(problem.job(settings))
        else:
            measurer = problem.measurer(settings)
        stack.enter_context(contextlib.closing(measurer))
        if store is None or isinstance(store, str | Path):
            lasting = store is not None or is_task
            store = stack.enter_context(open_store(store if lasting else "sqlite://"))
        run = _Run(
            problem,
            measurer,
            algorithm,
            budget or Budget(),
            store=store,
            seed=seed,
            progress=progress,
        )
        return run.go(fresh=fresh, prior=prior)


def _check_kind(what: str, value: object, expected: str, fits: bool) -> None:
    if not fits:
        raise UsageError(f"{what} must be {expected}, not {value!r}")


class _Run:
    """One tuning run: its searches, a measurer and a recorder, and its incumbents."""

    def __init__(
        self,
        problem: Measurable,
        measurer: Measurer,
        tuner: Tuner,
        budget: Budget,
        *,
        store: Store,
        seed: int,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.problem = problem
        self.measurer = measurer
        self.tuner = tuner
        self.budget = budget
        self.store = store
        self.progress = progress
        self.resumed = 0
        self.clock = RunClock(measurer)
        self.seed = seed
        with self.clock.thinking():
            self.search = Branches(problem, tuner, seed)
        self.incumbents = Incumbents(self.search.default, problem.finalists)
        self.deadline = Deadline(budget, self.clock, self.incumbents, problem.flops)

    def go(self, *, fresh: bool, prior: bool) -> Result:
        """The whole run. Whatever ends it, the session in the store says so."""
        with self.clock.bookkeeping():
            if not fresh:
                machine = self.measurer.machine["fingerprint"]
                resume(self.search, self.incumbents, self.store, self.problem.key, machine)
                self.resumed = self.incumbents.trials
            recorder = self._begin_recorder(prior=prior)
        reached("spaces, tuner, earlier records")
        with contextlib.ExitStack() as shield:
            try:
                with contextlib.closing(self.measurer):
                    stop = self._measure(recorder, prior=prior)
                    shield.enter_context(uninterrupted())
                    split = self.clock.split()
            except BaseException as error:
                shield.enter_context(uninterrupted())
                ended = Stop.FAILED if isinstance(error, Exception) else Stop.TERMINATED
                recorder.close(ended, {})
                raise
            return self._finish(recorder, stop, split)

    def _measure(self, recorder: Recorder, *, prior: bool) -> Stop:
        """The loop and the play-off; Ctrl-C and a failing store end them early."""
        try:
            if self.deadline.stop(self.measurer.pending) is None:
                self._submit(self.search.propose_defaults)
                if prior:
                    with self.clock.thinking():  # while the measurer gets ready, and builds those
                        self.search.find_starts()
                reached("estimates")
            stop = self._loop(recorder)
            self.measurer.cancel()
            self._play_off(recorder)
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except StoreError as error:
            recorder.failure = str(error)
            return Stop.STORE
        return stop

    def _begin_recorder(self, *, prior: bool) -> Recorder:
        described = self.problem.describe()
        default = self.search.default
        session = self.store.begin_session(
            self.problem.key,
            tuner=self.tuner.name,
            seed=self.seed,
            description={
                **described,
                "default": None if default is None else default.config.to_json(),
                "prior": prior,
            },
            target=described.get("target"),
            tuner_settings=asdict(self.tuner),
            budget=self.budget.to_json(),
            machine=self.measurer.machine,
            **sketch_of(self.problem),
        )
        views = {
            branch.sketch: session.by(branch.sketch, branch.identity["sketch_version"])
            for branch in self.search.branches
        }
        return Recorder(self.store, session, views)

    def _loop(self, recorder: Recorder) -> Stop:
        exhausted = False
        while True:
            stop = self.deadline.stop(self.measurer.pending)
            if stop is not None:
                return stop
            exhausted = exhausted or not self._submit(self.search.propose)
            if self.measurer.pending == 0:
                return Stop.EXHAUSTED
            measurements = self.measurer.collect(self.deadline.time_to_wait())
            if measurements:
                try:
                    with self.clock.bookkeeping():
                        recorder.save(measurements)
                finally:  # saved or not, it was measured
                    self._learn(measurements)
            with self.clock.bookkeeping():
                self._tell()

    def _submit(self, propose: Callable[[int], list[Candidate]]) -> bool:
        """Have measured what the measurer likes and the budget allows; False if none is left."""
        pending = self.measurer.pending
        wanted = self.deadline.allowed(self.measurer.batch - pending, pending)
        with self.clock.thinking():
            candidates = propose(wanted)
        self.deadline.begun(len(candidates))
        self.measurer.submit(candidates, self.incumbents.best_seconds)
        return bool(candidates) or wanted == 0

    def _learn(self, measurements: Sequence[Measurement]) -> None:
        with self.clock.thinking():
            self.search.observe(measurements)
        for measurement in measurements:
            self.incumbents.count(measurement)

    def _play_off(self, recorder: Recorder) -> None:
        if self.problem.finalists == 0 or self.incumbents.trials == self.resumed:
            return
        planned = play_off.plan(self.incumbents, self.clock.elapsed, self.measurer.round_cost)
        needless = self.deadline.was_late and len(planned.candidates) == 1
        if planned.candidates and not needless:
            measured = self.measurer.play_off(planned.candidates, planned.rounds)
            play_off.apply(self.incumbents, measured)
            with self.clock.bookkeeping():
                recorder.save(play_off.verdicts(measured), play_off=True)

    # -- what others are told --------------------------------------------------------------------

    def _tell(self) -> None:
        if self.progress is None:
            return
        spent, incumbents = self.clock.split(), self.incumbents
        best = next(iter(incumbents.finalists), None)
        self.progress(
            Progress(
                trials=incumbents.trials,
                valid=incumbents.outcomes[Outcome.NO_ERROR],
                outcomes=dict(incumbents.outcomes),
                best_seconds=None
                if math.isinf(incumbents.best_seconds)
                else incumbents.best_seconds,
                default_seconds=_seconds(incumbents.default),
                time={phase: spent[phase] for phase in PHASES},
                elapsed=spent["total"],
                sketches=self.search.trials,
                best_sketch="" if best is None else best.sketch,
            )
        )

    def _finish(self, recorder: Recorder, stop: Stop, split: dict[str, float]) -> Result:
        rescued = recorder.close(stop, {phase: split[phase] for phase in PHASES})
        incumbents = self.incumbents
        best = next(iter(incumbents.finalists), None)
        default = incumbents.default
        return Result(
            problem=self.problem,
            best=None if best is None else self._found(best),
            default=None if default is None or not default.valid else self._found(default),
            trials=incumbents.trials,
            outcomes=dict(incumbents.outcomes),
            time=split,
            stopped=Stop.STORE if recorder.failure else stop,
            resumed=self.resumed,
            failure=recorder.failure,
            rescued=rescued,
            session=recorder.session,
            sketches={
                branch.sketch: SketchTrials(branch.trials, branch.best_seconds)
                for branch in self.search.branches
                if branch.sketch
            },
            failures=dict(incumbents.failures),
            repeated=incumbents.repeated,
        )

    def _found(self, measurement: Measurement) -> Found:
        return Found(self.search.branch_of(measurement.sketch).problem, measurement)


def _seconds(measurement: Measurement | None) -> float | None:
    return measurement.seconds if measurement is not None and measurement.valid else None
