"""All that was evaluated: of this run, and of earlier ones of the same program and tests."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime

from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError
from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.subject import Subject
from tunesmith.evolve.search.individual import Individual, Program
from tunesmith.evolve.search.nsga2 import SearchSettings
from tunesmith.measurement import Outcome
from tunesmith.store import Store, StoredEvaluation

# How many evaluations are stored at a time, and how many seconds one waits for others.
_BATCH, _WAIT = 16, 5.0
_BY_LIMITS = frozenset({Outcome.BUILD_TIMEOUT, Outcome.RUN_TIMEOUT})


class Archive:
    """Programs with their edits, kept in the store if there is one. One that is ``fresh`` knows
    nothing of earlier runs."""

    def __init__(
        self,
        subject: Subject,
        store: Store | None,
        error_limit: float,
        budget: Budget,
        settings: SearchSettings,
        *,
        fresh: bool = False,
    ) -> None:
        self._limit = error_limit
        self._store = store
        self._unsaved: list[StoredEvaluation] = []
        self._saved = time.monotonic()
        self._programs: dict[str, Program] = {}
        self._individuals: dict[str, Individual] = {}
        self.outcomes: Counter[str] = Counter()
        self.doubts: list[str] = []
        self.earlier = 0
        if store is None:
            return
        key = f"evolve:{subject.name}:{subject.digest}"
        for stored in [] if fresh else store.evaluations(key):
            self.earlier += 1
            self._take(stored)
        self._session = store.begin_session(
            key,
            tuner="nsga2",
            seed=settings.seed,
            description={"kind": "evolve", "name": subject.name, "error": error_limit},
            tuner_settings=asdict(settings),
            budget={"seconds": budget.seconds, "trials": budget.trials},
        )

    def _take(self, stored: StoredEvaluation) -> None:
        """An evaluation of an earlier run, but for those that other limits would change: of what
        took too long, and of what was so wrong that it was not tested to the end, or not timed, and
        would not be too wrong now."""
        ran = stored.outcome is Outcome.NO_ERROR
        unfinished = ran and not math.isfinite(stored.error)
        untimed = ran and not math.isfinite(stored.ratio) and stored.error <= self._limit
        if unfinished or untimed or stored.outcome in _BY_LIMITS:
            return
        program = self._programs.setdefault(stored.program, Program(stored.program))
        program.evaluations.append(
            Evaluation(stored.outcome, stored.ratio, stored.seconds, stored.error, stored.message)
        )
        edits = tuple(Edit.from_json(each) for each in stored.edits)
        self._add(edits, program)

    def _add(self, edits: tuple[Edit, ...], program: Program) -> None:
        if program.evaluation.within(self._limit):
            known = self._individuals.get(program.digest)
            if known is None or len(edits) < len(known.edits):
                self._individuals[program.digest] = Individual(edits, program)

    @property
    def programs(self) -> list[Program]:
        """Those of earlier runs."""
        return list(self._programs.values())

    @property
    def individuals(self) -> list[Individual]:
        """All valid ones, each program once; what failed when it was evaluated again is none."""
        return [
            each
            for each in self._individuals.values()
            if each.edits and each.program.evaluation.within(self._limit)
        ]

    def note(self, edits: tuple[Edit, ...], program: Program) -> None:
        """Take in what was just evaluated."""
        found = program.evaluations[-1]
        wrong = found.ran and not found.within(self._limit)
        self.outcomes["too wrong" if wrong else found.outcome.name] += 1
        self._add(edits, program)
        if self._store is not None:
            self._unsaved.append(
                StoredEvaluation(
                    program.digest,
                    [edit.to_json() for edit in edits],
                    found.outcome,
                    found.ratio,
                    found.seconds,
                    found.error,
                    found.message,
                    datetime.now(UTC),
                )
            )
            late = time.monotonic() - self._saved > _WAIT
            if late or len(self._unsaved) >= _BATCH:
                self._save()

    def _save(self) -> None:
        """A store that fails ends no search: what comes after is not kept, which is a doubt."""
        self._saved = time.monotonic()
        if self._store is None:
            return
        try:
            self._store.add_evaluations(self._session, self._unsaved)
        except StoreError as error:
            self._give_up(error)
        self._unsaved = []

    def _give_up(self, error: StoreError) -> None:
        self._store = None
        self.doubts.append(f"another run does not go on from here: {error}")

    def close(self, stopped: Stop) -> None:
        """Store what is left, and why the run ended."""
        self._save()
        if self._store is not None:
            try:
                self._store.finish_session(self._session, stopped=stopped.value)
            except StoreError as error:
                self._give_up(error)
