"""A run of evolution that takes a second: programs are words, and tests are of what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import tunesmith as ts
import tunesmith.evolve
from tests.evolve.subjects import WordsSubject
from tunesmith.budget import Budget
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.run import evolve

pytest.importorskip("deap", reason="DEAP is not installed")

WORDS = "needed1 a b crash needed2 d e raise g needed3"
SEARCH = ts.evolve.SearchSettings(population=12, looks=1)
EVALUATION = ts.evolve.EvaluationSettings(timeout=20.0, workers=2)


class WordsProgram:
    """Words as something to evolve: its tests are part of it."""

    def __init__(self, text: str = WORDS) -> None:
        self._subject = WordsSubject(text)

    def subject(self, tests: Tests) -> WordsSubject:
        return replace(self._subject, digest=f"{self._subject.text} {tests.digest}")


# What is not harmful from the start: deleting it is what makes the rest run.
GOOD = "needed1 a b c needed2 d e f g needed3"


def run(**settings: Any) -> ts.evolve.Front:
    chosen = {"budget": Budget(trials=150), "error": 0.0, "search": SEARCH, **settings}
    return evolve(WordsProgram(GOOD), [()], evaluation=EVALUATION, **chosen)
