"""Runs of evolution to report on."""

from __future__ import annotations

from tests.reports.samples import attack
from tunesmith.reports.evolve.model import EvolveReport, ProgramRow, Step

DIFFERENCE = [
    "--- original",
    "+++ variant",
    "@@ -1,3 +1,3 @@",
    " entry:",
    "-  %v1 = fmul float %v0, %a1",
    "+  %v1 = fmul float %v0, %v0",
    "   ret void",
]


def program(speedup: float, error: float, edits: int = 1) -> ProgramRow:
    words = [
        f"another operand {number + 1} in %v1 = fmul float %v0, %a1" for number in range(edits)
    ]
    return ProgramRow(speedup, error, speedup * 0.9, error * 2, words, DIFFERENCE)


def evolved() -> EvolveReport:
    """Three programs after ten generations."""
    steps = [
        Step(number, 6.0 * number, 100 + 40 * number, 0.5, [(1.0 + 0.1 * number, 0.004)])
        for number in range(11)
    ]
    return EvolveReport(
        "saxpy",
        False,
        [program(3.2, 0.009, 3), program(2.0, 1.5e-6), program(1.25, 0.0)],
        steps,
        500,
        60.0,
        {"valid": 300, "too wrong": 120, "runtime device": 70, "run timeout": 10},
        [("Machine", "AMD EPYC, 2 cores")],
        ["tunesmith evolve saxpy.py:saxpy --test saxpy_tests.py"],
    )


def nothing_found() -> EvolveReport:
    return EvolveReport("saxpy", True, [], [Step(0, 1.0, 4, 0.0, [])], 4, 1.0, {"too wrong": 4})


def hostile() -> EvolveReport:
    row = ProgramRow(2.0, 0.0, 2.0, 0.0, [attack("edit")], [f"+{attack('line')}"], [attack("note")])
    return EvolveReport(
        attack("name"), False, [row], [], 1, 1.0, {attack("outcome"): 1}, [("a", attack("fact"))]
    )
