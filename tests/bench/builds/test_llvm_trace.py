"""What LLVM writes of its passes becomes shares of groups."""

from __future__ import annotations

import pytest

from tunesmith.bench.builds.llvm_trace import mean, shares


def generating(seconds: float, step: str, name: str) -> str:
    return f"[2026-01-01 23:59:{seconds:012.9f}] 0x1   {step} Pass '{name}' on Function 'main'..."


def test_a_pass_lasts_until_the_next_line_and_writing_a_line_takes_the_quarter() -> None:
    lines = [
        (0.0, " Running pass 1 LICMPass on loop %i in function main"),
        (4.0, " Running pass 2 SROAPass on main"),
        (5.0, " Running pass 3 LowerExpectIntrinsicPass on main"),
        (6.0, " Running pass 4 InstCombinePass on main"),
        (9.0, "something else"),
    ]
    found = shares(lines)["optimise"]
    assert found["loops"] == pytest.approx(3 / 5)
    assert found["instructions"] == pytest.approx(2 / 5)
    assert found["memory to registers"] == found["other"] == 0.0


def test_lines_of_code_generation_say_when_they_were_written() -> None:
    lines = [
        (0.0, generating(1.0, "Executing", "X86 DAG->DAG Instruction Selection")),
        (0.0, generating(5.0, "Freeing", "X86 DAG->DAG Instruction Selection")),
        (0.0, generating(6.0, "Executing", "Machine Instruction Scheduler")),
        (0.0, generating(9.0, "Freeing", "Machine Instruction Scheduler")),
        (0.0, generating(10.0, "Executing", "X86 Assembly Printer")),
    ]
    found = shares(lines)["generate"]
    assert found["instruction selection"] == pytest.approx(3 / 5)
    assert found["scheduling"] == pytest.approx(2 / 5)


def test_without_lines_there_is_nothing_to_share() -> None:
    assert shares([]) == {"optimise": {}, "generate": {}}


def test_figures_that_are_not_there_count_as_nothing() -> None:
    assert mean([{"a": 1.0}, {"a": 3.0, "b": 4.0}]) == {"a": 2.0, "b": 2.0}
