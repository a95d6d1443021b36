"""What evolution begins with."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tunesmith as ts
import tunesmith.evolve
from tests.evolve.kernels import WASTEFUL
from tests.evolve.words import EVALUATION, SEARCH, WordsProgram
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.evaluation.pool import EvaluationPool
from tunesmith.evolve.run import evolve

pytest.importorskip("deap", reason="DEAP is not installed")


def test_the_original_may_have_an_error_of_its_own() -> None:
    """As with 1 - accuracy: what is allowed comes on top of it, and less is a gain."""
    program = WordsProgram("needed1 a spoils1 spoils2 needed2")
    front = evolve(
        program, [()], evaluation=EVALUATION, search=SEARCH, error=0.0, budget=Budget(trials=60)
    )
    assert front[0].error == 0.5, "as wrong as the original, for another reason"
    assert front[-1].text == "needed1 needed2"
    assert front[-1].error == 0.0
    assert front.stopped == "exhausted", "there are but 32 programs"


def test_an_original_that_fails_its_tests() -> None:
    with pytest.raises(TunesmithError, match=r"^the original fails its tests: ValueError: of its"):
        evolve(WordsProgram("a raise"), [()])


def test_the_original_is_the_faster_one_of_two_builds() -> None:
    """A slow original would make a gain of every variant."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    test = np.ones(1, np.float32), np.zeros(20_000, np.float32), 20_000
    slow = ts.evolve.LLVMKernel(WASTEFUL, "kernel").subject(Tests.of([test]))
    text = slow.representation.apply([])
    fast = re.sub(r"^ *(?:tail )?call [^\n]*@waste.*\n", "", text, flags=re.MULTILINE)
    assert fast != text

    def ratio(variant: str, other: str) -> float:
        with EvaluationPool(replace(slow, other=other), EVALUATION) as pool:
            return pool.evaluate(variant, limit=0.0).ratio

    # Without its waste, the kernel is a hundred times as fast, in tens of nanoseconds.
    assert 0.1 < ratio(text, text) < 10.0
    assert 0.1 < ratio(fast, fast) < 10.0
    assert ratio(text, fast) > 10.0


def test_two_runs_of_the_original_that_differ() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    calls = itertools.count()

    def unsteady(kernel: Any) -> float:
        kernel(np.ones(1, np.float32), np.zeros(10, np.float32), 10)
        return float(next(calls))

    with pytest.raises(TunesmithError, match="two runs of the original differ by 1: make the"):
        evolve(ts.evolve.LLVMKernel(WASTEFUL, "kernel"), [unsteady], metric="absolute")
    with pytest.raises(TunesmithError, match="two runs of the original differ by 1: make the"):
        evolve(
            ts.evolve.LLVMKernel(WASTEFUL, "kernel"),
            [unsteady],
            metric=lambda outputs, _: float(outputs[0]),
        )
