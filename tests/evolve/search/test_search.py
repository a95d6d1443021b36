"""The search on words, whose best front is known: what it keeps, what it never evaluates twice."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.evolve.subjects import Words, WordsEvaluator
from tunesmith.errors import UsageError
from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.representation import random_edit
from tunesmith.evolve.search.driver import Driver
from tunesmith.evolve.search.individual import Individual, Program, front
from tunesmith.evolve.search.minimize import dependences, minimized
from tunesmith.evolve.search.variation import Trying
from tunesmith.measurement import Outcome

pytest.importorskip("deap", reason="DEAP is not installed")

from tunesmith.evolve.search.nsga2 import NoMutationError, Search, SearchSettings, selected

TEXT = "needed1 a b c needed2 d e f g needed3"


class InlinePool:
    """Evaluates in this process, in another order than asked for."""

    def __init__(self, text: str = TEXT, slots: int = 3) -> None:
        self._evaluator = WordsEvaluator(text.split())
        self._slots = slots
        self._under_way: list[tuple[int, str, bool]] = []
        self._codes: set[str] = set()
        self.texts: list[str] = []

    @property
    def free(self) -> int:
        return self._slots - len(self._under_way)

    @property
    def busy(self) -> int:
        return len(self._under_way)

    def submit(
        self, number: int, text: str, *, limit: float, heldout: bool = False, again: bool = False
    ) -> None:
        assert self.free > 0
        self._under_way.append((number, text, again))
        self.texts.append(text)

    def answers(self, timeout: float) -> Iterable[tuple[int, Evaluation]]:
        number, text, again = self._under_way.pop()
        built = self._evaluator.build(text)
        repeated = built.code in self._codes and not again
        self._codes.add(built.code)
        found = self._evaluator.evaluate(built, "ready", heldout=False, limit=1.0)
        yield number, replace(found, code=built.code, repeated=repeated)


def searching(
    error_limit: float, *, text: str = TEXT, settings: SearchSettings | None = None
) -> tuple[Search, Driver, InlinePool]:
    pool, words = InlinePool(text), Words(text)
    original = Individual((), Program("o", [Evaluation(Outcome.NO_ERROR, 1.0, 1.0, 0.0)]))
    driver = Driver(words, pool, error_limit, lambda edits, program: None)
    chosen = settings or SearchSettings(population=16, looks=1)
    return Search(words, driver, original, error_limit, chosen), driver, pool


def test_it_drops_all_words_that_nobody_needs() -> None:
    search, _, pool = searching(0.0)
    search.begin()
    for _ in range(25):
        search.step()
    (best,) = front(search.population)
    assert best.objectives == (4 / 11, 0.0)
    assert len(pool.texts) == len(set(pool.texts)), "each program once"


def test_texts_of_the_same_machine_code_are_one_program() -> None:
    """Words with a capital letter do nothing."""
    _, driver, _ = searching(1.0, text="needed x Pad More")
    found: list[Program] = []

    def ask(*targets: str) -> Trying:
        program = yield tuple(Edit("delete", target) for target in targets)
        found.append(program)
        return Individual((), program)

    for targets in ("1", "12", "12", "13"):
        list(driver.drive([ask(*targets)]))
    assert all(each is found[0] for each in found)
    assert len(found[0].evaluations) == 1
    counts = driver.counts
    assert (counts.evaluations, counts.known) == (1, 3)
    driver.again([Individual((Edit("delete", "1"), Edit("delete", "2")), found[0])])
    assert len(found[0].evaluations) == 2, "asked for again it is run"


def test_a_front_trades_time_for_errors() -> None:
    search, _, _ = searching(1.0)
    search.begin()
    for _ in range(30):
        search.step()
    found = [each.objectives for each in front(search.population)]
    assert (4 / 11, 0.0) in found
    assert found[0][0] < 4 / 11
    assert found == sorted(found)
    assert [error for _, error in found] == sorted((e for _, e in found), reverse=True)


def test_the_same_seed_searches_the_same_programs() -> None:
    texts = []
    for seed in (3, 3, 4):
        search, _, pool = searching(0.5, settings=SearchSettings(population=8, seed=seed, looks=1))
        search.begin()
        search.step()
        texts.append(pool.texts)
    assert texts[0] == texts[1] != texts[2]


def test_a_generation_has_elites_and_offspring() -> None:
    search, _, _ = searching(1.0)
    search.begin()
    assert len(search.population) == 16
    assert all(len(each.edits) == 3 for each in search.population)
    elites = {each.program.digest for each in selected(search.population, 4)}
    search.step()
    assert elites <= {each.program.digest for each in search.population}
    assert len(search.population) <= 16


def test_what_stays_is_measured_again() -> None:
    search, driver, _ = searching(0.0, settings=SearchSettings(population=8, looks=3))
    search.begin()
    for _ in range(6):
        search.step()
    best = min(search.population, key=lambda each: each.objectives)
    assert len(best.program.evaluations) == 3
    assert driver.counts.evaluations > len(driver.programs)


def test_no_valid_mutation_is_one_line() -> None:
    search, _, _ = searching(
        0.0, text="needed1 needed2", settings=SearchSettings(population=4, tries=3, first_edits=1)
    )
    with pytest.raises(NoMutationError, match="no random edit leaves the program valid"):
        search.begin()


def test_nothing_more_is_evaluated_once_it_should_stop() -> None:
    search, driver, pool = searching(1.0)
    driver.stop = lambda: driver.counts.evaluations >= 5
    search.begin()
    assert 5 <= driver.counts.evaluations <= 8
    assert pool.busy == 0
    before = driver.counts.evaluations
    search.population = [Individual((), Program("o", [Evaluation(Outcome.NO_ERROR, 1, 1, 0)]))] * 4
    search.step()
    assert driver.counts.evaluations <= before + 1, "an elite alone, which was under way"


def test_known_programs_are_not_evaluated() -> None:
    pool, words = InlinePool(), Words(TEXT)
    known = Program("", [])
    driver = Driver(words, pool, 1.0, lambda edits, program: None, [known])

    def asks() -> Trying:
        first = yield (Edit("delete", "1"),)
        second = yield (Edit("delete", "1"), Edit("delete", "1", seed=2))
        assert first is second
        return Individual((), first)

    (found,) = driver.drive([asks()])
    assert found is not None
    assert pool.texts == ["needed1 b c needed2 d e f g needed3"]
    assert driver.counts.known == 1


def test_a_lucky_time_is_not_selected() -> None:
    program = Program("p", [Evaluation(Outcome.NO_ERROR, ratio, 1.0, 0.0) for ratio in (0.5, 1, 1)])
    assert program.evaluation.ratio == 1.0
    program.evaluations.append(Evaluation(Outcome.RUN_TIMEOUT))
    assert program.evaluation.ran, "the machine was busy"
    program.evaluations.append(Evaluation(Outcome.RUNTIME_DEVICE))
    assert not program.evaluation.ran


def test_a_front_has_no_program_that_another_beats() -> None:
    def of(ratio: float, error: float, edits: int = 1) -> Individual:
        return Individual(
            (Edit("delete", "1"),) * edits,
            Program(f"{ratio}{error}{edits}", [Evaluation(Outcome.NO_ERROR, ratio, 1, error)]),
        )

    best, worse, right, copy = of(0.5, 0.2), of(0.6, 0.2), of(0.9, 0.0), of(0.5, 0.2, 3)
    assert front([worse, copy, right, best]) == [best, right]
    assert front([]) == []


def evaluated(original: str, text: str) -> Evaluation:
    evaluator = WordsEvaluator(original.split())
    return evaluator.evaluate(evaluator.build(text), "ready", heldout=False, limit=1.0)


def _evaluate(edits: tuple[Edit, ...]) -> Evaluation:
    return evaluated(TEXT, Words(TEXT).apply(edits))


def test_minimising_keeps_what_matters() -> None:
    chance = random.Random(0)
    words = Words(TEXT)
    edits: list[Edit] = []
    for _ in range(5):
        edits.append(random_edit(words, edits, chance))
    padded = [each for edit in edits for each in (edit, Edit("delete", edit.target, seed=99))]
    left = minimized(words, padded, _evaluate)
    assert words.apply(left) == words.apply(edits)
    assert len(left) == 5
    assert minimized(words, [], _evaluate) == ()


def test_minimising_drops_what_gains_less_than_times_vary() -> None:
    long = " ".join(f"w{n}" for n in range(200)) + " x"
    words = Words(long)

    def evaluate(edits: tuple[Edit, ...]) -> Evaluation:
        return evaluated(long, words.apply(edits))

    assert minimized(words, [Edit("delete", "7")], evaluate) == ()


def test_dependences_are_those_that_do_not_add_up() -> None:
    """The second alone does nothing; after the first it gains much."""

    def evaluate(edits: tuple[Edit, ...]) -> Evaluation:
        names = {edit.target for edit in edits}
        ratio = 1.0 - 0.1 * ("1" in names) - 0.1 * ("3" in names) - 0.5 * ({"1", "2"} <= names)
        return Evaluation(Outcome.NO_ERROR, ratio, ratio, 0.0)

    edits = [Edit("delete", target) for target in "123"]
    (found,) = dependences(edits, evaluate, 1.0)
    assert (found.first, found.second) == (0, 1)
    assert found.alone == pytest.approx(0.1)
    assert found.together == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"population": 3}, "population must be 4 or more, not 3"),
        ({"elites": 1.5}, "elites must be from 0 to 1, not 1.5"),
        ({"mutation": -0.1}, "mutation must be from 0 to 1, not -0.1"),
        ({"tries": 0}, "tries must be 1 or more, not 0"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, float], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        SearchSettings(**settings)  # type: ignore[arg-type]


def test_no_edit_that_changes_anything() -> None:
    words = Words("a")
    with pytest.raises(InvalidEditError, match="no valid edit in 7 tries"):
        random_edit(words, [Edit("delete", "0")], random.Random(0), tries=7)


def test_where_there_are_few_valid_edits_those_are_found() -> None:
    search, _, _ = searching(0.0, text="needed1 a")
    search.begin()
    assert [each.objectives for each in front(search.population)] == [(2 / 3, 0.0)]


def test_a_population_that_has_died_out_begins_again() -> None:
    search, _, _ = searching(0.0)
    search.begin()
    for each in search.population:
        each.program.evaluations.append(Evaluation(Outcome.RUNTIME_DEVICE))
    search.population = []
    search.step()
    assert search.population
