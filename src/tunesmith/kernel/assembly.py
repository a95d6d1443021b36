"""Finds the hot loop in a program's assembly."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LABEL = re.compile(r"^(\.?[\w$.@]+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s+.*?(\.L[\w$]+)\s*$")
# Multiply-adds and their parts on x86 and Arm, both vector and scalar.
_ARITHMETIC = re.compile(r"^\s+v?(?:fn?m(?:add|sub|la|ls)|mul|add|dp|max|pmadd|pdp|ml[as]|[su]dot)")
_FUSED = re.compile(r"^\s+v?(?:fn?m(?:add|sub|la|ls)|dp|pdp|pmadd|ml[as]|[su]dot)")


@dataclass(frozen=True)
class _Loop:
    first: int
    last: int


def hot_loop(assembly: str) -> str:
    """The innermost loop with the most multiply-adds (other arithmetic if there are none).

    Lines are as the compiler printed them, without its directives. Text without a loop is returned
    whole.
    """
    lines = [line for line in assembly.splitlines() if _is_code(line)]
    labels = {match[1]: i for i, line in enumerate(lines) if (match := _LABEL.match(line))}
    loops = []
    for index, line in enumerate(lines):
        jump = _JUMP.match(line)
        if jump and labels.get(jump[1], index) < index:
            loops.append(_Loop(labels[jump[1]], index))
    innermost = [loop for loop in loops if not any(_inside(other, loop) for other in loops)]
    if not innermost:
        return assembly

    def weight(loop: _Loop) -> tuple[int, int]:
        body = lines[loop.first : loop.last + 1]
        fused = sum(bool(_FUSED.match(line)) for line in body)
        return fused, sum(bool(_ARITHMETIC.match(line)) for line in body)

    hottest = max(innermost, key=weight)
    jumps = {match[1] for line in lines if (match := _JUMP.match(line))}
    body = lines[hottest.first : hottest.last + 1]
    return "\n".join(line for line in body if not _is_idle_label(line, jumps))


def _is_code(line: str) -> bool:
    text = line.strip()
    directive = text.startswith(".") and not _LABEL.match(line)
    return bool(text) and not directive and not text.startswith(("#", "//"))


def _is_idle_label(line: str, jumps: set[str]) -> bool:
    """Whether a line is a label without a jump to it: debug information adds many."""
    label = _LABEL.match(line)
    return label is not None and label[1] not in jumps


def _inside(inner: _Loop, outer: _Loop) -> bool:
    return inner != outer and outer.first <= inner.first and inner.last <= outer.last
