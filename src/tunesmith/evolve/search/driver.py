"""Carries out what variations ask for: programs are evaluated some at a time, each but once."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.representation import Representation
from tunesmith.evolve.search.individual import Individual, Program
from tunesmith.evolve.search.variation import Trying
from tunesmith.measure.identity import digest
from tunesmith.measurement import Outcome

_WAIT = 0.5


class Pool(Protocol):
    """What evaluates texts: see ``EvaluationPool``."""

    @property
    def free(self) -> int: ...

    @property
    def busy(self) -> int: ...

    def submit(
        self, number: int, text: str, *, limit: float, heldout: bool = False, again: bool = False
    ) -> None: ...

    def answers(self, timeout: float) -> Iterable[tuple[int, Evaluation]]: ...


@dataclass
class Counts:
    """How many ``evaluations`` there were, how many of them ``valid``, how many programs were
    ``known`` already, by their text or their machine code."""

    evaluations: int = 0
    valid: int = 0
    known: int = 0


@dataclass
class _Job:
    """A text under way, and the variations that wait for it."""

    program: Program
    text: str
    waiting: list[Trying] = field(default_factory=list)


class Driver:
    """Programs by digest, and who runs those that are new. ``programs`` are those known from
    before; ``on_evaluated`` is told of each new one, with its edits. Texts of the same machine code
    are one program."""

    def __init__(
        self,
        representation: Representation,
        pool: Pool,
        error_limit: float,
        on_evaluated: Callable[[tuple[Edit, ...], Program], None],
        programs: Iterable[Program] = (),
    ) -> None:
        self._representation = representation
        self._pool = pool
        self._limit = error_limit
        self._tell = on_evaluated
        self.programs = {program.digest: program for program in programs}
        self._of_code = {
            evaluation.code: program
            for program in self.programs.values()
            for evaluation in program.evaluations
            if evaluation.code
        }
        self.counts = Counts()
        self.stop: Callable[[], bool] = lambda: False
        self._numbers = itertools.count(1)
        self._queue: deque[tuple[_Job, tuple[Edit, ...]]] = deque()
        self._waiting: dict[str, _Job] = {}
        self._running: dict[int, tuple[_Job, tuple[Edit, ...]]] = {}

    def drive(self, variations: Iterable[Trying]) -> Iterator[Individual | None]:
        """Carry out variations side by side; yields what each comes to, as they end. Once ``stop``
        says so, nothing more is evaluated, and what is not done is given up."""
        ended: deque[Individual | None] = deque()
        source = iter(variations)
        under_way = 0
        exhausted = False
        while True:
            if self.stop():
                self._queue.clear()
                self._waiting.clear()
                self._finish(ended)
                yield from ended
                return
            while not exhausted and len(self._queue) < self._pool.free:
                variation = next(source, None)
                if variation is None:
                    exhausted = True
                else:
                    under_way += 1
                    self._advance(variation, None, ended)
            while self._queue and self._pool.free > 0:
                self._submit(*self._queue.popleft())
            while ended:
                under_way -= 1
                yield ended.popleft()
            if exhausted and not under_way:
                return
            if self._running:
                for number, evaluation in self._pool.answers(_WAIT):
                    self._take(number, evaluation, ended)

    def again(self, individuals: Iterable[Individual]) -> None:
        """Evaluate the programs of individuals once more, each alone on the machine."""
        for individual in {each.program.digest: each for each in individuals}.values():
            text = self._representation.apply(individual.edits)
            self._submit(_Job(individual.program, text), individual.edits, again=True)
            self._finish(deque())

    def abandon(self) -> None:
        """Forget what is being evaluated, and what waits for it: nobody will hear of it."""
        self._queue.clear()
        self._waiting.clear()
        self._running.clear()

    def _finish(self, ended: deque[Individual | None]) -> None:
        """Wait for what is being evaluated."""
        while self._running:
            for number, evaluation in self._pool.answers(_WAIT):
                self._take(number, evaluation, ended)

    def _submit(self, job: _Job, edits: tuple[Edit, ...], *, again: bool = False) -> None:
        number = next(self._numbers)
        self._running[number] = job, edits
        self._pool.submit(number, job.text, limit=self._limit, again=again)

    def _take(self, number: int, evaluation: Evaluation, ended: deque[Individual | None]) -> None:
        job, edits = self._running.pop(number)
        self._waiting.pop(job.program.digest, None)
        program = job.program
        if evaluation.code:
            program = self._of_code.setdefault(evaluation.code, program)
        self.programs[job.program.digest] = program
        if evaluation.repeated and program.evaluations:
            self.counts.known += 1
        else:
            program.evaluations.append(evaluation)
            self.counts.evaluations += 1
            self.counts.valid += evaluation.within(self._limit)
            self._tell(edits, program)
        for variation in job.waiting:
            self._advance(variation, program, ended)

    def _advance(
        self, variation: Trying, program: Program | None, ended: deque[Individual | None]
    ) -> None:
        """Send a variation what it asked for, until it asks for something new, or ends."""
        try:
            edits = next(variation) if program is None else variation.send(program)
            while True:
                known = self._known(variation, edits)
                if known is None:
                    return
                edits = variation.send(known)
        except StopIteration as end:
            ended.append(end.value)

    def _known(self, variation: Trying, edits: tuple[Edit, ...]) -> Program | None:
        """The program of edits if it was evaluated; else it will be, for this variation."""
        try:
            text = self._representation.apply(edits)
        except InvalidEditError as error:
            failed = Evaluation(Outcome.INSTANTIATION_ERROR, message=str(error))
            return Program("", [failed])
        name = digest(text)
        if name in self.programs:
            self.counts.known += 1
            return self.programs[name]
        if name in self._waiting:
            self._waiting[name].waiting.append(variation)
            return None
        job = _Job(Program(name), text, [variation])
        self._waiting[name] = job
        self._queue.append((job, edits))
        return None
