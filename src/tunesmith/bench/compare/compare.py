"""``tunesmith compare``: every tuner on every problem, time and again.

Searches of recorded and synthetic spaces run side by side, one a processor, by a simulated clock.
Workloads are measured one after the other, so that nothing disturbs them. Each run is saved as it
ends, and one that is saved is not repeated. Runs of a workload are of one machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunesmith.bench.compare.kept_runs import KeptRuns, is_of_here
from tunesmith.bench.compare.measured import (
    Taught,
    estimates_alone,
    measure_run,
    model_of,
    set_aside,
)
from tunesmith.bench.compare.pool import Pool
from tunesmith.bench.compare.problems import (
    MeasuredProblem,
    Problem,
    RecordedProblem,
    SyntheticProblem,
)
from tunesmith.bench.compare.process import reason
from tunesmith.bench.compare.recorded_task import recorded_problem
from tunesmith.bench.compare.runs import CompareSettings, Crash, Results, Run, Watch
from tunesmith.bench.compare.settle import disturbed, settled
from tunesmith.bench.compare.tuners import TunerChoice
from tunesmith.bench.pages.figure_files import make_folder
from tunesmith.bench.pages.provenance import own_version, today
from tunesmith.budget import Budget
from tunesmith.errors import StoreError, TunesmithError, UsageError
from tunesmith.machine import this_machine
from tunesmith.measure.identity import digest
from tunesmith.store import library_versions

_RUNS = "runs"

# A search may think for as long as its budget says, on a machine that has other things to do.
_PATIENCE_FACTOR = 8.0
_PATIENCE_LEAST = 600.0
_PATIENCE_MOST = 7 * 86400.0


class Comparison:
    """Tuners, problems, and the folder that keeps the runs, which are ``kept``.

    With ``elsewhere`` a workload all of whose runs were measured on another machine stays as it is;
    otherwise, and where some are missing, it is measured anew on this one.

    Raises ``UsageError`` for a tuner that cannot search a problem, and for a workload without a
    limit: before anything runs.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        tuners: Sequence[TunerChoice],
        settings: CompareSettings,
        folder: Path,
        store: str | None = None,
        *,
        elsewhere: bool = False,
    ) -> None:
        self.problems = problems
        self.tuners = tuners
        self.settings = settings
        self._elsewhere = elsewhere
        self.kept = KeptRuns(folder / _RUNS, settings.seed, self._limits, elsewhere=elsewhere)
        self._own_store = folder / "tuning.db"
        self._store = store or str(self._own_store)
        self._version = own_version()  # now: files may change while it runs
        self._taught: dict[tuple[MeasuredProblem, ...], Taught] = {}
        self._check()

    def _check(self) -> None:
        for problem in self.problems:
            if self.limits(problem) == (None, None):
                raise UsageError(f"{problem.label} is measured: give it --seconds or --trials")
            for tuner in self.tuners:
                _check_search(problem, tuner)

    def runs(self) -> list[Run]:
        """All runs; each tuner has its first repeat on every problem before any has a second.

        Where workloads may be measured on another machine, all runs of one come before those of
        the next: what is not complete has to be measured anew there.
        """
        repeats = range(self.settings.repeats)
        if self._elsewhere:
            order = [(problem, repeat) for problem in self.problems for repeat in repeats]
        else:
            order = [(problem, repeat) for repeat in repeats for problem in self.problems]
        return [Run(problem, tuner, repeat) for problem, repeat in order for tuner in self.tuners]

    def saved(self, asked: Collection[Run] | None = None) -> Results:
        """What earlier comparisons with the same settings left in the folder; ``asked`` are the
        runs that are to be there in the end, by default all."""
        runs = self.runs()
        return Results(self.problems, self.tuners, self.kept.load_all(runs, asked or runs))

    def forget(self, asked: Collection[Run] | None = None) -> None:
        """Remove those of the runs ``asked`` for, by default all, that earlier comparisons left in
        the folder, whatever their seeds and limits. Where tuners learned of others beforehand, the
        trials that they learned from are set aside in another store, and all runs on its problems
        that did are removed.

        Raises ``TunesmithError`` where that is impossible.
        """
        runs = self.runs() if asked is None else asked
        self.kept.remove(runs)
        if any(map(_learns_of_others, runs)):
            self.kept.remove(filter(_learns_of_others, self.runs()), all_repeats=True)
            self._taught.clear()
            if self._store == str(self._own_store):
                set_aside(self._own_store)

    def go(self, results: Results, watch: Watch, asked: Collection[Run] | None = None) -> None:
        """Do those of the runs ``asked`` for, by default all, that ``results`` lacks, and add each
        as it ends. After the last one of a workload the best configs of its ``results`` are
        measured together, so that what is complete stays so whatever happens later.

        Raises ``TunesmithError`` where traces cannot be saved, ``KeyboardInterrupt`` on Ctrl-C.
        """
        make_folder(self.kept.folder)
        wanted = self.runs() if asked is None else asked
        left = [run for run in wanted if run not in results.traces]
        simulated = [run for run in left if not isinstance(run.problem, MeasuredProblem)]
        try:
            with Pool(self.settings.processes, self._job, self._patience) as pool:
                for done in pool.run(simulated):
                    self._add(results, done.job, done.crash)
                    watch(results, done.job.words, 0.0)
        except KeyboardInterrupt:  # which some may have come before that are not counted yet
            for run, trace in self.kept.load_all(simulated, simulated).items():
                results.traces.setdefault(run, trace)
            raise
        ended: list[Problem] = []
        for place, run in enumerate(left, 1):
            if isinstance(run.problem, MeasuredProblem):
                self._measure(results, run, watch)
                if all(later.problem != run.problem for later in left[place:]):
                    self._settle(results, [run.problem], watch)
                    ended.append(run.problem)
        self._settle(results, [each for each in self.problems if each not in ended], watch)

    def _settle(self, results: Results, problems: Sequence[Problem], watch: Watch) -> None:
        """Measure the best configs of all runs of a workload together, unless these have been, or a
        run of old does not tell its own: what runs measured at their ends is not to be mixed with
        these times. Where some were disturbed, or ran out of time, the next call does it again."""
        for problem in problems:
            runs = [(run, trace) for run, trace in results.traces.items() if run.problem == problem]
            together = digest(sorted(self.kept.identity(run) for run, _ in runs))
            if not isinstance(problem, MeasuredProblem) or not runs:
                continue
            if all(trace.settled == together for _, trace in runs) and not disturbed(runs):
                continue
            if not all(is_of_here(problem, trace) and trace.tells_best for _, trace in runs):
                continue
            watch(results, f"{problem.label}, the best of all runs together", 0.0)
            again = settled(problem.tuned, runs)
            for run, trace in again.items():
                results.traces[run] = replace(trace, settled=together)
                self.kept.save(run, results.traces[run].unslowed)

    def _add(self, results: Results, run: Run, crash: str | None) -> None:
        trace = None if crash else self.kept.load(run)
        if trace is not None:
            results.traces[run] = trace
        else:
            results.crashes.append(Crash(run, crash or "its trace was lost"))

    def _measure(self, results: Results, run: Run, watch: Watch) -> None:
        assert isinstance(run.problem, MeasuredProblem)
        budget = Budget(*self._limits(run))
        try:
            taught = self._taught_by_others(results, run, watch)
            trace = measure_run(
                run.problem.tuned,
                run.tuner.tuner,
                budget,
                seed=self.settings.seed + run.repeat,
                store=self._store,
                watch=lambda share: watch(results, run.words, share),
                model=taught and taught.model,
                starts=run.tuner.starts,
            )
        except StoreError:
            raise
        except Exception as error:
            self._add(results, run, reason(error))
        else:
            done = replace(
                trace,
                version=self._version,
                date=today(),
                machine=this_machine(),
                target=run.problem.task.target.to_json(),
                libraries=library_versions(),
                learned_from=tuple(taught.versions) if taught else (),
            )
            self.kept.save(run, done)
            self._add(results, run, None)
        watch(results, run.words, 0.0)

    def _taught_by_others(self, results: Results, run: Run, watch: Watch) -> Taught | None:
        """What the tuner of a run on a workload has learned of others beforehand."""
        if run.tuner.transfer is None:
            return None
        assert isinstance(run.problem, MeasuredProblem)
        if run.tuner.transfer == "estimates":
            return estimates_alone(run.problem)
        sources = tuple(run.problem.sources)
        if sources not in self._taught:

            def tell(source: MeasuredProblem, share: float) -> None:
                words = f"{source.label}, earlier runs to learn from, {share:.0%}"
                watch(results, words, 0.0)

            self._taught[sources] = model_of(sources, self._store, tell)
        return self._taught[sources]

    # -- one run -------------------------------------------------------------------------------

    def limits(self, problem: Problem) -> tuple[float | None, int | None]:
        """Seconds of tuning and trials of a run, by its tuner's clock; None is no limit."""
        seconds, trials = self.settings.seconds, self.settings.trials
        if isinstance(problem, MeasuredProblem):
            return seconds, problem.trials if trials is None else trials
        if seconds is None and trials is None:
            if isinstance(problem, SyntheticProblem):
                trials = problem.trials
            else:
                seconds = problem.baselines.budget
        return seconds, trials

    def _limits(self, run: Run) -> tuple[float | None, int | None]:
        """The same by the real clock, and in configs."""
        seconds, trials = self.limits(run.problem)
        times = run.tuner.multiplier
        return None if seconds is None else seconds * times, trials and trials * times

    def _job(self, run: Run) -> Mapping[str, Any]:
        seconds, trials = self._limits(run)
        return {
            "tuner": run.tuner.tuner.name,
            "options": run.tuner.identity["options"],
            **run.answers,
            "seed": self.settings.seed + run.repeat,
            "seconds": seconds,
            "trials": trials,
            "path": str(self.kept.path(run)),
            "identity": self.kept.identity(run),
            "version": self._version,
            "machine": this_machine(),
        }

    def _patience(self, run: Run) -> float:
        seconds, _ = self._limits(run)
        if seconds is None:
            return _PATIENCE_MOST
        return min(_PATIENCE_MOST, _PATIENCE_LEAST + _PATIENCE_FACTOR * seconds)


def _learns_of_others(run: Run) -> bool:
    """Whether a run has a model of other workloads that were measured."""
    learns = run.tuner.transfer not in (None, "estimates")
    return learns and isinstance(run.problem, MeasuredProblem)


def _check_search(problem: Problem, tuner: TunerChoice) -> None:
    """Raises ``UsageError`` if the tuner cannot search the problem's spaces."""
    if tuner.sees != "space" and not _has_estimates(problem):
        raise UsageError(
            f"tuner '{tuner.label}' has no estimates for {problem.label}: its sketch is not "
            "known, or has another version now"
        )
    if tuner.transfer == "estimates" and isinstance(problem, RecordedProblem):
        raise UsageError(
            f"tuner '{tuner.label}' is for workloads: of {problem.label} it has no estimates"
        )
    for view in problem.views():
        try:
            tuner.tuner.start_on(view, 0)
        except TunesmithError as error:
            raise type(error)(
                f"tuner '{tuner.label}' cannot search {problem.label}: {error}"
            ) from error
        except Exception:  # a crash is for the table
            continue


def _has_estimates(problem: Problem) -> bool:
    if isinstance(problem, RecordedProblem):
        return recorded_problem(problem.path) is not None
    return isinstance(problem, MeasuredProblem)
