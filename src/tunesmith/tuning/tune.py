"""The loop: a tuner proposes, a measurer measures, a store keeps, until the budget ends."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tunesmith.budget import Budget, Stop
from tunesmith.candidate import of_plain_config, sketch_and_config
from tunesmith.errors import StoreError, UsageError
from tunesmith.measure.local.server_process import prepare_early, started_early
from tunesmith.measure.milestones import reached
from tunesmith.measure.task.portfolio import Portfolio, joined, problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Measurement, Outcome
from tunesmith.problem import Measurer, MeasureSettings, Problem
from tunesmith.progress import PHASES, Progress
from tunesmith.space import Config
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.tuners import Tuner
from tunesmith.tuners import tuner as tuner_by_name
from tunesmith.tuning import play_off
from tunesmith.tuning.branches import Branches, resume, sketch_of
from tunesmith.tuning.clock import RunClock
from tunesmith.tuning.deadline import Deadline
from tunesmith.tuning.recorder import Recorder, uninterrupted
from tunesmith.tuning.result import Found, Result, SketchTrials
from tunesmith.tuning.standing import Standing

if TYPE_CHECKING:
    from tunesmith.store import Store


def tune(
    problem: Problem | Portfolio | Task,
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

    The default is measured first. ``budget.seconds`` ends no run that has nothing valid yet: it
    waits for what was begun, and if all of that fails, for a few more; see ``Deadline``.

    Raises ``UsageError`` for what does not exist or cannot be, ``StoreError`` if the store cannot
    be opened, ``TunesmithError`` if measuring is impossible on this machine.
    """
    algorithm = tuner_by_name(tuner) if isinstance(tuner, str) else tuner
    is_problem = isinstance(problem, Task) or hasattr(problem, "measurer")
    _check_kind("problem", problem, "a Task or a problem", is_problem)
    _check_kind("tuner", algorithm, "a name or a Tuner", isinstance(algorithm, Tuner))
    _check_kind("budget", budget, "a Budget", budget is None or isinstance(budget, Budget))
    with contextlib.ExitStack() as stack:
        if isinstance(problem, Task):
            problem.target.check_measurable()
        if isinstance(problem, Task | TaskProblem | Portfolio):
            stack.enter_context(started_early())
        if isinstance(problem, Task):
            names = [sketch] if isinstance(sketch, str) else sketch or ()
            problem = joined(problems_of(problem, names, without_sketches))
        settings = settings or MeasureSettings()
        if isinstance(problem, TaskProblem | Portfolio):
            prepare_early(problem.job(settings))
        if store is None or isinstance(store, str | Path):
            lasting = store is not None or isinstance(problem, TaskProblem | Portfolio)
            store = stack.enter_context(open_store(store if lasting else "sqlite://"))
        run = _Run(
            problem, algorithm, budget or Budget(), store=store, seed=seed, progress=progress
        )
        return run.go(settings, fresh=fresh, prior=prior)


def _check_kind(what: str, value: object, expected: str, fits: bool) -> None:
    if not fits:
        raise UsageError(f"{what} must be {expected}, not {value!r}")


