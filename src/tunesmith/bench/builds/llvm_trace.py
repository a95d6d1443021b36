"""What LLVM writes of the passes that it runs, as shares of its time by group of passes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

OPTIMISATION = {
    "loops": r"Loop|IndVar|LICM|LCSSA",
    "instructions": r"InstCombine|InstSimplify|GVN|CSE|SCCP|Reassociate|VectorCombine|ADCE|DSE|"
    r"BDCE|MemCpy|Correlated",
    "memory to registers": r"SROA|Promote",
    "branches": r"SimplifyCFG|JumpThreading|SpeculativeExecution|TailCall",
    "other": r"",
}
"""Groups of the passes that optimise, and what the names in each look like; the first fits."""

GENERATION = {
    "instruction selection": r"Instruction Selection|CodeGen Prepare|Intrinsic Lowering",
    "loop strength reduction": r"Strength Reduction|Induction Variable",
    "scheduling": r"[Ss]chedul",
    "register allocation": r"Regist|Live|Virtual|Coalesc|Two-Address|Spill",
    "writing": r"Assembly Printer",
    "other": r"",
}
"""The same of those that generate machine code."""

_OPTIMISING = re.compile(r" Running pass \d+ (\S+) on ")
_GENERATING = re.compile(
    r"\[\S+ (\d+):(\d+):([\d.]+)\] \S+ +(?:Executing|Freeing|Made)[^']*'([^']*)'"
)


def shares(lines: Sequence[tuple[float, str]]) -> dict[str, dict[str, float]]:
    """The share of each group in ``optimise`` and ``generate``, given when each line came.

    A pass lasts until the next line. To write a line takes time too: as much as the shorter ones of
    all steps, which is left out.
    """
    steps: dict[str, list[tuple[str, float]]] = {"optimise": [], "generate": []}
    for (begin, line), (end, _) in pairwise(lines):
        if found := _OPTIMISING.match(line):
            steps["optimise"].append((found[1], end - begin))
    # These say themselves when they were written, to the nanosecond.
    generating = [found for _, line in lines if (found := _GENERATING.match(line))]
    for step, after in pairwise(generating):
        seconds = (_time_of_day(after) - _time_of_day(step)) % 86_400
        steps["generate"].append((step[4], seconds))
    return {
        "optimise": _by_group(steps["optimise"], OPTIMISATION),
        "generate": _by_group(steps["generate"], GENERATION),
    }


def _time_of_day(found: re.Match[str]) -> float:
    hours, minutes, seconds = (float(found[number]) for number in (1, 2, 3))
    return (hours * 60 + minutes) * 60 + seconds


def _by_group(steps: Sequence[tuple[str, float]], groups: dict[str, str]) -> dict[str, float]:
    if not steps:
        return {}
    writing = sorted(seconds for _, seconds in steps)[len(steps) // 4]
    found: dict[str, float] = defaultdict(float)
    for name, seconds in steps:
        group = next(group for group, look in groups.items() if re.search(look, name))
        found[group] += max(0.0, seconds - writing)
    total = sum(found.values())
    return {group: found[group] / total for group in groups} if total else {}


def mean(figures: Iterable[dict[str, float]]) -> dict[str, float]:
    """The mean of each figure, 0 where it is not there."""
    rows = list(figures)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: sum(row.get(name, 0.0) for row in rows) / len(rows) for name in names}
