"""Operators in a few words, for tables of layers."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.operators import Operator

# What every layer of a network has.
_ALL_HAVE = ("constant_weights",)


def brief(operator: Operator) -> str:
    """An operator by the shapes of its first argument and its result, without a batch of 1:
    ``conv2d 3×224×224 → 64×112×112, 7×7, stride 2, bias, relu``.

    Padding, for one, is left out; ``operator.label`` has everything.
    """
    taken, made = operator.arguments[0].shape, operator.result.shape
    if len(taken) == len(made) == 4 and taken[0] == made[0] == 1:
        taken, made = taken[1:], made[1:]
    parts = [f"{operator.name} {_sizes(taken)} → {_sizes(made)}"]
    for option in operator.options():
        name, value = option.name, getattr(operator, option.name)
        if name == "kernel":
            parts.append(_sizes(value))
        elif value == option.default or name in _ALL_HAVE:
            continue
        elif name in ("stride", "dilation"):
            parts.append(f"{name} {_sizes(value if len(set(value)) > 1 else value[:1])}")
        elif isinstance(value, bool):
            parts.append(name if value else f"no {name}")
        elif isinstance(value, str):
            parts.append(value)
    return ", ".join(parts)


def _sizes(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))
