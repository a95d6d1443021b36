"""Evolution of real kernels: LLVM-IR, and functions of Python."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import tunesmith as ts
import tunesmith.evolve
from tests.evolve.kernels import WASTEFUL
from tests.evolve.words import EVALUATION
from tunesmith.budget import Budget
from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.harness import Tests

pytest.importorskip("deap", reason="DEAP is not installed")


def test_waste_is_deleted_from_llvm_code() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    size = 20_000
    x, y = np.ones(1, np.float32), np.zeros(size, np.float32)
    front = ts.evolve(  # type: ignore[operator] # which no checker knows of modules
        ts.evolve.LLVMKernel(WASTEFUL, "kernel"),
        [(x, y, size)],
        heldout=[(np.full(1, 2, np.float32), y[:5000].copy(), 5000)],
        objectives=("time",),
        budget=Budget(trials=150),
        search=ts.evolve.SearchSettings(population=6, first_edits=1),
        evaluation=EVALUATION,
    )
    assert front[0].speedup > 1.5
    assert front[0].error == front[0].heldout_error == 0.0
    assert any(line.startswith("-") and "@waste" in line for line in front[0].difference)
    out = y.copy()
    front[0](x, out, size)
    assert out[0] == 2.0


# -- Numba ----------------------------------------------------------------------------------------


def scaled(x: Any, y: Any, by: float) -> int:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * by
    return len(x)


def test_a_numba_function_is_called_as_it_was() -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    x = np.arange(60, dtype=np.float64).reshape(6, 10)
    subject = ts.evolve.NumbaKernel(scaled).subject(Tests.of([(x, np.zeros_like(x), 2.5)]))
    assert subject.name == "scaled"
    function = subject.callable(subject.representation.apply([]))
    y = np.zeros_like(x)
    assert function(x, y, 2.5) == 6
    assert (y == x * 2.5).all()
    for wrong in (x.astype(np.float32), np.asfortranarray(x), x[0], x[:, ::2], 3.0):
        with pytest.raises(UsageError, match="argument 1 must be an array of float64 with 2 dim"):
            function(wrong, y, 2.5)
    with pytest.raises(UsageError, match="the kernel takes 3 arguments, not 2"):
        function(x, y)
    (words,) = subject.representation.describe([subject.representation.draw([], random.Random(0))])
    first = scaled.__code__.co_firstlineno
    (line,) = set(re.findall(r"\(line (\d+)\)", words)) or {"0"}
    assert first < int(line) <= first + 4, "edits are told with lines of the source"
    again = ts.evolve.NumbaKernel(scaled).subject(Tests.of([(x, np.zeros_like(x), 2.5)]))
    assert again.digest == subject.digest, "runs can go on"


def test_numba_itself_is_what_variants_are_compared_with() -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    x = np.arange(6.0).reshape(2, 3)
    subject = ts.evolve.NumbaKernel(scaled).subject(Tests.of([(x, np.zeros_like(x), 2.5)]))
    assert subject.other is not None
    assert "@scaled(" in subject.other


def test_what_numba_cannot_compile_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    x = np.zeros(3)
    with monkeypatch.context() as patch:
        patch.setattr("tunesmith.evolve.llvm.numba_compile._TIMEOUT", 0.001)
        with pytest.raises(UsageError, match=r"has not compiled scaled\(.*\) in 0.001 s: "):
            ts.evolve.NumbaKernel(scaled).subject(Tests.of([(x.reshape(1, 3), x, 2.5)]))
    with pytest.raises(UsageError, match=r"Numba cannot compile <?lambda"):
        ts.evolve.NumbaKernel(lambda x: open("a")).subject(Tests.of([(x,)]))  # noqa: SIM115, PTH123
    with pytest.raises(UsageError, match="no test is a tuple of arguments"):
        ts.evolve.NumbaKernel(scaled).subject(Tests.of([lambda kernel: 0]))
    with pytest.raises(UsageError, match="a kernel takes arrays and numbers, not a UniTuple"):
        ts.evolve.NumbaKernel(lambda x: (x[0], x[1])).subject(Tests.of([(x,)]))
