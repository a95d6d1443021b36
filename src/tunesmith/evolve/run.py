"""A run of the search: from a program and its tests to a front."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.budget import Budget, Stop
from tunesmith.errors import UsageError
from tunesmith.evolve.archive import Archive
from tunesmith.evolve.closer_look import CloserLook, front_of
from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.harness import ErrorOf, Tests, exact, relative
from tunesmith.evolve.evaluation.pool import EvaluationPool, EvaluationSettings
from tunesmith.evolve.evaluation.subject import Evolvable, Subject
from tunesmith.evolve.front import Front, Generation, Point
from tunesmith.evolve.original import checked_original
from tunesmith.evolve.search.driver import Driver
from tunesmith.evolve.search.individual import Individual, Program, front
from tunesmith.evolve.search.nsga2 import Search, SearchSettings, selected
from tunesmith.measure.processes.interrupts import noted_interrupts
from tunesmith.store import Store, open_store

OBJECTIVES = ("time", "error")

# The share of the time of a generation, and in the end of all, that goes to evaluating the front
# again.
_SURE_STEP, _SURE_END = 0.2, 0.1
# The share of it in which programs beside the front are looked at closer, too.
_CLOSER = 0.1
# Seconds without a word, at most, while programs are evaluated.
_SILENCE = 1.0
# After so many generations without a program that is new there is hardly one left.
_IDLE = 20
# So many programs with one error do not look like chance.
_SURE = 20


@dataclass(frozen=True)
class State:
    """What a run tells of itself: the number of the generation, what is known after it, and what it
    does, if that is not the next one."""

    number: int
    generation: Generation
    doing: str = ""


def evolve(
    program: Evolvable,
    tests: Iterable[Any],
    *,
    heldout: Iterable[Any] = (),
    objectives: Sequence[str] = OBJECTIVES,
    error: float = 0.01,
    metric: str | ErrorOf = relative,
    budget: Budget | None = None,
    search: SearchSettings | None = None,
    evaluation: EvaluationSettings | None = None,
    ablation: bool = False,
    store: Store | str | Path | None = None,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
) -> Front:
    """Search for edits that make a program faster ("GEVO-ML", section 3).

    ``tests`` are tuples of arguments, or functions that are given the kernel, may call it as they
    like, and return what is compared; the search does not see those that are ``heldout``. With the
    ``objectives`` time and error, programs may be more wrong than the original by up to ``error``
    by the ``metric`` (``relative``, ``absolute``, or a function of the outputs and those of the
    original); with time alone outputs must be the same to the last bit. The ``budget`` is in
    seconds and evaluations (``trials``), by default ten minutes; its other limits do not count.
    ``ablation`` looks which edits depend on each other. Evaluations are kept in the ``store``, if
    there is one: another run of the same program and tests goes on from there, unless it is
    ``fresh``.

    Ctrl-C ends the search and keeps the front. Raises ``UsageError`` for a program or a test that
    makes no sense, ``MissingDependencyError`` without a package of the extra ``evolve``,
    ``StoreError`` if the store cannot be opened, and ``TunesmithError`` where the original fails
    its own tests, or no edit leaves it valid.
    """
    for name in objectives:
        if name not in OBJECTIVES:
            raise UsageError(f"unknown objective '{name}': there are {' and '.join(OBJECTIVES)}")
    if "time" not in objectives:
        raise UsageError("time must be among the objectives: it is what edits are for")
    if not error >= 0:
        raise UsageError(f"error must be 0 or more, not {error:g}")
    approximate = "error" in objectives
    unseen = list(heldout)
    subject = program.subject(Tests.of(tests, unseen, metric if approximate else exact))
    with contextlib.ExitStack() as stack:
        if store is not None and not isinstance(store, Store):
            store = stack.enter_context(open_store(store))
        pool = stack.enter_context(EvaluationPool(subject, evaluation or EvaluationSettings()))
        run = _Run(
            subject,
            pool,
            store,
            error_limit=error if approximate else None,
            budget=budget or Budget(seconds=600.0),
            settings=search or SearchSettings(),
            fresh=fresh,
            progress=progress or (lambda _: None),
        )
        if not unseen:
            run.doubts.append(
                "no test is held out, so the figures of those held out are of the same tests again"
            )
        return run.go(ablation=ablation)


class _Run:
    """The state of a run. Without an ``error_limit`` outputs must be the same."""

    def __init__(
        self,
        subject: Subject,
        pool: EvaluationPool,
        store: Store | None,
        *,
        error_limit: float | None,
        budget: Budget,
        settings: SearchSettings,
        fresh: bool,
        progress: Callable[[State], None],
    ) -> None:
        self._subject = subject
        self._pool = pool
        self._budget = budget
        self._settings = settings
        self._progress = progress
        self._begun = time.monotonic()
        self._history: list[Generation] = []
        self._told = self._begun
        self._interrupted: Callable[[], bool] = lambda: False
        self.doubts: list[str] = []
        original = Individual((), checked_original(subject, pool, error_limit or 0.0))
        self._original_error = original.program.evaluation.original_error
        self._limit = self._original_error + (error_limit or 0.0)
        self._exact = error_limit is None
        self._archive = Archive(subject, store, self._limit, budget, settings, fresh=fresh)
        self._driver = Driver(
            subject.representation,
            pool,
            self._limit,
            self._note,
            [original.program, *self._archive.programs],
        )
        self._driver.stop = lambda: self._over() is not None
        self._search = Search(subject.representation, self._driver, original, self._limit, settings)

    def go(self, *, ablation: bool) -> Front:
        """Search until the budget is used up, then look closer at the front."""
        stopped = Stop.INTERRUPTED
        points: list[Point] = []
        try:
            with contextlib.suppress(KeyboardInterrupt), noted_interrupts() as self._interrupted:
                stopped = self._generations()
            self._driver.abandon()
            try:
                self._pool.forget()
                self._finish(points, ablation=ablation and stopped is not Stop.INTERRUPTED)
            except KeyboardInterrupt:  # what was looked at so far is kept
                stopped = Stop.INTERRUPTED
        finally:
            self._archive.close(stopped)
        return Front(
            self._subject,
            front_of(points),
            self._driver.counts.evaluations,
            self._elapsed,
            stopped.value,
            self._history,
            self._archive.outcomes,
            [*self.doubts, *self._archive.doubts, *self._doubts()],
            self._archive.earlier,
        )

    def _doubts(self) -> list[str]:
        errors = {each.objectives[1] for each in self._archive.individuals}
        wrong = self._archive.outcomes["too wrong"]
        count = len(self._archive.individuals)
        if wrong or len(errors) != 1 or count < _SURE:
            return []
        return [
            f"each of {count} different programs has the same error: do the tests, and what the "
            "error is of, look at what the kernel computes?"
        ]

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _generations(self) -> Stop:
        earlier = self._archive.individuals
        if len(earlier) >= self._settings.population:
            self._search.begin(selected(earlier, self._settings.population))
        else:
            self._search.begin()
        idle, spent = 0, 0.0
        while True:
            self._tell()
            stop = self._over()
            if stop is not None:
                return stop
            before = len(self._driver.programs)
            begun = time.monotonic()
            self._search.step(self._sure_front(spent * _SURE_STEP))
            spent = time.monotonic() - begun
            idle = idle + 1 if len(self._driver.programs) == before else 0
            if idle >= _IDLE:
                return Stop.EXHAUSTED

    def _sure_front(self, seconds: float) -> list[Individual]:
        """The front of all that is known, once its programs were evaluated again, for so many
        seconds at most: what was lucky once is no part of it, and what is next may be."""
        until = time.monotonic() + seconds
        while True:
            known = front(self._archive.individuals)
            looks = self._settings.looks
            unsure = [each for each in known if len(each.program.evaluations) < looks]
            if not unsure or time.monotonic() >= until:
                return known
            self._driver.again(unsure[:1])

    def _over(self) -> Stop | None:
        if self._interrupted():
            return Stop.INTERRUPTED
        seconds, trials = self._budget.seconds, self._budget.trials
        if seconds is not None and self._elapsed >= seconds:
            return Stop.SECONDS
        return Stop.TRIALS if trials and self._driver.counts.evaluations >= trials else None

    def _note(self, edits: tuple[Edit, ...], program: Program) -> None:
        """Take in an evaluation. A generation may take minutes, so it is told of before its end."""
        self._archive.note(edits, program)
        if time.monotonic() - self._told >= _SILENCE:
            self._told = time.monotonic()
            self._progress(State(self._search.generation, self._now()))

    def _now(self) -> Generation:
        counts = self._driver.counts
        valid = counts.valid / counts.evaluations if counts.evaluations else 1.0
        found = [each.objectives for each in front(self._archive.individuals)]
        return Generation(self._elapsed, counts.evaluations, valid, found)

    def _tell(self) -> None:
        self._history.append(self._now())
        self._told = time.monotonic()
        self._progress(State(self._search.generation, self._history[-1]))

    def _finish(self, points: list[Point], *, ablation: bool) -> None:
        """Look at the front again: adds to points. Where outputs must be the same there is one, but
        the fastest program may be wrong on what the search has not seen: then the next one
        counts."""

        def tell(doing: str) -> None:
            if self._history:
                self._progress(State(self._search.generation, self._history[-1], doing))

        tell("evaluating the front again")
        searched = self._elapsed
        self._sure_front(searched * _SURE_END)
        look = CloserLook(
            self._subject,
            self._pool,
            self._limit,
            self._original_error,
            self._exact,
            searched * _CLOSER,
        )
        look.look(self._archive.individuals, points, ablation=ablation, tell=tell)
