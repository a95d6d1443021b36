"""Which programs are looked at closer, and what is left of them."""

from __future__ import annotations

import math

from tests.evolve.subjects import WordsSubject
from tunesmith.evolve.closer_look import CloserLook, front_of
from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.front import Point
from tunesmith.evolve.search.individual import Individual, Program
from tunesmith.measurement import Outcome

_TEXT = "a b c d e f g h"


class _Pool:
    """Tells the truth: the time is the number of words, and the error is 0.1 without "a"."""

    def __init__(self) -> None:
        self.limits: list[tuple[bool, float]] = []

    def evaluate(self, text: str, *, limit: float, heldout: bool = False) -> Evaluation:
        self.limits.append((heldout, limit))
        words = text.split()
        error = 0.0 if "a" in words else 0.1
        return Evaluation(Outcome.NO_ERROR, len(words) / 8, 1.0, error)


def _individual(deleted: str, ratio: float, error: float = 0.0) -> Individual:
    """One that the search has seen so fast and so wrong."""
    edits = tuple(Edit("delete", str(_TEXT.split().index(word)), seed=0) for word in deleted)
    return Individual(edits, Program(deleted, [Evaluation(Outcome.NO_ERROR, ratio, 1.0, error)]))


def _looked_at(*known: Individual, seconds: float = 60.0, exact: bool = False) -> list[str]:
    """The programs of the front, as the words that they are without."""
    look = CloserLook(WordsSubject(_TEXT), _Pool(), 0.5, 0.0, exact, seconds)  # type: ignore[arg-type] # all that it uses
    points: list[Point] = []
    look.look(known, points, ablation=False, tell=lambda _: None)
    return [
        "".join(_TEXT.split()[int(edit.target)] for edit in point.edits)
        for point in front_of(points)
    ]


_LUCKY = _individual("b", 0.1)
_BETTER = _individual("bcd", 0.6)


def test_what_lucky_programs_beat_is_looked_at_too() -> None:
    assert _looked_at(_LUCKY, _BETTER) == ["bcd"]


def test_without_time_the_front_alone_is_looked_at() -> None:
    assert _looked_at(_LUCKY, _BETTER, _individual("abcd", 0.05, 0.1), seconds=0.0) == ["abcd", "b"]


def test_what_does_not_seem_better_than_the_original_is_not_looked_at() -> None:
    assert _looked_at(_individual("bcdef", 1.2), _BETTER) == ["bcd"]
    assert _looked_at(_individual("bcdef", 1.2)) == []


def test_of_exact_programs_the_first_that_holds_is_the_point() -> None:
    assert _looked_at(_LUCKY, _BETTER, exact=True) == ["bcd"]
    assert _looked_at(_individual("bcd", 0.3), _individual("bc", 0.7), exact=True) == ["bcd"]


def test_what_is_held_out_has_no_limit_unless_outputs_must_be_the_same() -> None:
    for exact, limit in ((False, math.inf), (True, 0.5)):
        pool = _Pool()
        look = CloserLook(WordsSubject(_TEXT), pool, 0.5, 0.0, exact, 60.0)  # type: ignore[arg-type] # all that it uses
        look.look([_BETTER], [], ablation=False, tell=lambda _: None)
        assert set(pool.limits) == {(False, 0.5), (True, limit)}