class _Run:
    """One tuning run: its searches, a measurer and a recorder, and how it stands.

    In here all configs are candidates; see ``candidate``.
    """

    def __init__(
        self,
        problem: Problem | Portfolio,
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
        self.clock = RunClock()
        self.deadline = Deadline(budget, self.clock, self.standing, problem.flops)

    def go(self, settings: MeasureSettings, *, fresh: bool, prior: bool) -> Result:
        """The whole run. Whatever ends it, the session in the store says so."""
        with self.clock.thinking():
            search = Branches(self.problem, self.tuner, self.seed)
        with self.clock.bookkeeping():
            if not fresh:
                resume(search, self.standing, self.store, self.problem)
                self.resumed = self.standing.trials
            recorder = self._begin_recorder(search, prior=prior)
        reached("spaces, tuner, earlier records")
        stop = Stop.FAILED
        with contextlib.ExitStack() as shield:
            measurer = self.problem.measurer(settings, self.standing.best_seconds)
            self.clock.measurer = measurer
            try:
                with measurer:
                    stop = self._measure(search, measurer, recorder, prior=prior)
                    shield.enter_context(uninterrupted())
                    split = self.clock.split()
            except BaseException as error:
                shield.enter_context(uninterrupted())
                ended = Stop.FAILED if isinstance(error, Exception) else Stop.TERMINATED
                recorder.close(ended, {})
                raise
            return self._finish(search, recorder, stop, split)

    def _measure(
        self, search: Branches, measurer: Measurer, recorder: Recorder, *, prior: bool
    ) -> Stop:
        """The loop and the play-off; Ctrl-C and a failing store end them early."""
        try:
            if self.deadline.stop(measurer.pending) is None:
                self._submit(measurer, search.propose_defaults)
                if prior:
                    with self.clock.thinking():  # while the measurer gets ready, and builds those
                        search.find_starts()
                reached("estimates")
            stop = self._loop(search, measurer, recorder)
            measurer.cancel()
            self._play_off(measurer, recorder)
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except StoreError as error:
            recorder.failure = str(error)
            return Stop.STORE
        return stop

    def _begin_recorder(self, search: Branches, *, prior: bool) -> Recorder:
        described = self.problem.describe()
        default = self.problem.default
        plain = None if default is None else sketch_and_config(default)[1].to_json()
        session = self.store.begin_session(
            self.problem.key,
            tuner=self.tuner.name,
            seed=self.seed,
            description={**described, "default": plain, "prior": prior},
            target=described.get("target"),
            tuner_settings=asdict(self.tuner),
            budget=self.budget.to_json(),
            **sketch_of(self.problem),
        )
        identities = {branch.name: branch.identity for branch in search.branches}
        views = {
            name: session.by(identity["sketch"], identity["sketch_version"])
            for name, identity in identities.items()
        }
        return Recorder(self.store, session, views)

    def _loop(self, search: Branches, measurer: Measurer, recorder: Recorder) -> Stop:
        exhausted = False
        while True:
            stop = self.deadline.stop(measurer.pending)
            if stop is not None:
                return stop
            exhausted = exhausted or not self._submit(measurer, search.propose)
            if measurer.pending == 0:
                return Stop.EXHAUSTED
            measurements = measurer.collect(self.deadline.time_to_wait())
            if measurements:
                try:
                    with self.clock.bookkeeping():
                        recorder.save(measurements)
                finally:  # saved or not, it was measured
                    self._learn(search, measurements)
            with self.clock.bookkeeping():
                self._tell(search)

    def _submit(self, measurer: Measurer, propose: Callable[[int], list[Config]]) -> bool:
        """Have measured what the measurer likes and the budget allows; False if none is left."""
        wanted = self.deadline.allowed(measurer.batch - measurer.pending, measurer.pending)
        with self.clock.thinking():
            configs = propose(wanted)
        self.deadline.begun(len(configs))
        measurer.submit(configs)
        return bool(configs) or wanted == 0

    def _learn(self, search: Branches, measurements: Sequence[Measurement]) -> None:
        with self.clock.thinking():
            search.observe(measurements)
        for measurement in measurements:
            self.standing.count(measurement)

    def _play_off(self, measurer: Measurer, recorder: Recorder) -> None:
        if self.problem.finalists == 0 or self.standing.trials == self.resumed:
            return
        planned = play_off.plan(self.standing, self.clock.elapsed, measurer.round_cost)
        needless = self.deadline.was_late and len(planned.configs) == 1
        if planned.configs and not needless:
            measured = measurer.play_off(planned.configs, planned.rounds)
            play_off.apply(self.standing, measured)
            with self.clock.bookkeeping():
                recorder.save(play_off.verdicts(measured), play_off=True)

    # -- what others are told --------------------------------------------------------------------

    def _tell(self, search: Branches) -> None:
        if self.progress is None:
            return
        spent, standing = self.clock.split(), self.standing
        best = next(iter(standing.finalists), None)
        self.progress(
            Progress(
                trials=standing.trials,
                valid=standing.outcomes[Outcome.NO_ERROR],
                outcomes=dict(standing.outcomes),
                best_seconds=None if math.isinf(standing.best_seconds) else standing.best_seconds,
                default_seconds=_seconds(standing.default),
                time={phase: spent[phase] for phase in PHASES},
                elapsed=spent["total"],
                sketches=search.trials,
                best_sketch="" if best is None else search.branch_of(best.config).sketch,
            )
        )

    def _finish(
        self, search: Branches, recorder: Recorder, stop: Stop, split: dict[str, float]
    ) -> Result:
        rescued = recorder.close(stop, {phase: split[phase] for phase in PHASES})
        standing = self.standing
        best = next(iter(standing.finalists), None)
        default = standing.default
        return Result(
            problem=self.problem,
            best=None if best is None else _found(search, best),
            default=None if default is None or not default.valid else _found(search, default),
            trials=standing.trials,
            outcomes=dict(standing.outcomes),
            time=split,
            stopped=Stop.STORE if recorder.failure else stop,
            resumed=self.resumed,
            failure=recorder.failure,
            rescued=rescued,
            session=recorder.session,
            sketches={
                branch.sketch: SketchTrials(branch.trials, branch.best_seconds)
                for branch in search.branches
                if isinstance(branch.problem, TaskProblem)
            },
            failures=dict(standing.failures),
            repeated=standing.repeated,
        )


def _found(search: Branches, measurement: Measurement) -> Found:
    branch = search.branch_of(measurement.config)
    return Found(branch.problem, of_plain_config(measurement))


def _seconds(measurement: Measurement | None) -> float | None:
    return measurement.seconds if measurement is not None and measurement.valid else None
