"""One tuning run: the loop in which a tuner proposes, a measurer measures and a store keeps."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError, TunesmithError
from tunesmith.measure.milestones import reached
from tunesmith.measure.processes.interrupts import uninterrupted
from tunesmith.measurement import Candidate, Measurement
from tunesmith.problem import Measurable, Measurer, MeasurerLostError
from tunesmith.progress import PHASES, Progress
from tunesmith.transfer.model import GlobalModel
from tunesmith.tuners import Tuner
from tunesmith.tuners.short_runs import short_run
from tunesmith.tuning import play_off
from tunesmith.tuning.branches import Branches, resume, sketch_of
from tunesmith.tuning.checking import checked
from tunesmith.tuning.clock import RunClock
from tunesmith.tuning.deadline import Deadline
from tunesmith.tuning.incumbents import Incumbents
from tunesmith.tuning.recorder import Recorder
from tunesmith.tuning.result import Found, Result, SketchTrials, not_stored
from tunesmith.tuning.run_progress import progress_of
from tunesmith.tuning.sharing import Sharing

if TYPE_CHECKING:
    from tunesmith.store import Store

_LOGGER = logging.getLogger("tunesmith")


class TuningRun:
    """One tuning run: its searches, a measurer and a recorder, and its incumbents.

    ``find_model`` gives the model of other tasks, if there is one. Training it may take seconds,
    which are the run's.
    """

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
        late_seconds: float,
        find_model: Callable[[], GlobalModel | None] = lambda: None,
    ) -> None:
        self.problem = problem
        self.measurer = measurer
        self.tuner = tuner
        self.budget = budget
        self.store = store
        self.progress = progress
        self.resumed = 0
        self.lost = ""
        self.shared = 0
        self.sharing: Sharing | None = None
        self.clock = RunClock(measurer)
        self.seed = seed
        with self.clock.thinking():
            self.model = find_model()
            self.search = Branches(problem, tuner, seed, self.model)
        self.incumbents = Incumbents(self.search.default, problem.finalists)
        self.deadline = Deadline(budget, self.clock, self.incumbents, problem.flops, late_seconds)

    def go(self, *, fresh: bool, prior: bool) -> Result:
        """The whole run. Whatever ends it, the session in the store says so."""
        with self.clock.bookkeeping():
            news = None
            if not fresh:
                machine = self.measurer.machine["fingerprint"]
                if not self.store.in_memory:
                    # Before earlier records are read, so that none is lost.
                    news = self.store.news(self.problem.key, machine=machine)
                resume(self.search, self.incumbents, self.store, self.problem.key, machine)
                self.resumed = self.incumbents.trials
            short = self._short(self.budget.trials)
            if short:
                _LOGGER.warning("tunesmith: %s", short)
            recorder = self._begin_recorder(prior=prior)
            if news is not None:
                self.sharing = Sharing(
                    self.store, recorder.by_sketch, self.search, news, self.clock
                )
        reached("spaces, tuner, earlier records")
        with contextlib.ExitStack() as shield:
            try:
                with contextlib.closing(self.measurer):
                    try:
                        stop = self._measure(recorder, prior=prior)
                    finally:
                        shield.enter_context(uninterrupted())
                        self._keep_rest(recorder)
                    split = self.clock.split()
            except BaseException as error:
                ended = Stop.FAILED if isinstance(error, Exception) else Stop.TERMINATED
                rescued = recorder.close(ended, {})
                if recorder.failure:  # no result tells of it
                    _LOGGER.warning("tunesmith: %s", not_stored(recorder.failure, rescued))
                raise
            return self._finish(recorder, stop, split)

    def _short(self, trials: int | None) -> str:
        """Why a run of so many trials that begins from nothing is little more than a random start;
        empty where it is not, or where None says that the number is not known yet."""
        if not trials or self.resumed:
            return ""
        branches = self.search.branches
        transfers = all(branch.view.has_transferred for branch in branches)
        return short_run(self.tuner, trials, searches=len(branches), transfers=transfers)

    def _measure(self, recorder: Recorder, *, prior: bool) -> Stop:
        """The loop and the play-off; Ctrl-C, a failing store and a lost measurer end them early."""
        try:
            if self.deadline.stop(self.measurer.pending) is None:
                # Several cost no time while starts are looked for, but trials, which may be few.
                several = self.budget.trials is None
                self._submit(partial(self.search.propose_defaults, several=several))
                if prior:
                    with self.clock.thinking():  # while the measurer gets ready, and builds those
                        self.search.find_starts()
                    self.incumbents.liked = self.search.favourite
                reached("estimates")
            stop = self._loop(recorder)
            self._end_trials(recorder)
            self._hear(at_once=True)
            self._play_off(recorder)
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        except StoreError as error:
            recorder.failure = str(error)
            return Stop.STORE
        except MeasurerLostError as error:
            self.lost = str(error)
            return Stop.LOST
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
                "transfer": None if self.model is None else self.model.described,
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
            self._hear()
            stop = self.deadline.stop(self.measurer.pending)
            if stop is not None:
                return stop
            exhausted = exhausted or not self._submit(self.search.propose)
            if self.measurer.pending == 0:
                if exhausted or not self._waiting:
                    return Stop.EXHAUSTED
                time.sleep(self.deadline.time_to_wait())
            else:
                self._collect(recorder, self.deadline.time_to_wait())
            with self.clock.bookkeeping():
                self._tell()

    def _end_trials(self, recorder: Recorder) -> None:
        """Give up those that have not ended, and take in those that have."""
        try:
            self.measurer.cancel()
        finally:
            if self.measurer.pending:
                self._collect(recorder, 0.0)

    def _keep_rest(self, recorder: Recorder) -> None:
        """``_end_trials``, where that was not come to: what is measured counts, whatever ends the
        run, and whatever else fails then."""
        try:
            self._end_trials(recorder)
        except StoreError as error:
            recorder.failure = recorder.failure or str(error)
        except TunesmithError:
            _LOGGER.debug("tunesmith: nothing more to collect", exc_info=True)

    def _collect(self, recorder: Recorder, timeout: float) -> None:
        collected = self.measurer.collect(timeout)
        measurements = checked(collected)
        if measurements:
            try:
                with self.clock.bookkeeping():
                    recorder.save(measurements)
            finally:  # saved or not, it was measured
                self._learn(measurements)

    def _submit(self, propose: Callable[[int], list[Candidate]]) -> bool:
        """Have measured what the measurer likes and the budget allows; False if none is left."""
        pending = self.measurer.pending
        wanted = self.deadline.allowed(self.measurer.batch - pending, pending)

        def think(count: int) -> list[Candidate]:
            with self.clock.thinking():
                return propose(count)

        if self.sharing is None or wanted == 0:
            candidates = think(wanted)
        else:
            candidates = self.sharing.propose(think, wanted)
        self.deadline.begun(len(candidates))
        self.measurer.submit(candidates, self.incumbents.best_seconds)
        return bool(candidates) or wanted == 0 or self._waiting

    @property
    def _waiting(self) -> bool:
        return self.sharing is not None and self.sharing.waiting

    def _hear(self, *, at_once: bool = False) -> None:
        """Learn of what other runs have measured meanwhile."""
        if self.sharing is None:
            return
        measurements = self.sharing.look(at_once=at_once)
        if measurements:
            with self.clock.thinking():
                self.search.resume(measurements)
            for measurement in measurements:
                self.incumbents.count(measurement)
            self.shared += len(measurements)

    def _learn(self, measurements: Sequence[Measurement]) -> None:
        # First what takes no time: Ctrl-C may come while the search learns.
        for measurement in measurements:
            self.incumbents.count(measurement)
        with self.clock.thinking():
            self.search.observe(measurements)
        if self.sharing is not None:
            self.sharing.measured(measurements)

    def _play_off(self, recorder: Recorder) -> None:
        if self.problem.finalists == 0 or self.incumbents.trials == self.resumed + self.shared:
            return
        # Where the run ended late, nobody waits for one config alone.
        needed = 2 if self.deadline.was_late else 1
        elapsed = self.clock.elapsed
        counted = play_off.hold(self.incumbents, self.measurer, elapsed, needed=needed)
        if counted:
            with self.clock.bookkeeping():
                recorder.save(counted, play_off=True)

    # -- what others are told --------------------------------------------------------------------

    def _tell(self) -> None:
        if self.progress is not None:
            split = self.clock.split()
            self.progress(progress_of(self.incumbents, self.search.trials, split))

    def _finish(self, recorder: Recorder, stop: Stop, split: dict[str, float]) -> Result:
        rescued = recorder.close(stop, {phase: split[phase] for phase in PHASES})
        incumbents = self.incumbents
        out_of_time = self.budget.trials is None and stop in (Stop.SECONDS, Stop.PATIENCE)
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
            shared=self.shared,
            failure=recorder.failure,
            lost=self.lost,
            rescued=rescued,
            session=recorder.session,
            advice=self._short(incumbents.trials - self.shared) if out_of_time else "",
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
