"""How many instructions elementwise operations take, for estimates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tunesmith.operators import Epilogue

# Those of functions, beside their divisions: see ``compiler/passes/vector_functions.py``. A power
# is a call for each number.
_EXP, _QUOTIENT, _POWER = 18, 20, 200


@dataclass
class Instructions:
    """Instructions for a number or a vector: divisions and roots, and the ``plain`` others."""

    plain: float = 0.0
    divisions: float = 0.0


@lru_cache(maxsize=256)
def instructions_of(epilogue: Epilogue) -> Instructions:
    """Those of an epilogue, found by applying it to values that count what is done with them."""
    found = Instructions()
    operands = (_Counted(found) for _ in epilogue.operands)
    epilogue.apply(_Counting(found), _Counted(found), operands)
    return found


class _Counted:
    """A value of which each operation is counted."""

    def __init__(self, found: Instructions) -> None:
        self._found = found

    def _one(self, _other: Any) -> _Counted:
        self._found.plain += 1
        return self

    __add__ = __sub__ = __mul__ = _one

    def __truediv__(self, _other: Any) -> _Counted:
        self._found.divisions += 1
        return self


class _Counting:
    """The arithmetic of such values."""

    def __init__(self, found: Instructions) -> None:
        self._found = found

    def _counted(self, instructions: float, divisions: float = 0.0) -> _Counted:
        self._found.plain += instructions
        self._found.divisions += divisions
        return _Counted(self._found)

    def number(self, value: float) -> Any:  # noqa: ARG002 - constants stay in registers
        return self._counted(0)

    def maximum(self, left: Any, right: Any) -> Any:  # noqa: ARG002
        return self._counted(1)

    def minimum(self, left: Any, right: Any) -> Any:  # noqa: ARG002
        return self._counted(1)

    def exp(self, value: Any) -> Any:  # noqa: ARG002
        return self._counted(_EXP)

    def tanh(self, value: Any) -> Any:  # noqa: ARG002
        return self._counted(_QUOTIENT, 1)

    def erf(self, value: Any) -> Any:  # noqa: ARG002
        return self._counted(_QUOTIENT, 1)

    def sigmoid(self, value: Any) -> Any:  # noqa: ARG002
        return self._counted(_EXP + 2, 1)

    def sqrt(self, value: Any) -> Any:  # noqa: ARG002
        return self._counted(0, 1)

    def absolute(self, value: Any) -> Any:  # noqa: ARG002
        return self._counted(1)

    def power(self, value: Any, exponent: Any) -> Any:  # noqa: ARG002
        return self._counted(_POWER)
