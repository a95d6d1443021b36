"""Finds the hot loop in a program's assembly."""

from __future__ import annotations

import re

_LABEL = re.compile(r"^(\.?[\w$.@]+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s+.*?(\.L[\w$]+)\s*$")
# Multiply-adds and their parts on x86 and Arm, both vector and scalar.
_ARITHMETIC = re.compile(r"^\s+v?(?:fn?m(?:add|sub|la|ls)|mul|add|dp|max|pmadd|pdp|ml[as]|[su]dot)")
_FUSED = re.compile(r"^\s+v?(?:fn?m(?:add|sub|la|ls)|dp|pdp|pmadd|ml[as]|[su]dot)")


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
            loops.append((labels[jump[1]], index))
    innermost = [loop for loop in loops if not any(_inside(other, loop) for other in loops)]
    if not innermost:
        return assembly

    def weight(body: list[str]) -> tuple[int, int]:
        fused = sum(bool(_FUSED.match(line)) for line in body)
        return fused, sum(bool(_ARITHMETIC.match(line)) for line in body)

    hottest = max((lines[first : last + 1] for first, last in innermost), key=weight)
    jumps = {match[1] for line in lines if (match := _JUMP.match(line))}
    return "\n".join(line for line in hottest if not _is_idle_label(line, jumps))


def _is_code(line: str) -> bool:
    text = line.strip()
    directive = text.startswith(".") and not _LABEL.match(line)
    return bool(text) and not directive and not text.startswith(("#", "//"))


def _is_idle_label(line: str, jumps: set[str]) -> bool:
    """Whether a line is a label without a jump to it: debug information adds many."""
    label = _LABEL.match(line)
    return label is not None and label[1] not in jumps


def _inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    """Whether the lines of a loop, from its first to its last, are also lines of another one."""
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]
